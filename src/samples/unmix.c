#include "samples/unmix.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "samples/unmixing.h"

enum {
	FINE = 512, /* bins before neighbours that say the same are joined */
	SEED = 7,
	ITERATIONS = 400,
};

/* One class of the calibration, ascending. */
struct column {
	struct fm_unmix_cost *costs;
	size_t count;
	double weight; /* of all */
};

static int by_class_and_ticks(const void *first, const void *second)
{
	const struct fm_unmix_cost *a = first, *b = second;

	if (a->class != b->class)
		return a->class < b->class ? -1 : 1;
	return (a->ticks > b->ticks) - (a->ticks < b->ticks);
}

static int by_ticks(const void *first, const void *second)
{
	const struct fm_unmix_cost *a = first, *b = second;

	return (a->ticks > b->ticks) - (a->ticks < b->ticks);
}

static int32_t quantile(const struct column *column, double share)
{
	double sum = 0;

	for (size_t i = 0; i < column->count; i++) {
		sum += column->costs[i].weight;
		if (sum >= share * column->weight)
			return column->costs[i].ticks;
	}
	return column->costs[column->count - 1].ticks;
}

/* The largest difference of the cumulated distributions: the quality of the best threshold between the two. Noise moves
   it less than the sum of all differences. */
static double distance(const struct column *a, const struct column *b)
{
	double below_a = 0, below_b = 0, most = 0;
	size_t i = 0, k = 0;

	while (i < a->count && k < b->count) {
		int32_t ticks = a->costs[i].ticks < b->costs[k].ticks ? a->costs[i].ticks : b->costs[k].ticks;

		for (; i < a->count && a->costs[i].ticks == ticks; i++)
			below_a += a->costs[i].weight / a->weight;
		for (; k < b->count && b->costs[k].ticks == ticks; k++)
			below_b += b->costs[k].weight / b->weight;
		most = fmax(most, fabs(below_a - below_b));
	}
	return most;
}

/* Groups of neighbours; false when no class is known. */
static bool group(struct fm_unmix *unmix, const struct column *columns, enum fm_unmix_groups how)
{
	int before = -1; /* the last class that is known */
	unsigned groups = 0, waiting = 0;

	for (unsigned i = 0; i < unmix->classes; i++) {
		bool known = columns[i].count >= FM_UNMIX_LEAST;

		unmix->median[i] = known ? quantile(&columns[i], 0.5) : NAN;
		unmix->apart[i] = known && before >= 0 ? distance(&columns[before], &columns[i]) : 1;
		if (!known) {
			/* joins the next one, or at the end the last */
			waiting++;
			unmix->group_of[i] = how == FM_UNMIX_ALONE ? FM_UNMIX_NONE : groups ? groups - 1 : 0;
			continue;
		}
		if (how == FM_UNMIX_ALONE || unmix->apart[i] >= FM_CLASSES_APART)
			groups++;
		for (unsigned k = 0; k <= (how == FM_UNMIX_ALONE ? 0 : waiting); k++)
			unmix->group_of[i - k] = groups - 1;
		waiting = 0;
		before = (int)i;
	}
	unmix->groups = groups;
	return groups > 0;
}

/* Costs of classes that belong to no group are taken out. */
static size_t drop_unknown(const struct fm_unmix *unmix, struct fm_unmix_cost *costs, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (unmix->group_of[costs[i].class] != FM_UNMIX_NONE)
			costs[kept++] = costs[i];
	return kept;
}

/* Bins */

struct fine {
	int32_t upper;
	double counts[FM_UNMIX_CLASSES];
};

/* Difference between the groups' probabilities in two bins, with equal prior probabilities. */
static double difference(const struct fm_unmix *unmix, const struct fine *a, const struct fine *b)
{
	double sum_a = 0, sum_b = 0, total = 0;

	for (unsigned g = 0; g < unmix->groups; g++) {
		sum_a += a->counts[g] / unmix->counts[g];
		sum_b += b->counts[g] / unmix->counts[g];
	}
	if (sum_a == 0 || sum_b == 0)
		return 0;
	for (unsigned g = 0; g < unmix->groups; g++)
		total += fabs(a->counts[g] / unmix->counts[g] / sum_a - b->counts[g] / unmix->counts[g] / sum_b);
	return total / 2;
}

