/* Less of the cache and less bandwidth at once: a small grid of amounts around both knees. */
#ifndef FATHOM_SQUEEZE_MAP_H
#define FATHOM_SQUEEZE_MAP_H

#include "squeeze/squeeze.h"

/* One side of the map, of amounts that were tried, from the full one down: everything, both ends of the knee, and what
   is nearest to half of its lower end. Without a knee everything and the least. Returns how many there are. */
unsigned fm_map_amounts(const struct fm_design *design, double ret_amounts[FM_SQUEEZE_MAP]);

/* Fills in squeeze->map from runs with less of both, and from the axes, which are analysed. 0 or -ENOMEM. */
int fm_map_analyse(struct fm_squeeze *squeeze, struct fm_error *error);

#endif
