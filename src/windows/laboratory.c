#include "windows/laboratory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/statistics.h"
#include "windows/tuning.h"

static bool is_natural(const struct fm_recorded_timing *row)
{
	return !strcmp(row->kind, "natural");
}

/* Seconds of a visit; 0: none. */
static double pace(const struct fm_recorded_timing *row)
{
	return row->visits ? row->seconds / row->visits : 0;
}

/* Natural time of a visit near a row: the mean of the nearest before and after. */
static double usual_pace(const struct fm_recording *recording, size_t at)
{
	const struct fm_recorded_timing *rows = recording->timed, *own = &rows[at];
	double sum = 0;
	unsigned count = 0;

	for (int way = -1; way <= 1; way += 2) {
		unsigned steps = 0;

		for (size_t i = at + (size_t)way; i < recording->timed_count && steps++ < NATURAL_NEAR;
		     i += (size_t)way)
			if (rows[i].process == own->process && rows[i].mark == own->mark && is_natural(&rows[i]) &&
			    pace(&rows[i]) > 0) {
				sum += pace(&rows[i]);
				count++;
				break;
			}
	}
	return count ? sum / count : 0;
}

/* Mean with its interval. Neighbours may be alike, since programs have phases: then they say less. */
static struct fm_waiting_share mean_of(const double *shares, unsigned count)
{
	struct fm_waiting_share share = {.rounds = count};
	double mean = 0, squares = 0, together = 0, alike, half;

	if (count < ROUNDS_LEAST)
		return share;
	for (unsigned i = 0; i < count; i++)
		mean += shares[i] / count;
	for (unsigned i = 0; i < count; i++) {
		squares += (shares[i] - mean) * (shares[i] - mean);
		if (i)
			together += (shares[i] - mean) * (shares[i - 1] - mean);
	}
	alike = squares > 0 ? fmin(fmax(together / squares, 0), ALIKE_MOST) : 0;
	half = fm_statistics_student(count - 1) * sqrt(squares / (count - 1) / count * (1 + alike) / (1 - alike));
	half = sqrt(half * half + PLACED_ERROR * PLACED_ERROR);
	share.known = true;
	share.value = fmin(fmax(mean, 0), 1);
	share.low = fmin(fmax(mean - half, 0), 1);
	share.high = fmin(fmax(mean + half, 0), 1);
	return share;
}

/* The part in which nothing could be placed may wait all the time, or never. */
static void widen(struct fm_waiting_share *share, double covered)
{
	share->low *= covered;
	share->high = covered * share->high + 1 - covered;
}

static const char *most_frequent(const struct fm_recording *recording, int64_t running)
{
	const char *best = "";
	unsigned most = 0;

	for (size_t i = 0; i < recording->timed_count; i++) {
		const struct fm_recorded_timing *row = &recording->timed[i];
		unsigned count = 0;

		if (!*row->problem || !strcmp(row->problem, best))
			continue;
		for (size_t k = i; k < recording->timed_count; k++)
			count += (running < 0 || recording->timed[k].running == running) &&
			         !strcmp(recording->timed[k].problem, row->problem);
		if (count > most) {
			most = count;
			best = row->problem;
		}
	}
	return best;
}

void fm_laboratory_estimate(const struct fm_recording *recording, int64_t running, struct fm_laboratory *ret)
{
	double *shares = calloc(2 * recording->timed_count + 1, sizeof(*shares));
	double *seconds = shares + recording->timed_count;
	unsigned first = 0, second = 0;

	*ret = (struct fm_laboratory){.problem = ""};
	for (size_t i = 0; shares && i < recording->timed_count; i++) {
		const struct fm_recorded_timing *row = &recording->timed[i];
		double usual, share;

		if (is_natural(row) || (running >= 0 && row->running != running))
			continue;
		ret->rounds++;
		usual = *row->problem ? 0 : usual_pace(recording, i);
		if (!(usual > 0) || !(pace(row) > 0))
			continue;
		/* the clock and the ends of the stretch would count */
		if (usual * row->visits < SHORTEST_STRETCH)
			continue;
		share = 1 - pace(row) / usual;
		/* something interrupted it */
		if (share < -DISTURBED)
			continue;
		ret->compared++;
		if (!strcmp(row->kind, "L1"))
			shares[first++] = share;
		else
			seconds[second++] = share;
	}
	ret->covered = ret->rounds ? (double)ret->compared / ret->rounds : 0;
	ret->problem = ret->compared < ret->rounds ? most_frequent(recording, running) : "";
	if (shares) {
		ret->first = mean_of(shares, first);
		ret->second = mean_of(seconds, second);
	}
	free(shares);
	/* a line in the second cache is farther away than one in the first */
	if (ret->first.known && ret->second.known) {
		ret->second.value = fmin(ret->second.value, ret->first.value);
		ret->second.low = fmin(ret->second.low, ret->second.value);
		ret->second.high = fmin(ret->second.high, ret->first.high);
	}
	if (running < 0 && ret->rounds) {
		widen(&ret->first, ret->covered);
		widen(&ret->second, ret->covered);
	}
}
