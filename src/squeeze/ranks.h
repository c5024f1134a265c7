/* Ranks of a program on simulated machines of one kind. In a mapping, p ranks share each last cache and its memory. The
   use of one rank is that of p, divided by p. */
#ifndef FATHOM_SQUEEZE_RANKS_H
#define FATHOM_SQUEEZE_RANKS_H

#include "squeeze/squeeze.h"

enum { FM_RANKS_MOST = 4096 };

/* Parses "spread,packed" or "1,2,4": ranks per cache, each number once, 1 first, as the reference. -EINVAL for more
   than the ranks, or the cores at that cache. */
int fm_ranks_plan(const char *mapping, unsigned ranks, const struct fm_machine_description *machine,
                  unsigned ret_mappings[FM_SQUEEZE_MAPPINGS], unsigned *ret_count, struct fm_error *error);

/* Fills squeeze->mappings; the axes of one rank are analysed. */
void fm_ranks_analyse(struct fm_squeeze *squeeze);

#endif