static void join(const struct fm_unmix *unmix, struct fine *bins, unsigned *count, unsigned at)
{
	for (unsigned g = 0; g < unmix->groups; g++)
		bins[at].counts[g] += bins[at + 1].counts[g];
	bins[at].upper = bins[at + 1].upper;
	memmove(&bins[at + 1], &bins[at + 2], (*count - at - 2) * sizeof(*bins));
	--*count;
}

/* Until all neighbours differ, and there are no more than `room`. */
static void join_alike(const struct fm_unmix *unmix, struct fine *bins, unsigned *count, unsigned room)
{
	while (*count > 1) {
		unsigned least = 0;
		double lowest = INFINITY;

		for (unsigned i = 0; i + 1 < *count; i++) {
			double here = difference(unmix, &bins[i], &bins[i + 1]);

			if (here < lowest) {
				lowest = here;
				least = i;
			}
		}
		if (lowest >= FM_BIN_DIFFERENCE && *count <= room)
			return;
		join(unmix, bins, count, least);
	}
}

static bool is_full(const struct fm_unmix *unmix, const struct fine *bin)
{
	for (unsigned g = 0; g < unmix->groups; g++)
		if (bin->counts[g] >= fmax(FM_BIN_COUNT, FM_BIN_SHARE * unmix->counts[g]))
			return true;
	return false;
}

/* Bins of ascending costs, each closed with enough of one group, up to `limit`; the last one has the rest. */
static unsigned make_fine(const struct fm_unmix *unmix, const struct fm_unmix_cost *costs, size_t count, int32_t limit,
                          struct fine *bins)
{
	unsigned made = 0;
	struct fine *beyond;
	size_t i;

	memset(&bins[0], 0, sizeof(bins[0]));
	for (i = 0; i < count && costs[i].ticks <= limit; i++) {
		bins[made].counts[unmix->group_of[costs[i].class]] += costs[i].weight;
		bins[made].upper = costs[i].ticks;
		if (i + 1 < count && costs[i + 1].ticks > costs[i].ticks && costs[i + 1].ticks <= limit &&
		    made + 2 < FINE && is_full(unmix, &bins[made]))
			memset(&bins[++made], 0, sizeof(bins[0]));
	}
	/* the last one may be too small */
	if (made && !is_full(unmix, &bins[made])) {
		unsigned all = made + 1;

		join(unmix, bins, &all, --made);
	}
	bins[made].upper = limit;
	beyond = &bins[++made];
	memset(beyond, 0, sizeof(*beyond));
	beyond->upper = INT32_MAX;
	for (; i < count; i++)
		beyond->counts[unmix->group_of[costs[i].class]] += costs[i].weight;
	return made + 1;
}

/* Between the highest cost of a bin and the lowest of the next the border is put in the middle. */
static void set_borders(struct fm_unmix *unmix, const struct fine *bins, const struct fm_unmix_cost *costs,
                        size_t count)
{
	size_t next = 0;

	for (unsigned b = 0; b < unmix->bins; b++) {
		unmix->upper[b] = bins[b].upper;
		while (next < count && costs[next].ticks <= bins[b].upper)
			next++;
		if (b + 2 < unmix->bins && next < count)
			unmix->upper[b] = (int32_t)(((int64_t)bins[b].upper + costs[next].ticks) >> 1);
	}
}

/* Gamma with that shape and scale 1 (Marsaglia and Tsang). */
static double draw_gamma(struct fm_random *random, double shape)
{
	double boost = 1, d, c;

	if (!(shape > 0))
		return 0;
	if (shape < 1) {
		boost = pow(fm_random_uniform(random), 1 / shape);
		shape += 1;
	}
	d = shape - 1.0 / 3;
	c = 1 / sqrt(9 * d);
	for (;;) {
		double x = fm_random_normal(random), v = 1 + c * x;

		if (v <= 0)
			continue;
		v = v * v * v;
		if (log(fm_random_uniform(random)) < 0.5 * x * x + d - d * v + d * log(v))
			return boost * d * v;
	}
}

