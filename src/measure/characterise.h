/* All measurements of `fathom machine` in one run: the profile of this machine. */
#ifndef FATHOM_MEASURE_CHARACTERISE_H
#define FATHOM_MEASURE_CHARACTERISE_H

#include "base/watcher.h"
#include "base/error.h"
#include "profile/profile.h"

struct fm_characterise_options {
	enum fm_effort effort;
	double budget_seconds; /* 0: BUDGETS by effort (tuning.def) */
	struct fm_cpu_list cpus;
	bool choose_first; /* measure the core on an idle core; else on the first one */
	uint64_t seed;
	double tolerate; /* largest accepted share of disturbed trials; 1: any, with wide intervals */
	struct fm_watcher watcher;
	/* earlier profile of this machine, or NULL: a quick characterisation reuses parts of it (kept.def) */
	const struct fm_machine *earlier;
};

/* -EINTR if interrupted, -EBUSY if the machine was too disturbed. */
int fm_machine_characterise(const struct fm_characterise_options *options, struct fm_machine **ret_machine,
                            struct fm_error *error);

#endif
