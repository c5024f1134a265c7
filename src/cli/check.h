/* How far off the combination of simulated counts and measured time is, checked with kernels of which everything is
   known: each runs by itself and in the exact engine. */
#ifndef FATHOM_CLI_CHECK_H
#define FATHOM_CLI_CHECK_H

#include "machine/machine.h"

struct fm_check_options {
	bool quick; /* two kernels instead of four */
	const volatile bool *interrupted;
	void (*progress)(void *context, const char *what, double share, double seconds_left);
	void *progress_context;
	FILE *report; /* a line for each case; NULL: none */
};

/* Puts the errors into the profile. -ENOTSUP when there is no engine, -EINTR when interrupted. */
int fm_check_combination(struct fm_machine *profile, const struct fm_check_options *options, struct fm_error *error);

#endif
