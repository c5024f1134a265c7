/* A recording analysed: pictures and findings of the whole and of all its parts, computed once. Nothing is printed
   here, and whoever prints computes nothing. */
#ifndef FATHOM_PATTERNS_ANALYSIS_H
#define FATHOM_PATTERNS_ANALYSIS_H

#include "counters/group.h"
#include "model/picture.h"
#include "patterns/patterns.h"
#include "patterns/where.h"

struct fm_judged {
	struct fm_picture picture;
	struct fm_finding findings[FM_FINDINGS_MAX];
	unsigned finding_count;
	double at; /* of a moment: its end, in seconds */
};

struct fm_judged_list {
	struct fm_judged *parts;
	size_t count;
};

/* Of simulated events: what the counter would say. thread -1: all together. */
struct fm_event_value {
	char name[96];
	int thread;
	struct fm_figure figure;
};

struct fm_metric_value {
	const char *name, *formula;
	double value; /* NAN: not available */
	char why[200];
};

struct fm_process_totals {
	struct fm_core_counts counts;
	struct fm_work work;
};

struct fm_analysis {
	const struct fm_recording *recording;
	bool has_picture;
	struct fm_judged whole;
	struct fm_where where[FM_FINDINGS_MAX]; /* of the whole's findings */
	struct fm_judged_list threads, regions, region_threads, moments;
	/* what the engine counted, all together; of a chosen region the work is that of the region */
	struct fm_core_counts total;
	struct fm_timing_counts timing;
	struct fm_work work;
	struct fm_process_totals *processes; /* one for each of the recording's */
	/* heaviest first */
	struct fm_recorded_place *functions, *lines;
	size_t function_count, line_count;
	struct fm_recorded_object *objects; /* the last is all other memory */
	size_t object_count;
	/* named events of a simulated machine */
	struct fm_event_value *events;
	size_t event_count;
	/* of a performance group */
	struct fm_group *group;
	struct fm_metric_value *metrics;
	size_t metric_count;
};

/* The recording must be settled and outlive the analysis. */
int fm_analyse(const struct fm_recording *recording, struct fm_analysis **ret_analysis, struct fm_error *error);
void fm_analysis_free(struct fm_analysis *analysis);

/* A picture and what it shows. */
void fm_judge_picture(struct fm_judged *judged);

#endif
