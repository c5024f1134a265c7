/* Parameters of the core of this machine, with one kernel each (core.def), in cycles. A cycle is the measured cost of a
   dependent addition. */
#ifndef FATHOM_MEASURE_CORE_H
#define FATHOM_MEASURE_CORE_H

#include "base/figure.h"
#include "kernels/kernel.h"
#include "measure/session.h"
#include "simulator/operations.h"
#include "profile/parameters.h"

enum {
	FM_CORE_WINDOWS = 3,     /* families of kernels/x86_64/window.S */
	FM_CORE_RANDOM_BIT = 33, /* bit of a random number that decides a branch */
};

/* Costs per step of each kernel, in any unit. */
struct fm_core_costs {
	struct fm_figure addition, random_branches;
	struct fm_figure kernels[FM_CORE_KERNELS];
	struct fm_figure windows[FM_CORE_WINDOWS][FM_WINDOW_FUNCTIONS];
	struct fm_figure code[FM_CODE_POINTS];   /* of a line of straight code, by the number of steps */
	struct fm_figure taken[FM_TAKEN_POINTS]; /* of a taken branch, by the number of steps */
};

/* Branches per pass of a point, including the branch to the next pass. */
unsigned fm_core_branches_in_pass(unsigned point);

/* Derives the parameters from the costs. ret_figures has FM_CORE_PARAMETERS; unavailable ones have a reason. */
void fm_core_find(const struct fm_core_costs *costs, struct fm_figure *ret_figures);

/* The families of windows. */
extern const fm_kernel_function *const fm_core_windows[FM_CORE_WINDOWS];

/* Measures the parameters. ret_figures as for fm_core_find(). `memory_bytes` is a data set larger than the caches. */
int fm_core_measure(struct fm_machine_session *session, size_t memory_bytes, double seconds,
                    struct fm_figure *ret_figures, struct fm_error *error);

/* Finds the step of a cost curve from one level to a higher one, between two of its points. Pure arithmetic. False
   without a step, or with several. */
bool fm_core_find_step(const double *costs, unsigned count, unsigned *ret_low, unsigned *ret_high);

#endif
