/* Combined limits of cache and bandwidth: a small grid of amounts around both knees. */
#ifndef FATHOM_SQUEEZE_MAP_H
#define FATHOM_SQUEEZE_MAP_H

#include "squeeze/squeeze.h"

/* A side of the map, of tried amounts, descending: the full amount, both ends of the knee, and the amount nearest to
   half of its lower end. Without a knee the full and the least amount. Returns their number. */
unsigned fm_map_amounts(const struct fm_design *design, double ret_amounts[FM_SQUEEZE_MAP]);

/* Fills squeeze->map from runs with both limits, and from the analysed axes. 0 or -ENOMEM. */
int fm_map_analyse(struct fm_squeeze *squeeze, struct fm_error *error);

#endif
