/* Each cluster is described by the shares of its own references that are still without reuse at a few ages. A run is
   cut where the means of these shares before and after differ most, if they differ by far more than chance: a wrong cut
   costs samples, and thereby accuracy, in both halves. */
#include "reuse/phases.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reuse/tuning.h"

enum { FEATURES = 4, RUNS_MAX = 128 };

struct feature {
	uint32_t cluster;
	double share[FEATURES];
};

struct run {
	uint32_t first, end;
	unsigned phase;
	double mean[FEATURES], variance[FEATURES];
};

/* Ages up to where the windows themselves reach, not the watches. */
static void ages(const struct fm_times *times, unsigned *ret_bins)
{
	double left = 0;
	struct fm_times_sum *sum = malloc(sizeof(*sum));
	unsigned end = 1;

	if (sum) {
		fm_times_sum(times, NULL, sum);
		for (end = 1; end < FM_TIME_BINS - 1 && left < PHASE_AGES * sum->samples[0]; end++)
			left -= sum->samples[end];
	}
	free(sum);
	/* 1/64, 1/16, 1/4, 1 of it */
	for (unsigned i = 0; i < FEATURES; i++) {
		unsigned down = (FEATURES - 1 - i) * (2u << FM_TIME_BITS);

		ret_bins[i] = end > down + 1 ? end - down : 1;
	}
}

/* Clusters without samples say nothing and are left out. Returns how many are described. */
static uint32_t describe(const struct fm_times *times, const unsigned *bins, struct feature *features)
{
	uint32_t count = 0;

	for (size_t i = 0; i < times->by_time.count;) {
		struct feature *feature = &features[count++];
		double at_risk = 0, survival = 1;
		unsigned next = 0;

		feature->cluster = times->by_time.cells[i].cluster;
		for (; i < times->by_time.count && times->by_time.cells[i].cluster == feature->cluster; i++) {
			const struct fm_times_cell *cell = &times->by_time.cells[i];

			while (next < FEATURES && cell->bin >= bins[next])
				feature->share[next++] = survival;
			if (at_risk > 0 && cell->reused > 0)
				survival *= 1 - fmin(cell->reused / at_risk, 1);
			at_risk += cell->entered - cell->censored - cell->reused;
		}
		while (next < FEATURES)
			feature->share[next++] = survival;
	}
	return count;
}

/* Mean and variance of each feature. */
static void describe_run(const struct feature *features, struct run *run)
{
	double count = run->end - run->first;

	for (unsigned k = 0; k < FEATURES; k++) {
		double sum = 0, squares = 0;

		for (uint32_t i = run->first; i < run->end; i++)
			sum += features[i].share[k];
		run->mean[k] = sum / count;
		for (uint32_t i = run->first; i < run->end; i++)
			squares += (features[i].share[k] - run->mean[k]) * (features[i].share[k] - run->mean[k]);
		run->variance[k] = squares / fmax(count - 1, 1) + PHASE_VARIANCE_LEAST;
	}
}

/* The distance of two runs in standard errors, by the feature in which they differ most. */
static double apart(const struct run *a, const struct run *b)
{
	double most = 0;

	for (unsigned k = 0; k < FEATURES; k++)
		most = fmax(most, fabs(a->mean[k] - b->mean[k]) / sqrt(a->variance[k] / (a->end - a->first) +
		                                                       b->variance[k] / (b->end - b->first)));
	return most;
}

/* The place where a run is cut best; its end if nowhere. Phases that take turns differ only near each cut, so both
   sides are looked at in several lengths. The spread within both sides decides. */
