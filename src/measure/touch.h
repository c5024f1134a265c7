/* The first touch of a page: a page fault, in which the kernel finds, clears and maps a page. That is kernel time
   outside of the simulated core; reports predict it from the number of page faults. */
#ifndef FATHOM_MEASURE_TOUCH_H
#define FATHOM_MEASURE_TOUCH_H

#include "base/figure.h"
#include "measure/session.h"
#include "profile/parameters.h"

/* The kernel's share of `user` and `kernel` seconds by clocks with steps of `step` seconds; unavailable with too few
   steps. */
struct fm_figure fm_touch_share(double user, double kernel, double step);

/* Unavailable figures have a reason. ret_figures has FM_TOUCH_PARAMETERS. */
int fm_touch_measure(struct fm_machine_session *session, double seconds, struct fm_figure *ret_figures,
                     struct fm_error *error);

#endif
