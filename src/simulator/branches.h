/* Which branches a core of today foresees. Both directions and targets are predicted from the path that led there: the
   branches that were taken, each by where it was and where it went (the principle that the processors of AMD, Arm and
   Intel are known to follow). There is a table by address alone, and tables by address and ever longer paths, of which
   the longest that knows the branch decides. Direct jumps, calls and returns are always foreseen; they are a part of
   the path. */
#ifndef FATHOM_SIMULATOR_BRANCHES_H
#define FATHOM_SIMULATOR_BRANCHES_H

#include <stdbool.h>
#include <stdint.h>

enum fm_branch_kind { FM_BRANCH_NONE, FM_BRANCH_CONDITIONAL, FM_BRANCH_INDIRECT, FM_BRANCH_ALWAYS, FM_BRANCH_RETURN };

struct fm_branches;

struct fm_branches *fm_branches_create(void);
void fm_branches_destroy(struct fm_branches *branches);

/* A branch at `address` went to `target`; a conditional one that is not `taken` goes on behind itself. Was that
   foreseen? What is learnt from it is learnt at once. */
bool fm_branches_foresee(struct fm_branches *branches, enum fm_branch_kind kind, uint64_t address, bool taken,
                         uint64_t target);

/* Did an indirect branch at this address go to different places lately? */
bool fm_branches_vary(const struct fm_branches *branches, uint64_t address);

#endif
