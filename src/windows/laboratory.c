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

/* A placed stretch begins and ends with a reading of the clock, which waits for all earlier instructions: the overlap
   with neighbouring instructions is lost. Stretches of two lengths show this cost. Sums over the rounds of one mark and
   kind: */
struct ends {
	uint32_t process;
	uint64_t mark;
	const char *kind;
	double count, visits, seconds, visits_squared, product, seconds_squared;
	double cost, error; /* s; error 0: not known */
};
enum { ENDS_MOST = 64 };

static struct ends *ends_of(struct ends *all, unsigned *count, const struct fm_recorded_timing *row)
{
	for (unsigned i = 0; i < *count; i++)
		if (all[i].process == row->process && all[i].mark == row->mark && !strcmp(all[i].kind, row->kind))
			return &all[i];
	if (*count == ENDS_MOST)
		return NULL;
	all[*count] = (struct ends){.process = row->process, .mark = row->mark, .kind = row->kind};
	return &all[(*count)++];
}

/* Seconds of a stretch without visits, by a straight line. An uncertain cost counts in part. */
static void find_cost(struct ends *ends)
{
	double n = ends->count, mean = ends->visits / n, spread = ends->visits_squared - n * mean * mean, slope, cost,
	       left, error;

	if (n < ENDS_LEAST || !(spread > n * mean * mean * ENDS_SPREAD * ENDS_SPREAD))
		return;
	slope = (ends->product - mean * ends->seconds) / spread;
	cost = ends->seconds / n - slope * mean;
	left = fmax(0, ends->seconds_squared - ends->seconds * ends->seconds / n - slope * slope * spread);
	error = sqrt(left / (n - 2) * (1 / n + mean * mean / spread));
	if (slope > 0 && cost > error)
		ends->cost = fmin(cost * (1 - error * error / (cost * cost)), ENDS_MOST_SECONDS);
	ends->error = fmax(error, 1e-12);
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
static struct fm_waiting_share mean_of(const double *shares, unsigned count, double unsure)
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
	/* the cost of the ends is the same in all rounds: its error does not average out */
	unsure *= 1.96 / count;
	half = sqrt(half * half + PLACED_ERROR * PLACED_ERROR + unsure * unsure);
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

/* Seconds in which a stretch on more pages than the first level of the TLB holds waits for the second level: placing
   its lines does not place its translations. About half of the lines are in the timed part. */
static double translation_delay(const struct fm_recording *recording, const struct fm_recorded_timing *row)
{
	const struct fm_machine_description *machine = &recording->machine;
	const struct fm_tlb_description *tlb = &machine->tlbs[0];
	double missed = tlb->entries && row->pages > tlb->entries ? 1 - (double)tlb->entries / row->pages : 0;

	if (!recording->has_machine || !(machine->frequency_ghz > 0))
		return 0;
	return fmin(row->lines / 2.0 * missed * tlb->penalty * 1e-9 / machine->frequency_ghz,
	            row->seconds * TRANSLATION_MOST);
}

static unsigned find_ends(const struct fm_recording *recording, struct ends ends[ENDS_MOST])
{
	unsigned count = 0;

	for (size_t i = 0; i < recording->timed_count; i++) {
		const struct fm_recorded_timing *row = &recording->timed[i];
		double usual = is_natural(row) || *row->problem ? 0 : usual_pace(recording, i), visits = row->visits;
		struct ends *own;

		/* something interrupted it, or it is too short for the steps of the clock */
		if (!(usual > 0) || row->seconds > (1 + DISTURBED) * usual * visits || usual * visits < SHORTEST_OF_TWO)
			continue;
		own = ends_of(ends, &count, row);
		if (!own)
			continue;
		own->count++;
		own->visits += visits;
		own->seconds += row->seconds;
		own->visits_squared += visits * visits;
		own->product += visits * row->seconds;
		own->seconds_squared += row->seconds * row->seconds;
	}
	for (unsigned i = 0; i < count; i++)
		find_cost(&ends[i]);
	return count;
}

void fm_laboratory_estimate(const struct fm_recording *recording, int64_t running, struct fm_laboratory *ret)
{
	double *shares = calloc(2 * recording->timed_count + 1, sizeof(*shares));
	double *seconds = shares + recording->timed_count, unsure[2] = {0};
	struct ends ends[ENDS_MOST];
	unsigned first = 0, second = 0, ends_count = find_ends(recording, ends);

	*ret = (struct fm_laboratory){.problem = ""};
	for (size_t i = 0; shares && i < recording->timed_count; i++) {
		const struct fm_recorded_timing *row = &recording->timed[i];
		const struct ends *own;
		double usual, share, delay;

		if (is_natural(row) || (running >= 0 && row->running != running))
			continue;
		ret->rounds++;
		usual = *row->problem ? 0 : usual_pace(recording, i);
		if (!(usual > 0) || !(pace(row) > 0))
			continue;
		own = ends_of(ends, &ends_count, row);
		/* the clock and the ends of the stretch would count */
		if (usual * row->visits < (own && own->error > 0 ? SHORTEST_OF_TWO : SHORTEST_STRETCH))
			continue;
		delay = translation_delay(recording, row);
		share = 1 - (row->seconds - (own ? own->cost : 0) - delay) / (usual * row->visits);
		/* something interrupted it */
		if (share < -DISTURBED)
			continue;
		ret->compared++;
		unsure[strcmp(row->kind, "L1") != 0] += own && own->cost > 0 ? own->error / (usual * row->visits) : 0;
		unsure[strcmp(row->kind, "L1") != 0] += delay / 2 / (usual * row->visits);
		if (!strcmp(row->kind, "L1"))
			shares[first++] = share;
		else
			seconds[second++] = share;
	}
	ret->covered = ret->rounds ? (double)ret->compared / ret->rounds : 0;
	ret->problem = ret->compared < ret->rounds ? most_frequent(recording, running) : "";
	if (shares) {
		ret->first = mean_of(shares, first, unsure[0]);
		ret->second = mean_of(seconds, second, unsure[1]);
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
