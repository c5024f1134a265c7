/* The analysis of a recording: pictures and findings of the whole and of all its parts, computed once. It prints
   nothing; writers compute nothing. */
#ifndef FATHOM_PATTERNS_ANALYSIS_H
#define FATHOM_PATTERNS_ANALYSIS_H

#include "counters/group.h"
#include "model/picture.h"
#include "patterns/patterns.h"
#include "patterns/verdict.h"
#include "patterns/where.h"
#include "windows/estimate.h"

struct fm_judged {
	struct fm_picture picture;
	struct fm_finding findings[FM_FINDINGS_MAX];
	unsigned finding_count;
	double at; /* end of a moment, in seconds */
};

struct fm_judged_list {
	struct fm_judged *parts;
	size_t count;
};

/* A simulated event and its count. thread -1: all threads. */
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
	struct fm_estimates *estimates; /* NULL: the recording has no windows */
	bool has_picture;
	struct fm_judged whole;
	struct fm_where where[FM_FINDINGS_MAX]; /* places of the findings of the whole */
	struct fm_program_verdict verdict;      /* of the whole; without a picture the cause is "" */
	struct fm_judged_list threads, regions, region_threads, moments;
	/* counts of the engine, all threads together; work of the chosen region, if one is chosen */
	struct fm_core_counts total;
	struct fm_timing_counts timing;
	struct fm_work work;
	struct fm_process_totals *processes; /* one for each process of the recording */
	/* heaviest first */
	struct fm_recorded_place *functions, *lines;
	size_t function_count, line_count;
	struct fm_recorded_object *objects; /* the last entry is all other memory */
	size_t object_count;
	/* named events of a simulated machine */
	struct fm_event_value *events;
	size_t event_count;
	/* of a performance group; NULL: none */
	struct fm_group *group;
	struct fm_metric_value *metrics;
	size_t metric_count;
};

/* Analyses a settled recording, which must outlive the analysis. 0 or a negative errno with `error`. */
int fm_analyse(const struct fm_recording *recording, struct fm_analysis **ret_analysis, struct fm_error *error);
void fm_analysis_free(struct fm_analysis *analysis);

/* Judges all patterns on the picture of `judged`. */
void fm_judge_picture(struct fm_judged *judged);

#endif
