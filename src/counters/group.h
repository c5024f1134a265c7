/* Performance groups in LIKWID's format: events on counters, and metrics as formulas over the counters. */
#ifndef FATHOM_COUNTERS_GROUP_H
#define FATHOM_COUNTERS_GROUP_H

#include <stdio.h>

#include "base/error.h"

enum { FM_GROUP_EVENTS_MAX = 64, FM_GROUP_METRICS_MAX = 128 };

struct fm_group {
	char title[120];
	struct fm_group_event {
		char counter[24]; /* PMC0 */
		char likwid[96];  /* name in the file */
		char name[96];    /* name in libpfm4 and in simulated machines */
	} events[FM_GROUP_EVENTS_MAX];
	unsigned event_count;
	struct fm_group_metric {
		char name[96];
		char formula[240];
	} metrics[FM_GROUP_METRICS_MAX];
	unsigned metric_count;
};

/* -EBADMSG with file, line and reason. */
int fm_group_read(const char *path, struct fm_group *ret_group, struct fm_error *error);
int fm_group_parse(const char *text, const char *file, struct fm_group *ret_group, struct fm_error *error);

/* Writes the names as a list for -e. */
void fm_group_list(const struct fm_group *group, char *text, size_t size);

/* A metric from the counts of the events, in their order; NaN: not available. `seconds` and `frequency` (Hz) may be
   NaN. -ENOENT with a missing name, -EDOM on a division by 0. */
int fm_group_metric(const struct fm_group *group, unsigned metric, const double *counts, double seconds,
                    double frequency, double *ret_value, struct fm_error *error);

#endif
