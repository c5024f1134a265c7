/* The first touch of a page: the processor faults, and the kernel finds, clears and maps a page. That is time of the
   kernel, which no simulated core knows; programs are told it apart, by the number of their page faults. */
#ifndef FATHOM_MACHINE_TOUCH_H
#define FATHOM_MACHINE_TOUCH_H

#include "base/figure.h"
#include "machine/session.h"

enum fm_touch_parameter {
#define TOUCH_PARAMETER(identifier, ...) FM_TOUCH_##identifier,
#include "machine/touch.def"
#undef TOUCH_PARAMETER
	FM_TOUCH_kernel_share, /* of the time of first writes, what the kernel says was its own */
	FM_TOUCH_PARAMETERS
};

const char *fm_touch_parameter_name(enum fm_touch_parameter parameter);
const char *fm_touch_parameter_words(enum fm_touch_parameter parameter);
const char *fm_touch_parameter_unit(enum fm_touch_parameter parameter);

/* Of `user` and `kernel` seconds, as clocks tell them that step by `step` seconds; unavailable when they are too few
   steps to say. */
struct fm_figure fm_touch_share(double user, double kernel, double step);

/* Seconds in the kernel of so many page faults, of which up to `huge` made a page of 2 MiB: by the cost of a first
   write and of giving the page back. What kind the faults were is not known: the interval reaches from the cheapest
   kind of fault to the dearest, and from none of `huge` to all. The value takes all of them where huge pages are
   `always` given, and none where they have to be asked for. `figures` has FM_TOUCH_PARAMETERS. Pure arithmetic. */
struct fm_figure fm_touch_predict(const struct fm_figure *figures, uint64_t faults, uint64_t huge, bool always);

/* Unavailable figures say why. ret_figures has FM_TOUCH_PARAMETERS. */
int fm_touch_measure(struct fm_machine_session *session, double seconds, struct fm_figure *ret_figures,
                     struct fm_error *error);

#endif
