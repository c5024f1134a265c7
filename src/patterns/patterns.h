/* Patterns of trouble: signatures over metrics, each present, absent or inconclusive, with evidence and advice. */
#ifndef FATHOM_PATTERNS_PATTERNS_H
#define FATHOM_PATTERNS_PATTERNS_H

#include "model/picture.h"

enum fm_metric {
#define METRIC(identifier, ...) FM_METRIC_##identifier,
#include "patterns/metrics.def"
#undef METRIC
	FM_METRIC_COUNT
};

enum fm_verdict { FM_VERDICT_ABSENT, FM_VERDICT_INCONCLUSIVE, FM_VERDICT_PRESENT };

enum fm_place {
#define PLACE(identifier, function) FM_PLACE_##identifier,
#include "patterns/places.def"
#undef PLACE
};

enum {
#define METRIC(identifier, per_level, ...) FM_FINDINGS_OF_##identifier = (per_level) ? FM_PICTURE_LEVELS - 1 : 1,
#include "patterns/metrics.def"
#undef METRIC
	/* the sum over all patterns */
	FM_FINDINGS_MAX = 0
#define PATTERN(name, group, metric, ...) +FM_FINDINGS_OF_##metric
#include "patterns/patterns.def"
#undef PATTERN
};

struct fm_finding {
	char name[32]; /* "bandwidth:memory" */
	const char *group;
	enum fm_verdict verdict;
	double confidence; /* 0 … 1 */
	bool doubtful;     /* decided by simulated cycles that do not fit the program */
	struct fm_figure metric;
	double cost; /* share of the time of a team of threads; 0: unknown */
	char evidence[240];
	const char *advice;
	enum fm_place place;
	unsigned level; /* index of a level of the picture; only for patterns of a level */
};

const char *fm_verdict_name(enum fm_verdict verdict);

/* Computes a metric of a picture. `level`: index of a level, for metrics of a level. */
struct fm_figure fm_metric_compute(const struct fm_picture *picture, enum fm_metric metric, unsigned level);
bool fm_metric_has_level(enum fm_metric metric);

/* The share of the team's time that the metric stands for; 0: unknown, or not comparable. */
double fm_metric_cost(const struct fm_picture *picture, enum fm_metric metric, const struct fm_figure *figure);

/* Does the metric depend on simulated cycles? */
bool fm_metric_rests_on_cycles(enum fm_metric metric);

/* Writes value, interval and words: "12 % (10 … 14) of cycles wait for its latency". Returns `text`. */
const char *fm_metric_text(const struct fm_picture *picture, enum fm_metric metric, unsigned level,
                           const struct fm_figure *figure, char *text, size_t size);

/* Judges all patterns, present ones first. Returns the number of findings. */
unsigned fm_patterns_find(const struct fm_picture *picture, struct fm_finding *ret_findings);

#endif
