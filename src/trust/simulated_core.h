/* What `fathom machine` measures of a core, in the simulator: the same kernels, in cycles that are exact. What is found
   must be what the machine's file says. */
#ifndef FATHOM_TRUST_SIMULATED_CORE_H
#define FATHOM_TRUST_SIMULATED_CORE_H

#include "machine/core.h"
#include "machine/prefetch.h"
#include "machine/translation.h"
#include "machine/ways.h"
#include "simulator/description.h"

struct fm_found_core {
	struct fm_figure core[FM_CORE_PARAMETERS];
	struct fm_figure translation[FM_TRANSLATION_PARAMETERS];
	struct fm_figure ways[FM_WAYS_COUNT];
	struct fm_figure prefetch[FM_PREFETCH_PARAMETERS];
};

/* -ENOTSUP when there is no engine. */
int fm_core_simulate(const struct fm_machine_description *machine, struct fm_found_core *ret_found,
                     struct fm_error *error);

/* What the description says of a parameter, as the kernels would find it; NAN: it says nothing. */
double fm_core_described(const struct fm_machine_description *machine, enum fm_core_parameter parameter);
double fm_translation_described(const struct fm_machine_description *machine, enum fm_translation_parameter parameter);
double fm_ways_described(const struct fm_machine_description *machine, enum fm_ways ways);
double fm_prefetch_described(const struct fm_machine_description *machine, enum fm_prefetch_parameter parameter);

#endif