static void normalise(double *values, unsigned count)
{
	double sum = 0;

	for (unsigned i = 0; i < count; i++)
		sum += values[i];
	for (unsigned i = 0; i < count; i++)
		values[i] /= sum;
}

/* Half a cost is spread over all bins, so that none is impossible. "Other" is nearly always in the last bin. */
static void set_probabilities(struct fm_unmix *unmix, const struct fine *bins)
{
	struct fm_random random;

	fm_random_seed(&random, SEED);
	for (unsigned g = 0; g < unmix->groups; g++) {
		for (unsigned b = 0; b < unmix->bins; b++)
			unmix->probability[g][b] = bins[b].counts[g] + 0.5 / unmix->bins;
		for (unsigned k = 0; k < FM_UNMIX_DRAWS; k++) {
			for (unsigned b = 0; b < unmix->bins; b++)
				unmix->draws[k][g][b] = draw_gamma(&random, unmix->probability[g][b]) + 1e-9;
			normalise(unmix->draws[k][g], unmix->bins);
		}
		normalise(unmix->probability[g], unmix->bins);
	}
	for (unsigned b = 0; b < unmix->bins; b++) {
		double here = b + 1 == unmix->bins ? 1 - FM_OTHER_ELSEWHERE * (unmix->bins - 1) : FM_OTHER_ELSEWHERE;

		unmix->probability[unmix->groups][b] = here;
		for (unsigned k = 0; k < FM_UNMIX_DRAWS; k++)
			unmix->draws[k][unmix->groups][b] = here;
	}
}

static int32_t highest_usual(const struct column *columns, unsigned classes)
{
	double highest = 0;

	for (unsigned i = 0; i < classes; i++)
		if (columns[i].count >= FM_UNMIX_LEAST)
			highest = fmax(highest, quantile(&columns[i], FM_OTHER_QUANTILE));
	return (int32_t)fmin(FM_OTHER_BEYOND * highest + 16, INT32_MAX / 2);
}

static int fill(struct fm_unmix *unmix, struct fm_unmix_cost *costs, size_t count, enum fm_unmix_groups how)
{
	struct column columns[FM_UNMIX_CLASSES] = {0};
	struct fine *bins = NULL;
	int32_t limit;
	unsigned made;

	qsort(costs, count, sizeof(*costs), by_class_and_ticks);
	for (size_t i = 0; i < count; i++) {
		struct column *column = &columns[costs[i].class];

		if (!column->count)
			column->costs = &costs[i];
		column->count++;
		column->weight += costs[i].weight;
	}
	if (!group(unmix, columns, how))
		return -ENODATA;
	for (unsigned i = 0; i < unmix->classes; i++)
		if (unmix->group_of[i] != FM_UNMIX_NONE)
			unmix->counts[unmix->group_of[i]] += columns[i].weight;
	limit = highest_usual(columns, unmix->classes);
	bins = malloc((FINE + 1) * sizeof(*bins));
	if (!bins)
		return -ENOMEM;
	count = drop_unknown(unmix, costs, count);
	qsort(costs, count, sizeof(*costs), by_ticks);
	made = make_fine(unmix, costs, count, limit, bins);
	made--; /* the last one stays alone */
	{
		struct fine beyond = bins[made];

		join_alike(unmix, bins, &made, FM_UNMIX_BINS - 1);
		bins[made++] = beyond;
	}
	unmix->bins = made;
	set_borders(unmix, bins, costs, count);
	set_probabilities(unmix, bins);
	free(bins);
	return 0;
}

int fm_unmix_create(const struct fm_unmix_cost *costs, size_t count, unsigned classes, enum fm_unmix_groups how,
                    struct fm_unmix **ret_unmix)
{
	struct fm_unmix *unmix = NULL;
	struct fm_unmix_cost *copy = NULL;
	size_t kept = 0;
	int r = -ENOMEM;