static uint32_t find_cut(const struct feature *features, const struct run *run)
{
	uint32_t best = run->end, length = run->end - run->first;
	double most = PHASE_SIGNIFICANT;

	for (uint32_t reach = PHASE_LEAST; length >= 2 * PHASE_LEAST; reach *= 4) {
		for (unsigned k = 0; k < FEATURES; k++) {
			/* sums and squares over the places before and after, moved along with the cut */
			double sum[2] = {0}, squares[2] = {0};
			uint32_t first = run->first, end = first, middle;

			for (middle = first; middle <= run->end; middle++) {
				double n, m, spread, t;

				for (; end < run->end && end - middle < reach; end++) {
					sum[1] += features[end].share[k];
					squares[1] += features[end].share[k] * features[end].share[k];
				}
				n = middle - first;
				m = end - middle;
				if (n >= PHASE_LEAST && m >= PHASE_LEAST) {
					spread = squares[0] - sum[0] * sum[0] / n + squares[1] - sum[1] * sum[1] / m;
					t = fabs(sum[0] / n - sum[1] / m) /
					    sqrt((fmax(spread, 0) / (n + m - 2) + PHASE_VARIANCE_LEAST) *
					         (1 / n + 1 / m));
					if (t / (1 + PHASE_SIGNIFICANT / (n + m - 2)) > most) {
						most = t / (1 + PHASE_SIGNIFICANT / (n + m - 2));
						best = middle;
					}
				}
				if (middle == run->end)
					break;
				sum[0] += features[middle].share[k];
				squares[0] += features[middle].share[k] * features[middle].share[k];
				sum[1] -= features[middle].share[k];
				squares[1] -= features[middle].share[k] * features[middle].share[k];
				if (middle + 1 - first > reach) {
					sum[0] -= features[first].share[k];
					squares[0] -= features[first].share[k] * features[first].share[k];
					first++;
				}
			}
		}
		if (reach >= length)
			break;
	}
	return best;
}

int fm_phases_find(const struct fm_times *times, unsigned most, uint8_t *ret_phases)
{
	struct run runs[RUNS_MAX] = {{0}};
	unsigned count = 1, bins[FEATURES], phases;
	uint32_t described, last;
	struct feature *features = calloc(times->clusters ? times->clusters : 1, sizeof(*features));

	if (!features)
		return -ENOMEM;
	ages(times, bins);
	described = runs[0].end = describe(times, bins, features);
	if (!described) {
		memset(ret_phases, 0, times->clusters);
		free(features);
		return 1;
	}
	for (unsigned i = 0; i < count;) {
		uint32_t cut = count < RUNS_MAX ? find_cut(features, &runs[i]) : runs[i].end;

		if (cut == runs[i].end) {
			i++;
			continue;
		}
		memmove(&runs[i + 1], &runs[i], (count - i) * sizeof(*runs));
		runs[i].end = runs[i + 1].first = cut;
		count++;
	}
	for (unsigned i = 0; i < count; i++) {
		runs[i].phase = i;
		describe_run(features, &runs[i]);
	}
	/* join the phases that are least apart, as long as they may be one or there are too many */
	for (phases = count; phases > 1; phases--) {
		double least = INFINITY;
		unsigned keep = 0, drop = 0;

		for (unsigned i = 0; i < count; i++)
			for (unsigned k = 0; k < i; k++) {
				double distance;

				if (runs[i].phase == runs[k].phase)
					continue;
				distance = apart(&runs[i], &runs[k]);
				if (distance < least) {
					least = distance;
					keep = runs[k].phase;
					drop = runs[i].phase;
				}
			}
		if (phases <= most && least > PHASE_SIGNIFICANT / 2)
			break;
		for (unsigned i = 0; i < count; i++)
			if (runs[i].phase == drop)
				runs[i].phase = keep;
	}
	/* number those that are left */
	phases = 0;
	for (unsigned i = 0; i < count; i++) {
		bool known = false;

		for (unsigned k = 0; k < i && !known; k++)
			if (runs[k].phase == runs[i].phase) {
				memset(ret_phases + runs[i].first, ret_phases[runs[k].first],
				       runs[i].end - runs[i].first);
				known = true;
			}
		if (!known)
			memset(ret_phases + runs[i].first, (int)phases++, runs[i].end - runs[i].first);
	}
	/* from the described ones to all: those without samples go along with the one before them */
	last = described - 1;
	for (uint32_t cluster = times->clusters; cluster-- > 0;) {
		while (last > 0 && features[last].cluster > cluster)
			last--;
		ret_phases[cluster] = ret_phases[last];
	}
	free(features);
	return (int)phases;
}
