/* Patterns of trouble: signatures over metrics, each present, absent or inconclusive, with evidence and advice. */
#ifndef FATHOM_PATTERNS_PATTERNS_H
#define FATHOM_PATTERNS_PATTERNS_H

#include "model/picture.h"

enum fm_metric {
#define METRIC(identifier, per_level, words) FM_METRIC_##identifier,
#include "patterns/metrics.def"
#undef METRIC
	FM_METRIC_COUNT
};

enum fm_verdict { FM_VERDICT_ABSENT, FM_VERDICT_INCONCLUSIVE, FM_VERDICT_PRESENT };

/* Where to look for it: see patterns.def. */
enum fm_place {
	FM_PLACE_nowhere,
	FM_PLACE_level,
	FM_PLACE_memory,
	FM_PLACE_sharing,
	FM_PLACE_handing_over,
	FM_PLACE_balance
};

enum { FM_FINDINGS_MAX = 32 };

struct fm_finding {
	char name[32]; /* "bandwidth:memory" */
	const char *group;
	enum fm_verdict verdict;
	double confidence; /* 0 … 1 */
	bool doubtful;     /* decided, and it rests on simulated cycles that do not fit the program */
	struct fm_figure metric;
	char evidence[240];
	const char *advice;
	enum fm_place place;
	unsigned level; /* of the picture, for patterns that have one */
};

const char *fm_verdict_name(enum fm_verdict verdict);

/* level is the index of a level of the picture, for metrics that have one. */
struct fm_figure fm_metric_compute(const struct fm_picture *picture, enum fm_metric metric, unsigned level);
bool fm_metric_has_level(enum fm_metric metric);
const char *fm_metric_words(enum fm_metric metric);

/* All patterns, those that are present first. Returns how many. */
unsigned fm_patterns_find(const struct fm_picture *picture, struct fm_finding *ret_findings);

#endif