	if (!count || !classes || classes > FM_UNMIX_CLASSES)
		return -ENODATA;
	unmix = calloc(1, sizeof(*unmix));
	copy = malloc(count * sizeof(*copy));
	if (!unmix || !copy)
		goto out;
	unmix->draws = calloc(FM_UNMIX_DRAWS, sizeof(*unmix->draws));
	if (!unmix->draws)
		goto out;
	for (size_t i = 0; i < count; i++)
		if (costs[i].class < classes && costs[i].weight > 0 && isfinite(costs[i].weight))
			copy[kept++] = costs[i];
	unmix->classes = classes;
	r = kept ? fill(unmix, copy, kept, how) : -ENODATA;
	if (r)
		goto out;
	*ret_unmix = unmix;
	unmix = NULL;
out:
	free(copy);
	fm_unmix_free(unmix);
	return r;
}

void fm_unmix_free(struct fm_unmix *unmix)
{
	if (unmix)
		free(unmix->draws);
	free(unmix);
}

/* Observations */

unsigned fm_unmix_bin(const struct fm_unmix *unmix, int32_t ticks)
{
	unsigned low = 0, high = unmix->bins - 1;

	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (ticks <= unmix->upper[middle])
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

void fm_histogram_add(struct fm_histogram *histogram, unsigned bin, double weight)
{
	histogram->weight[bin] += weight;
	histogram->total += weight;
	histogram->squares += weight * weight;
	histogram->count++;
}

void fm_histogram_merge(struct fm_histogram *histogram, const struct fm_histogram *other)
{
	for (unsigned b = 0; b < FM_UNMIX_BINS; b++)
		histogram->weight[b] += other->weight[b];
	histogram->total += other->total;
	histogram->squares += other->squares;
	histogram->count += other->count;
}

double fm_effective_count(double total, double squares)
{
	return squares > 0 ? total * total / squares : 0;
}

/* The most likely shares. */

/* The input: counts of the non-empty bins, and their probabilities by group. */
struct problem {
	unsigned groups, bins;
	double counts[FM_UNMIX_BINS];
	double likely[FM_UNMIX_BINS][FM_UNMIX_CLASSES + 1];
};

static void set_problem(struct problem *problem, const struct fm_unmix *unmix, const double *counts,
                        const double (*probability)[FM_UNMIX_BINS])
{
	double total = 0;

	problem->groups = unmix->groups + 1;
	problem->bins = 0;
	for (unsigned b = 0; b < unmix->bins; b++) {
		if (!(counts[b] > 0))
			continue;
		problem->counts[problem->bins] = counts[b];
		total += counts[b];
		for (unsigned g = 0; g < problem->groups; g++)
			problem->likely[problem->bins][g] = probability[g][b];
		problem->bins++;
	}
	for (unsigned b = 0; b < problem->bins; b++)
		problem->counts[b] /= total;
}

/* One step of expectation and maximisation; returns the likelihood of where it came from, if it is asked for. */
static double step(const struct problem *problem, const double *from, double *to, bool asked)
{
	double likelihood = 0;

	memset(to, 0, problem->groups * sizeof(*to));
	for (unsigned b = 0; b < problem->bins; b++) {
		double sum = 0, share;

		for (unsigned g = 0; g < problem->groups; g++)
			sum += from[g] * problem->likely[b][g];
		if (asked)
			likelihood += problem->counts[b] * log(sum);
		share = problem->counts[b] / sum;
		for (unsigned g = 0; g < problem->groups; g++)
			to[g] += from[g] * problem->likely[b][g] * share;
	}
	return likelihood;
}

/* Shares have converged if they move by less than the least, or by less than the most without a gain. Draws only give
   the width of an interval. */
struct tolerance {
	double least, most, gain;
};
static const struct tolerance fine = {1e-5, 1e-3, 1e-10}, coarse = {1e-4, 5e-3, 1e-8};

/* Two steps, then a leap in their direction as long as it makes the shares no less likely (SQUAREM): plain steps
   crawl where classes overlap. */
static void maximise(const struct problem *problem, double *shares, const struct tolerance *tolerance)
{
	unsigned groups = problem->groups;
	double before = -INFINITY;

	for (unsigned i = 0; i < ITERATIONS; i++) {
		double first[FM_UNMIX_CLASSES + 1], second[FM_UNMIX_CLASSES + 1], leap[FM_UNMIX_CLASSES + 1],
		    after[FM_UNMIX_CLASSES + 1];
		double here = step(problem, shares, first, true), length = 0, curve = 0, factor, moved = 0;
		bool good = true;

		step(problem, first, second, false);
		for (unsigned g = 0; g < groups; g++) {
			double r = first[g] - shares[g], v = second[g] - first[g] - r;

			length += r * r;
			curve += v * v;
		}
		if (length < 1e-20)
			return;
		factor = curve > 0 ? fmax(1, sqrt(length / curve)) : 1;
		for (unsigned g = 0; g < groups; g++) {
			double r = first[g] - shares[g], v = second[g] - first[g] - r;

			leap[g] = shares[g] + 2 * factor * r + factor * factor * v;
			good &= leap[g] >= 0;
			leap[g] = shares[g] > 0 ? fmax(leap[g], 1e-12) : 0;
		}
		normalise(leap, groups);
		if (!good || step(problem, leap, after, true) < here)
			memcpy(after, second, groups * sizeof(*after));
		for (unsigned g = 0; g < groups; g++)
			moved = fmax(moved, fabs(after[g] - shares[g]));
		memcpy(shares, after, groups * sizeof(*after));
		if (moved < tolerance->least || (here - before < tolerance->gain && moved < tolerance->most))
			return;
		before = here;
	}
}

static double likelihood_of(const struct problem *problem, const double *shares)
{
	double unused[FM_UNMIX_CLASSES + 1];

	return step(problem, shares, unused, true);
}

/* The number of costs behind a comparison, the calibration's noise included. */
static double comparable(double effective, const double *shares, const struct fm_unmix *unmix)
{
	double noise = 1 / effective;

	for (unsigned g = 0; g < unmix->groups; g++)
		noise += shares[g] * shares[g] / unmix->counts[g];
	return 1 / noise;
}

/* Draws keep away from 0 and 1 however likely these are. So both belong to the interval unless the costs speak
   against them (a ratio of likelihoods, at 5 %). */
static void open_ends(const struct problem *problem, const struct fm_unmix *unmix, double effective,
                      struct fm_mixture *mixture)
{
	const double most = likelihood_of(problem, mixture->value), refuted = 3.84 / 2;

	for (unsigned g = 0; g < problem->groups; g++) {
		double shares[FM_UNMIX_CLASSES + 1] = {0};

		shares[g] = 1;
		if (mixture->high[g] > 0.5 &&
		    (most - likelihood_of(problem, shares)) * comparable(effective, shares, unmix) < refuted)
			mixture->high[g] = 1;
		for (unsigned i = 0; i < problem->groups; i++)
			shares[i] = i == g ? 0 : mixture->value[i] + 0.01;
		normalise(shares, problem->groups);
		if (mixture->low[g] == 0 || mixture->low[g] > 0.5)
			continue;
		maximise(problem, shares, &fine);
		if ((most - likelihood_of(problem, shares)) * comparable(effective, shares, unmix) < refuted)
			mixture->low[g] = 0;
	}
}

static int compare(const void *first, const void *second)
{
	double a = *(const double *)first, b = *(const double *)second;

	return (a > b) - (a < b);
}

void fm_unmix_interval(double *draws, unsigned count, double value, double *ret_low, double *ret_high)
{
	unsigned cut = (unsigned)(0.025 * count);
	double shift;

	qsort(draws, count, sizeof(*draws), compare);
	/* Noise of the calibration makes a large share look smaller, and small ones larger. Draws, which have that
	   noise twice, lie off the value as the value lies off the truth. */
	shift = value - draws[count / 2];
	*ret_low = fmin(value, draws[cut] + (shift > 0 ? shift : 2 * shift));
	*ret_high = fmax(value, draws[count - 1 - cut] + (shift > 0 ? 2 * shift : 0));
}

int fm_unmix_solve(const struct fm_unmix *unmix, const struct fm_histogram *histogram, struct fm_mixture *ret_mixture)
{
	unsigned groups = unmix->groups + 1;
	double effective = fm_effective_count(histogram->total, histogram->squares), counts[FM_UNMIX_BINS],
	       start[FM_UNMIX_CLASSES + 1];
	struct problem observed, problem;
	struct fm_random random;

	if (!(effective > 0) || !isfinite(effective))
		return -ENODATA;
	for (unsigned g = 0; g < groups; g++)
		ret_mixture->value[g] = 1.0 / groups;
	set_problem(&observed, unmix, histogram->weight, (const double(*)[FM_UNMIX_BINS])unmix->probability);
	maximise(&observed, ret_mixture->value, &fine);
	for (unsigned g = 0; g < groups; g++) {
		if (ret_mixture->value[g] < 1e-6)
			ret_mixture->value[g] = 0;
		start[g] = 0.95 * ret_mixture->value[g] + 0.05 / groups;
	}
	normalise(ret_mixture->value, groups);
	fm_random_seed(&random, SEED);
	for (unsigned k = 0; k < FM_UNMIX_DRAWS; k++) {
		double *shares = ret_mixture->draws[k];

		for (unsigned b = 0; b < unmix->bins; b++) {
			/* Chance may have missed half a cost of each group; otherwise an unseen cost would be
			   impossible. */
			double unseen = 0;

			for (unsigned g = 0; g < groups; g++)
				unseen += 0.5 * unmix->probability[g][b];
			counts[b] = draw_gamma(&random, effective * histogram->weight[b] / histogram->total + unseen);
		}
		set_problem(&problem, unmix, counts, (const double(*)[FM_UNMIX_BINS])unmix->draws[k]);
		memcpy(shares, start, groups * sizeof(*shares));
		maximise(&problem, shares, &coarse);
	}
	for (unsigned g = 0; g < groups; g++) {
		double column[FM_UNMIX_DRAWS];

		for (unsigned k = 0; k < FM_UNMIX_DRAWS; k++)
			column[k] = ret_mixture->draws[k][g];
		fm_unmix_interval(column, FM_UNMIX_DRAWS, ret_mixture->value[g], &ret_mixture->low[g],
		                  &ret_mixture->high[g]);
		if (ret_mixture->low[g] < 1e-6)
			ret_mixture->low[g] = 0;
		/* all samples together may have missed a rarer class than this (the rule of three) */
		if (ret_mixture->value[g] < 3 / effective)
			ret_mixture->high[g] = fmax(ret_mixture->high[g], 3 / effective);
		if (1 - ret_mixture->value[g] < 3 / effective)
			ret_mixture->low[g] = fmin(ret_mixture->low[g], 1 - 3 / effective);
		ret_mixture->low[g] = fmax(ret_mixture->low[g], 0);
		ret_mixture->high[g] = fmin(ret_mixture->high[g], 1);
	}
	open_ends(&observed, unmix, effective, ret_mixture);
	return 0;
}

bool fm_unmix_posterior(const struct fm_unmix *unmix, const double *shares, unsigned bin, double *ret_probabilities)
{
	double sum = 0;

	for (unsigned g = 0; g <= unmix->groups; g++)
		sum += ret_probabilities[g] = shares[g] * unmix->probability[g][bin];
	if (!(sum > 0))
		return false;
	for (unsigned g = 0; g <= unmix->groups; g++)
		ret_probabilities[g] /= sum;
	return true;
}

int fm_unmix_likely(const struct fm_unmix *unmix, const struct fm_mixture *mixture, unsigned bin)
{
	double sum = 0, most = 0;
	int best = -1;

	for (unsigned g = 0; g <= unmix->groups; g++) {
		double here = mixture->value[g] * unmix->probability[g][bin];

		sum += here;
		if (here > most) {
			most = here;
			best = (int)g;
		}
	}
	return sum > 0 && most > 0.5 * sum ? best : -1;
}
