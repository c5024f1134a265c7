/* Counts over time: intervals by counters, or moments of the simulated machine. */
#ifndef FATHOM_EXPORT_SERIES_H
#define FATHOM_EXPORT_SERIES_H

#include "recording/recording.h"

struct fm_series_counter {
	char name[192];
	char unit[12];
};

struct fm_series_point {
	uint64_t at; /* end of the interval in ns since the start */
	uint32_t counter, part;
	double value; /* count since the previous point */
};

struct fm_series {
	struct fm_series_counter *counters;
	size_t counter_count;
	struct fm_series_point *points; /* by time */
	size_t point_count;
	size_t parts; /* rows of `parts` (the whole program and threads); 1 for moments */
};

/* Makes the series, empty if the recording has no such counts. 0 or -ENOMEM. */
int fm_series_make(const struct fm_recording *recording, struct fm_series *ret_series);
void fm_series_free(struct fm_series *series);

#endif
