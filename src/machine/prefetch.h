/* Prefetchers, and how many lines are on their way at once: chases in orders that a prefetcher may follow, less the
   same chases through lines that none can guess or that are there already (kernels/walk.h); chases side by side, whose
   number in flight follows from Little's law. */
#ifndef FATHOM_MACHINE_PREFETCH_H
#define FATHOM_MACHINE_PREFETCH_H

#include "base/figure.h"
#include "kernels/walk.h"
#include "machine/session.h"

enum fm_prefetch_parameter {
#define PREFETCH_PARAMETER(identifier, ...) FM_PREFETCH_##identifier,
#include "machine/prefetch.def"
#undef PREFETCH_PARAMETER
	FM_PREFETCH_PARAMETERS
};

const char *fm_prefetch_parameter_name(enum fm_prefetch_parameter parameter);
const char *fm_prefetch_parameter_words(enum fm_prefetch_parameter parameter);
const char *fm_prefetch_parameter_unit(enum fm_prefetch_parameter parameter);

/* Data sets that are chased side by side. */
enum fm_prefetch_set { FM_PREFETCH_MEMORY, FM_PREFETCH_L2, FM_PREFETCH_L3, FM_PREFETCH_SETS };

/* Times of a step, a load or a line, in any one unit; NAN: not measured. */
struct fm_prefetch_costs {
	double walks[FM_WALK_KINDS][FM_WALK_VALUES_MAX];
	double parallel[FM_PREFETCH_SETS][FM_WALK_CHAIN_COUNTS];
	double pairs; /* as `parallel` from memory, by the most chains, where the neighbours of lines may come along */
	double stream;
};

/* Pure arithmetic; figures are like `model`. ret_figures has FM_PREFETCH_PARAMETERS. */
void fm_prefetch_find(const struct fm_prefetch_costs *costs, const struct fm_figure *model,
                      struct fm_figure *ret_figures);

/* set_bytes: what lies in L2 and in L3; 0: there is no such level. */
int fm_prefetch_measure(struct fm_machine_session *session, const size_t set_bytes[FM_PREFETCH_SETS], double seconds,
                        struct fm_figure *ret_figures, struct fm_error *error);

#endif
