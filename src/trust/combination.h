/* How far off the combination of simulated counts and measured time is, checked with kernels of which everything is
   known: each runs by itself and in the exact engine. */
#ifndef FATHOM_TRUST_COMBINATION_H
#define FATHOM_TRUST_COMBINATION_H

#include "base/watcher.h"
#include "machine/machine.h"

/* One kernel with its data in one level: relative errors. */
struct fm_checked_case {
	const char *kernel;
	char level[12];
	double count_error;
	double seconds, predicted_seconds, time_error;
};

struct fm_check_options {
	bool quick; /* two kernels instead of four */
	struct fm_watcher watcher;
	/* what one case gave; NULL: nobody wants to know */
	void (*tell)(void *context, const struct fm_checked_case *checked);
	void *tell_context;
};

/* Puts the errors into the profile. -ENOTSUP when there is no engine, -EINTR when interrupted. */
int fm_check_combination(struct fm_machine *profile, const struct fm_check_options *options, struct fm_error *error);

#endif
