/* What the core of this machine can do, by a kernel of its own for each (core.def). Everything is in cycles: the cost of
   a dependent addition, which takes one on every processor, is measured among the others. */
#ifndef FATHOM_MACHINE_CORE_H
#define FATHOM_MACHINE_CORE_H

#include "base/figure.h"
#include "machine/session.h"

enum fm_core_parameter {
#define PARAMETER(identifier, ...) FM_CORE_##identifier,
#include "machine/core.def"
#undef PARAMETER
	FM_CORE_PARAMETERS
};

const char *fm_core_parameter_name(enum fm_core_parameter parameter);
const char *fm_core_parameter_words(enum fm_core_parameter parameter);
const char *fm_core_parameter_unit(enum fm_core_parameter parameter);

/* ret_figures has FM_CORE_PARAMETERS; those that could not be found say why. `memory_bytes` is a data set of which every
   line comes from memory. */
int fm_core_measure(struct fm_machine_session *session, size_t memory_bytes, double seconds,
                    struct fm_figure *ret_figures, struct fm_error *error);

/* Where a curve of costs climbs from one level to about twice as much: between which of its points. Pure arithmetic.
   False: it does not, or not at one place. */
bool fm_core_find_step(const double *costs, unsigned count, double *ret_at, double *ret_low, double *ret_high);

#endif
