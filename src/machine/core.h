/* What the core of this machine can do, by a kernel of its own for each (core.def). Everything is in cycles: the cost
   of a dependent addition, which takes one on every processor, is measured among the others. */
#ifndef FATHOM_MACHINE_CORE_H
#define FATHOM_MACHINE_CORE_H

#include "base/figure.h"
#include "kernels/kernel.h"
#include "machine/session.h"
#include "simulator/operations.h"

enum fm_core_parameter {
#define PARAMETER(identifier, ...) FM_CORE_##identifier,
#include "machine/core.def"
#undef PARAMETER
	FM_CORE_PARAMETERS
};

const char *fm_core_parameter_name(enum fm_core_parameter parameter);
const char *fm_core_parameter_words(enum fm_core_parameter parameter);
const char *fm_core_parameter_unit(enum fm_core_parameter parameter);

/* Where what is measured of an operation is. Operations that are not measured are taken to be like others. */
struct fm_core_operation {
	enum fm_operation operation;
	enum fm_core_parameter latency, interval;
};

enum { FM_CORE_OPERATIONS = 10 };
extern const struct fm_core_operation fm_core_operations[FM_CORE_OPERATIONS];

enum {
	FM_CORE_WINDOWS = 3,     /* families of kernels/x86_64/window.S */
	FM_CORE_RANDOM_BIT = 33, /* of a random number, by which branches go */
};

/* Costs of a step of each kernel, in any unit. */
struct fm_core_costs {
	struct fm_figure addition, random_branches;
	struct fm_figure kernels[FM_CORE_KERNELS];
	struct fm_figure windows[FM_CORE_WINDOWS][FM_WINDOW_FUNCTIONS];
	struct fm_figure code[FM_CODE_POINTS];   /* of a line of straight code: so many steps of it */
	struct fm_figure taken[FM_TAKEN_POINTS]; /* of a branch that is taken, of so many steps of them */
};

/* Branches of that point in a pass, and the one that begins the next pass. */
unsigned fm_core_branches_in_pass(unsigned point);

/* What they say. ret_figures has FM_CORE_PARAMETERS; those that could not be found say why. */
void fm_core_find(const struct fm_core_costs *costs, struct fm_figure *ret_figures);

/* The families. */
extern const fm_kernel_function *const fm_core_windows[FM_CORE_WINDOWS];

/* ret_figures has FM_CORE_PARAMETERS; those that could not be found say why. `memory_bytes` is a data set of which
   every line comes from memory. */
int fm_core_measure(struct fm_machine_session *session, size_t memory_bytes, double seconds,
                    struct fm_figure *ret_figures, struct fm_error *error);

/* Where a curve of costs climbs from one level to a higher one: between which of its points. Pure arithmetic. False: it
   does not, or not at one place. */
bool fm_core_find_step(const double *costs, unsigned count, unsigned *ret_low, unsigned *ret_high);

#endif
