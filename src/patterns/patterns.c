#include "patterns/patterns.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/uncertainty.h"
#include "patterns/confidence.h"

static const struct {
	const char *name, *group;
	enum fm_metric metric;
	double present, absent;
	enum fm_place place;
	const char *advice;
} patterns[] = {
#define PATTERN(name, group, metric, present, absent, place, advice) \
	{name, #group, FM_METRIC_##metric, present, absent, FM_PLACE_##place, advice},
#include "patterns/patterns.def"
#undef PATTERN
};

static const char *const verdicts[] = {"absent", "inconclusive", "present"};

const char *fm_verdict_name(enum fm_verdict verdict)
{
	return verdicts[verdict];
}

/* Beyond a threshold, by so much of it. */
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
	finding->confidence = 0.5;
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
		         "; doubtful, %.0f %% of its time was not seen", 100 * picture->unseen);
	else if (picture->off.available && fabs(picture->off.value) > FM_DOUBTFUL)
		snprintf(finding->evidence + used, sizeof(finding->evidence) - used,
		         "; doubtful, predicted time is %.0f %% too %s", 100 * fabs(picture->off.value),
		         picture->off.value > 0 ? "long" : "short");
	else
		snprintf(finding->evidence + used, sizeof(finding->evidence) - used,
		         "; doubtful, predicted time does not fit the whole program");
}

static void say(const struct fm_picture *picture, enum fm_metric metric, unsigned level, struct fm_finding *finding)
{
	const struct fm_figure *figure = &finding->metric;
	bool share = metric != FM_METRIC_imbalance;
	char range[48] = "";

	if (!figure->available) {
		snprintf(finding->evidence, sizeof(finding->evidence), "%s", figure->why);
		return;
	}
	if (figure->high > figure->low)
		snprintf(range, sizeof(range), share ? " (%.0f … %.0f)" : " (%.2f … %.2f)",
		         (share ? 100 : 1) * figure->low, (share ? 100 : 1) * figure->high);
	snprintf(finding->evidence, sizeof(finding->evidence), share ? "%.0f %%%s %s" : "%.2f%s %s",
	         (share ? 100 : 1) * figure->value, range, fm_metric_words(metric));
	if (metric == FM_METRIC_waiting_share && picture->signs.blocked.available &&
	    picture->signs.handing_over.available) {
		size_t used = strlen(finding->evidence);

		snprintf(finding->evidence + used, sizeof(finding->evidence) - used,
		         ": %.0f %% blocked, %.0f %% handing over lines that several threads write",
		         100 * picture->signs.blocked.value, 100 * picture->signs.handing_over.value);
		used = strlen(finding->evidence);
		if (picture->signs.spinning.available && picture->signs.spinning.value >= 0.005)
			snprintf(finding->evidence + used, sizeof(finding->evidence) - used, ", %.0f %% spinning",
			         100 * picture->signs.spinning.value);
	}
	if (metric == FM_METRIC_throughput && picture->threads > 1) {
		size_t used = strlen(finding->evidence);

		snprintf(finding->evidence + used, sizeof(finding->evidence) - used, "%s",
		         fm_metric_compute(picture, FM_METRIC_waiting_share, 0).available
		             ? ", without waiting and spinning threads"
		             : ", or less: how long the threads waited is not known");
	}
	if (metric == FM_METRIC_saturation && picture->levels[level].peak_gbs.available &&
	    picture->levels[level].gbs.available) {
		size_t used = strlen(finding->evidence);

		snprintf(finding->evidence + used, sizeof(finding->evidence) - used,
		         ": %.1f of %.1f GB/s (%u thread%s)", picture->levels[level].gbs.value,
		         picture->levels[level].peak_gbs.value, picture->threads, picture->threads == 1 ? "" : "s");
	}
}

/* Bottlenecks do, but for waiting, which is measured; and how much of what the core can execute it did: a core that is
   too fast executes too much. */
static bool rests_on_cycles(size_t pattern)
{
	if (patterns[pattern].metric == FM_METRIC_waiting_share)
		return false;
	return !strcmp(patterns[pattern].group, "bottleneck") || patterns[pattern].metric == FM_METRIC_throughput;
}

static int worst_first(const void *left, const void *right)
{
	const struct fm_finding *a = left, *b = right;

	if (a->verdict != b->verdict)
		return a->verdict < b->verdict ? 1 : -1;
	/* bottlenecks, hazards, work: as the alphabet has it */
	if (strcmp(a->group, b->group) != 0)
		return strcmp(a->group, b->group);
	/* bottlenecks are all shares of the time or of what is possible: the largest first */
	if (a->verdict == FM_VERDICT_PRESENT && !strcmp(a->group, "bottleneck") && a->metric.value != b->metric.value)
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
		for (unsigned level = per_level;
		     level < (per_level ? picture->level_count : 1) && count < FM_FINDINGS_MAX; level++) {
			struct fm_finding *finding = &ret_findings[count++];
			struct fm_figure metric = fm_metric_compute(picture, patterns[i].metric, level);

			memset(finding, 0, sizeof(*finding));
			snprintf(finding->name, sizeof(finding->name), per_level ? "%s:%s" : "%s", patterns[i].name,
			         picture->levels[level].name);
			finding->group = patterns[i].group;
			finding->advice = patterns[i].advice;
			finding->place = patterns[i].place;
			finding->level = level;
			judge(&metric, patterns[i].name, patterns[i].present, patterns[i].absent, way,
			      picture->doubtful && rests_on_cycles(i), finding);
			if (picture->unchecked && rests_on_cycles(i))
				finding->confidence = fmin(finding->confidence, FM_CONFIDENCE_UNKNOWN);
			/* who sees a fifth of a program does not know the rest */
			if (picture->unseen > 0)
				finding->confidence = fmin(finding->confidence, fmax(0.5, 1 - picture->unseen));
			say(picture, patterns[i].metric, level, finding);
			if (finding->doubtful)
				say_doubt(picture, finding);
		}
	}
	qsort(ret_findings, count, sizeof(*ret_findings), worst_first);
	return count;
}
