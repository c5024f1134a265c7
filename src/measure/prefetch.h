/* Prefetchers, and lines in flight. Chases in orders that a prefetcher may follow are compared with chases through
   unpredictable or present lines (kernels/walk.h). Parallel chases give the lines in flight by Little's law. */
#ifndef FATHOM_MEASURE_PREFETCH_H
#define FATHOM_MEASURE_PREFETCH_H

#include "base/figure.h"
#include "kernels/walk.h"
#include "measure/session.h"
#include "profile/parameters.h"

/* Data sets of parallel chases. */
enum fm_prefetch_set { FM_PREFETCH_MEMORY, FM_PREFETCH_L2, FM_PREFETCH_L3, FM_PREFETCH_SETS };

/* Times of a step, a load or a line, in one unit; NAN: not measured. */
struct fm_prefetch_costs {
	double walks[FM_WALK_KINDS][FM_WALK_VALUES_MAX];
	double parallel[FM_PREFETCH_SETS][FM_WALK_CHAIN_COUNTS];
	double pairs; /* as `parallel` from memory with the most chains, plus adjacent lines that a prefetcher may
	                 fetch */
	double stream;
};

/* Pure arithmetic; figures have the origin of `model`. ret_figures has FM_PREFETCH_PARAMETERS. */
void fm_prefetch_find(const struct fm_prefetch_costs *costs, const struct fm_figure *model,
                      struct fm_figure *ret_figures);

/* set_bytes: data sets inside L2 and L3; 0: no such level. */
int fm_prefetch_measure(struct fm_machine_session *session, const size_t set_bytes[FM_PREFETCH_SETS], double seconds,
                        struct fm_figure *ret_figures, struct fm_error *error);

#endif
