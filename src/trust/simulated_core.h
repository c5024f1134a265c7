/* The core measurements of `fathom machine` in the simulator: same kernels, exact cycles. Their results must equal the
   machine's file. */
#ifndef FATHOM_TRUST_SIMULATED_CORE_H
#define FATHOM_TRUST_SIMULATED_CORE_H

#include "base/error.h"
#include "base/figure.h"
#include "profile/parameters.h"
#include "simulator/description.h"

struct fm_found_core {
	struct fm_figure core[FM_CORE_PARAMETERS];
	struct fm_figure translation[FM_TRANSLATION_PARAMETERS];
	struct fm_figure ways[FM_WAYS_COUNT];
	struct fm_figure prefetch[FM_PREFETCH_PARAMETERS];
};

/* Runs the measurements. -ENOTSUP without an engine. */
int fm_core_simulate(const struct fm_machine_description *machine, struct fm_found_core *ret_found,
                     struct fm_error *error);

/* The value of a parameter in the description, as the kernels should measure it; NAN without one. */
double fm_core_described(const struct fm_machine_description *machine, enum fm_core_parameter parameter);
double fm_translation_described(const struct fm_machine_description *machine, enum fm_translation_parameter parameter);
double fm_ways_described(const struct fm_machine_description *machine, enum fm_ways ways);
double fm_prefetch_described(const struct fm_machine_description *machine, enum fm_prefetch_parameter parameter);

#endif
