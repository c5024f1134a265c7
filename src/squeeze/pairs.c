#include "squeeze/pairs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "squeeze/tuning.h"

bool fm_pairs_add(struct fm_pairs *pairs, double amount, double ratio)
{
	struct fm_pairs_group *group = NULL;

	if (!(amount > 0) || !(ratio > 0) || !isfinite(ratio))
		return false;
	for (unsigned i = 0; i < pairs->count && !group; i++)
		if (fabs(pairs->groups[i].amount / amount - 1) < SAME_AMOUNT)
			group = &pairs->groups[i];
	if (!group && pairs->count < FM_DESIGN_POINTS) {
		group = &pairs->groups[pairs->count++];
		*group = (struct fm_pairs_group){.amount = amount};
	}
	if (!group || group->count == FM_PAIRS_MOST)
		return false;
	group->logs[group->count++] = log(ratio);
	return true;
}

/* Two-sided 99.5 % quantile of Student's t. */
static double student(unsigned degrees)
{
	static const double small[] = {127.3, 14.09, 7.453, 5.598, 4.773, 4.317, 4.029, 3.833, 3.690, 3.581};
	const double z = 2.807034;
	double n = degrees;

	if (!degrees)
		return INFINITY;
	if (degrees <= sizeof(small) / sizeof(*small))
		return small[degrees - 1];
	return z + (pow(z, 3) + z) / 4 / n + (5 * pow(z, 5) + 16 * pow(z, 3) + 3 * z) / 96 / n / n;
}

static double middle_of(const struct fm_pairs_group *group)
{
	double sorted[FM_PAIRS_MOST];

	if (!group->count)
		return 0;
	memcpy(sorted, group->logs, group->count * sizeof(*sorted));
	fm_statistics_sort(sorted, group->count);
	return fm_statistics_quantile_sorted(sorted, group->count, 0.5);
}

/* The distance from the middle of its amount beyond which a pair is excluded. Amounts with at least three pairs give
   the usual distance; the middle pair of an odd number has none. */
static double farthest(const struct fm_pairs *pairs)
{
	double *distances = malloc(sizeof(*distances) * FM_DESIGN_POINTS * FM_PAIRS_MOST), limit = INFINITY;
	unsigned count = 0;

	for (unsigned i = 0; distances && i < pairs->count; i++) {
		const struct fm_pairs_group *group = &pairs->groups[i];
		double middle = middle_of(group);

		for (unsigned k = 0; group->count > 2 && k < group->count; k++)
			if (group->logs[k] != middle)
				distances[count++] = fabs(group->logs[k] - middle);
	}
	if (count >= 4) {
		fm_statistics_sort(distances, count);
		limit = PAIR_FAR * fmax(fm_statistics_quantile_sorted(distances, count, 0.5) * 1.4826, LEAST_SPREAD);
	}
	free(distances);
	return limit;
}

/* Spread of the kept pairs. */
struct moments {
	unsigned count;
	double mean, squares; /* of the distances from the mean, summed up */
};

static struct moments moments_of(const struct fm_pairs_group *group, double limit)
{
	struct moments moments = {0};
	double middle = middle_of(group);

	/* of three pairs, none is known to be the odd one out */
	if (group->count < 4)
		limit = INFINITY;
	for (unsigned i = 0; i < group->count; i++)
		if (fabs(group->logs[i] - middle) <= limit) {
			moments.mean += group->logs[i];
			moments.count++;
		}
	moments.mean /= moments.count ? moments.count : 1;
	for (unsigned i = 0; i < group->count; i++)
		if (fabs(group->logs[i] - middle) <= limit)
			moments.squares += (group->logs[i] - moments.mean) * (group->logs[i] - moments.mean);
	return moments;
}

bool fm_pairs_ratio(const struct fm_pairs *pairs, double amount, struct fm_location *ret_ratio)
{
	double limit = farthest(pairs), squares = 0, spread, half;
	struct moments own = {0};
	unsigned degrees = 0;

	for (unsigned i = 0; i < pairs->count; i++) {
		struct moments moments = moments_of(&pairs->groups[i], limit);

		squares += moments.squares;
		degrees += moments.count ? moments.count - 1 : 0;
		if (fabs(pairs->groups[i].amount / amount - 1) < SAME_AMOUNT)
			own = moments;
	}
	if (!own.count)
		return false;
	spread = degrees ? sqrt(squares / degrees) : INFINITY;
	/* one pair may be anything */
	if (own.count < 2)
		spread = INFINITY;
	else if (sqrt(own.squares / (own.count - 1)) > OWN_SPREAD * spread) {
		degrees = own.count - 1;
		spread = sqrt(own.squares / degrees);
	}
	half = student(degrees) * fmax(spread, LEAST_SPREAD) / sqrt(own.count);
	*ret_ratio = (struct fm_location){
	    .value = exp(own.mean),
	    .low = isfinite(half) ? exp(own.mean - half) : 0,
	    .high = isfinite(half) ? exp(own.mean + half) : INFINITY,
	    .kept = own.count,
	};
	return true;
}

void fm_pairs_fill(const struct fm_pairs *pairs, double full, double whole, struct fm_design *design)
{
	if (full > 0)
		fm_design_add(design, full, whole);
	for (unsigned i = 0; i < pairs->count; i++) {
		struct fm_location ratio;

		if (fm_pairs_ratio(pairs, pairs->groups[i].amount, &ratio))
			fm_design_add_interval(design, &(struct fm_design_point){.amount = pairs->groups[i].amount,
			                                                         .time = ratio.value * whole,
			                                                         .low = ratio.low * whole,
			                                                         .high = ratio.high * whole,
			                                                         .runs = pairs->groups[i].count});
	}
}
