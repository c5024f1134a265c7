/* The error of combining simulated counts with measured time, by kernels of known behaviour. Each runs natively and in
   the emulator. */
#ifndef FATHOM_TRUST_COMBINATION_H
#define FATHOM_TRUST_COMBINATION_H

#include "base/watcher.h"
#include "profile/profile.h"

/* Relative errors of one kernel with its data in one level. */
struct fm_checked_case {
	const char *kernel;
	char level[12];
	double count_error;
	double seconds, predicted_seconds, time_error;
};

struct fm_check_options {
	bool quick; /* two kernels instead of four */
	struct fm_watcher watcher;
	/* receives the result of each case; may be NULL */
	void (*each)(void *context, const struct fm_checked_case *checked);
	void *each_context;
};

/* Measures the errors and stores them in the profile. -ENOTSUP without an engine, -EINTR when interrupted. */
int fm_check_combination(struct fm_machine *profile, const struct fm_check_options *options, struct fm_error *error);

#endif
