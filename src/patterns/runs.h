/* Two runs of a program, before and after a change: time, causes, traffic. */
#ifndef FATHOM_PATTERNS_RUNS_H
#define FATHOM_PATTERNS_RUNS_H

#include "base/compared.h"
#include "patterns/analysis.h"
#include "patterns/causes.h"

enum { FM_RUNS_CAUSES = 32 };

struct fm_runs {
	const struct fm_analysis *before, *after;
	struct fm_compared time; /* native run time */
	struct {
		char name[FM_CAUSE_NAME];
		struct fm_compared share;
	} causes[FM_RUNS_CAUSES]; /* with a notable share in one of the runs */
	unsigned cause_count;
	struct {
		char name[16];
		struct fm_compared bytes;
	} levels[FM_PICTURE_LEVELS]; /* levels of both machines */
	unsigned level_count;
};

/* Both analyses must outlive the result. */
void fm_runs_compare(const struct fm_analysis *before, const struct fm_analysis *after, struct fm_runs *ret_runs);

#endif
