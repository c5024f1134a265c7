/* A line on stderr with the current step and the remaining time, if stderr is a terminal. */
#ifndef FATHOM_REPORT_PROGRESS_H
#define FATHOM_REPORT_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct fm_progress {
	bool enabled;
	uint64_t shown_ns;
};

void fm_progress_begin(struct fm_progress *progress, bool quiet);

/* Updates the line, at most ten times a second. `context`: the struct fm_progress. */
void fm_progress_update(void *context, const char *what, double share, double seconds_left);

void fm_progress_end(struct fm_progress *progress);

#endif
