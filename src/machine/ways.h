/* How many lines of one set the first two caches hold: chases through more and more lines that lie in one set. */
#ifndef FATHOM_MACHINE_WAYS_H
#define FATHOM_MACHINE_WAYS_H

#include "base/figure.h"
#include "machine/session.h"

enum fm_ways { FM_WAYS_first, FM_WAYS_second, FM_WAYS_COUNT };

/* "l1_ways"; how far apart the lines are. */
const char *fm_ways_name(enum fm_ways ways);
size_t fm_ways_distance(enum fm_ways ways);

/* `costs` of a load, by the number of lines from 1 to FM_WAYS_MAX. */
struct fm_figure fm_ways_find(const double *costs, const struct fm_figure *model);

/* ret_figures has FM_WAYS_COUNT. The second cache is found by physical addresses: without huge pages nobody knows. */
int fm_ways_measure(struct fm_machine_session *session, double seconds, struct fm_figure *ret_figures,
                    struct fm_error *error);

#endif
