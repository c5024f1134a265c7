/* Branch prediction of a present-day core. Directions and targets are predicted from the path before the branch: the
   taken branches, each by address and target (the published principle of AMD, Arm and Intel processors). One table uses
   the address alone, others the address and increasingly long paths. The longest known path decides. Direct jumps,
   calls and returns are always predicted; they are part of the path. */
#ifndef FATHOM_SIMULATOR_BRANCHES_H
#define FATHOM_SIMULATOR_BRANCHES_H

#include <stdbool.h>
#include <stdint.h>

enum fm_branch_kind { FM_BRANCH_NONE, FM_BRANCH_CONDITIONAL, FM_BRANCH_INDIRECT, FM_BRANCH_ALWAYS, FM_BRANCH_RETURN };

struct fm_branches;

struct fm_branches *fm_branches_create(void);
void fm_branches_destroy(struct fm_branches *branches);

/* Trains on a branch at `address` to `target`; an untaken conditional branch continues behind itself. Was it
   predicted? */
bool fm_branches_foresee(struct fm_branches *branches, enum fm_branch_kind kind, uint64_t address, bool taken,
                         uint64_t target);

/* Did an indirect branch at this address vary its target lately? */
bool fm_branches_vary(const struct fm_branches *branches, uint64_t address);

#endif
