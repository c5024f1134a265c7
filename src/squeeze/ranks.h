/* Several ranks of a program on simulated machines of one kind: p of them share each last cache and its memory, a
   mapping. What all p use together, divided by p, is what each uses. */
#ifndef FATHOM_SQUEEZE_RANKS_H
#define FATHOM_SQUEEZE_RANKS_H

#include "squeeze/squeeze.h"

enum { FM_RANKS_MOST = 4096 };

/* "spread,packed" or "1,2,4": how many share a cache, each number once, 1 first: one rank alone is what the others are
   compared with. -EINVAL for more than there are ranks, or cores at that cache. */
int fm_ranks_plan(const char *mapping, unsigned ranks, const struct fm_machine_description *machine,
                  unsigned ret_mappings[FM_SQUEEZE_MAPPINGS], unsigned *ret_count, struct fm_error *error);

/* Fills in squeeze->mappings; the axes of one rank alone are analysed. */
void fm_ranks_analyse(struct fm_squeeze *squeeze);

#endif
