/* Associativity of the first two caches: chases through a growing number of lines in one set. */
#ifndef FATHOM_MEASURE_WAYS_H
#define FATHOM_MEASURE_WAYS_H

#include "base/figure.h"
#include "measure/session.h"
#include "profile/parameters.h"

size_t fm_ways_distance(enum fm_ways ways);

/* `costs` of a load, by the number of lines from 1 to FM_WAYS_MAX. */
struct fm_figure fm_ways_find(const double *costs, const struct fm_figure *model);

/* ret_figures has FM_WAYS_COUNT. The second cache is indexed by physical addresses and unavailable without huge pages.
 */
int fm_ways_measure(struct fm_machine_session *session, double seconds, struct fm_figure *ret_figures,
                    struct fm_error *error);

#endif
