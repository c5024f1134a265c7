#include "patterns/patterns.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/doubt.h"
#include "model/uncertainty.h"
#include "patterns/confidence.h"
#include "patterns/deciding.h"

enum group_index {
#define GROUP(name, ...) GROUP_##name,
#include "patterns/groups.def"
#undef GROUP
};

static const struct group {
	const char *name;
	bool largest_first;
} groups[] = {
#define GROUP(name, largest_first) {#name, largest_first},
#include "patterns/groups.def"
#undef GROUP
};

static const struct {
	const char *name;
	enum group_index group;
	enum fm_metric metric;
	double present, absent;
	enum fm_place place;
	const char *advice;
} patterns[] = {
#define PATTERN(name, group, metric, present, absent, place, advice) \
	{name, GROUP_##group, FM_METRIC_##metric, present, absent, FM_PLACE_##place, advice},
#include "patterns/patterns.def"
#undef PATTERN
};

static const char *const verdicts[] = {"absent", "inconclusive", "present"};

const char *fm_verdict_name(enum fm_verdict verdict)
{
	return verdicts[verdict];
}

/* Distance beyond a threshold, relative to it. */
static double distance_of(double value, double threshold)
{
	return fabs(value - threshold) / fmax(threshold, 1e-9);
}

static void judge(const struct fm_figure *metric, const char *pattern, double present, double absent, enum fm_way way,
                  bool doubtful, struct fm_finding *finding)
{
	double distance;

	finding->metric = *metric;
	finding->verdict = FM_VERDICT_INCONCLUSIVE;
	finding->confidence = FM_CONFIDENCE_LEAST;
	if (!metric->available)
		return;
	if (metric->low >= present)
		finding->verdict = FM_VERDICT_PRESENT;
	else if (metric->high <= absent)
		finding->verdict = FM_VERDICT_ABSENT;
	else
		return;
	distance = finding->verdict == FM_VERDICT_PRESENT ? distance_of(metric->low, present)
	                                                  : distance_of(metric->high, absent);
	finding->doubtful = doubtful;
	finding->confidence =
	    (doubtful ? fm_confidence_in_doubt : fm_confidence_of)(pattern, way, finding->verdict, distance).value;
}

/* A confidence that was counted does not show that it is one of doubtful verdicts. */
static void say_doubt(const struct fm_picture *picture, struct fm_finding *finding)
{
	size_t used = strlen(finding->evidence);

	if (picture->unseen > 0)
		snprintf(finding->evidence + used, sizeof(finding->evidence) - used,
		         "; doubtful, %.0f %% of the time was not covered", 100 * picture->unseen);
	else if (picture->off.available && fabs(picture->off.value) > FM_DOUBTFUL)
		snprintf(finding->evidence + used, sizeof(finding->evidence) - used,
		         "; doubtful, predicted time is %.0f %% too %s", 100 * fabs(picture->off.value),
		         picture->off.value > 0 ? "long" : "short");
	else
		snprintf(finding->evidence + used, sizeof(finding->evidence) - used,
		         "; doubtful, predicted time does not fit the whole program");
}

static const struct group *group_of(const struct fm_finding *finding)
{
	unsigned i = 0;

	while (groups[i].name != finding->group)
		i++;
	return &groups[i];
}

static int worst_first(const void *left, const void *right)
{
	const struct fm_finding *a = left, *b = right;
	const struct group *group = group_of(a);

	if (a->verdict != b->verdict)
		return a->verdict < b->verdict ? 1 : -1;
	if (a->verdict == FM_VERDICT_PRESENT && a->cost != b->cost)
		return a->cost < b->cost ? 1 : -1;
	if (a->group != b->group)
		return group < group_of(b) ? -1 : 1;
	if (a->verdict == FM_VERDICT_PRESENT && group->largest_first && a->metric.value != b->metric.value)
		return a->metric.value < b->metric.value ? 1 : -1;
	return a->confidence < b->confidence ? 1 : a->confidence > b->confidence ? -1 : strcmp(a->name, b->name);
}

unsigned fm_patterns_find(const struct fm_picture *picture, struct fm_finding *ret_findings)
{
	const enum fm_way way = fm_way_of(picture);
	unsigned count = 0;

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		bool per_level = fm_metric_has_level(patterns[i].metric);

		/* the first cache's own bandwidth and latency are the work itself */
		for (unsigned level = per_level; level < (per_level ? picture->level_count : 1); level++) {
			struct fm_finding *finding = &ret_findings[count++];
			struct fm_figure metric = fm_metric_compute(picture, patterns[i].metric, level);

			memset(finding, 0, sizeof(*finding));
			snprintf(finding->name, sizeof(finding->name), per_level ? "%s:%s" : "%s", patterns[i].name,
			         picture->levels[level].name);
			finding->group = groups[patterns[i].group].name;
			finding->advice = patterns[i].advice;
			finding->place = patterns[i].place;
			finding->level = level;
			finding->cost = fm_metric_cost(picture, patterns[i].metric, &metric);
			judge(&metric, patterns[i].name, patterns[i].present, patterns[i].absent, way,
			      picture->doubtful && fm_metric_rests_on_cycles(patterns[i].metric), finding);
			if (picture->unchecked && fm_metric_rests_on_cycles(patterns[i].metric))
				finding->confidence = fmin(finding->confidence, FM_CONFIDENCE_UNKNOWN);
			/* a view of a fifth of a program does not cover the rest */
			if (picture->unseen > 0)
				finding->confidence =
				    fmin(finding->confidence, fmax(FM_CONFIDENCE_LEAST, 1 - picture->unseen));
			fm_metric_text(picture, patterns[i].metric, level, &metric, finding->evidence,
			               sizeof(finding->evidence));
			if (finding->doubtful)
				say_doubt(picture, finding);
		}
	}
	qsort(ret_findings, count, sizeof(*ret_findings), worst_first);
	return count;
}
