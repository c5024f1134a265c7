#include "base/statistics.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/tuning.h"

int fm_sample_add(struct fm_sample *sample, double value)
{
	if (!fm_array_grow(sample->values, sample->count, sample->capacity))
		return -ENOMEM;
	sample->values[sample->count++] = value;
	return 0;
}

void fm_sample_free(struct fm_sample *sample)
{
	free(sample->values);
	memset(sample, 0, sizeof(*sample));
}

static int ascending(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

void fm_statistics_sort(double *values, unsigned count)
{
	qsort(values, count, sizeof(*values), ascending);
}

double fm_statistics_quantile_sorted(const double *sorted, unsigned count, double quantile)
{
	double position = quantile * (count - 1);
	unsigned below = (unsigned)position;

	if (below + 1 >= count)
		return sorted[count - 1];
	return sorted[below] + (position - below) * (sorted[below + 1] - sorted[below]);
}

double fm_statistics_student(unsigned degrees_of_freedom)
{
	static const double small[] = {12.706, 4.303, 3.182, 2.776, 2.571};
	const double z = 1.959964;
	double n = degrees_of_freedom;

	if (degrees_of_freedom == 0)
		return INFINITY;
	if (degrees_of_freedom <= 5)
		return small[degrees_of_freedom - 1];
	/* Cornish-Fisher expansion in 1/n, exact to 0.001 from six on */
	return z + (pow(z, 3) + z) / 4 / n + (5 * pow(z, 5) + 16 * pow(z, 3) + 3 * z) / 96 / n / n +
	       (3 * pow(z, 7) + 19 * pow(z, 5) + 17 * pow(z, 3) - 15 * z) / 384 / n / n / n;
}

/* Expected range of n standard normal values. */
static double normal_range(unsigned n)
{
	static const double small[] = {0, 0, 1.128, 1.693, 2.059, 2.326, 2.534, 2.704, 2.847, 2.970, 3.078};

	return n <= 10 ? small[n] : 2 * sqrt(2 * log(n)) - 0.9;
}

/* How many of the sorted values form the lowest mode, as far as a gap separates it from the rest. A mode needs a fifth
   of the values, and three: fewer are luck. */
static unsigned cut_at_gaps(const double *sorted, unsigned count, unsigned least)
{
	for (;;) {
		unsigned widest = 0;
		double gap = 0, spread, limit;

		for (unsigned i = least; i < count; i++)
			if (sorted[i] - sorted[i - 1] > gap) {
				gap = sorted[i] - sorted[i - 1];
				widest = i;
			}
		if (!widest)
			return count;
		spread = (sorted[widest - 1] - sorted[0]) / normal_range(widest);
		/* few values underestimate their spread: ask for a wider gap */
		limit = widest <= 3 ? GAP_OF_3 : widest <= 12 ? GAP_OF_12 : widest <= 25 ? GAP_OF_25 : GAP_OF_MORE;
		if (gap <= limit * spread)
			return count;
		count = widest;
	}
}

/* Drop values far above the centre, as measured by the spread of the lower half, which disturbance does not widen. */
static unsigned cut_outliers(const double *sorted, unsigned count, unsigned least)
{
	for (int round = 0; round < 20; round++) {
		double centre = fm_statistics_quantile_sorted(sorted, count, 0.5);
		unsigned half = count / 2;
		unsigned kept = count;
		double spread = 0;

		for (unsigned i = 0; i < half; i++)
			spread += (centre - sorted[i]) * (centre - sorted[i]);
		spread = sqrt(spread / (half > 1 ? half - 0.5 : 1));
		while (kept > least && sorted[kept - 1] > centre + OUTLIER * (1 + 2.0 / count) * spread)
			kept--;
		if (kept == count)
			break;
		count = kept;
	}
	return count;
}

/* NULL without memory. */
static double *sorted_copy(const double *values, unsigned count)
{
	double *sorted = malloc(count * sizeof(*sorted));

	if (sorted) {
		memcpy(sorted, values, count * sizeof(*sorted));
		fm_statistics_sort(sorted, count);
	}
	return sorted;
}

static double clamp_unit(double value)
{
	return value < 0 ? 0 : value > 1 ? 1 : value;
}

int fm_statistics_location(const double *values, unsigned count, struct fm_location *ret_location)
{
	double *sorted;
	unsigned least = count / 5 > 3 ? count / 5 : 3;
	unsigned kept;
	double mean = 0, second = 0, third = 0, error, t, centre, low, high, floor_, middle, steepness, skew = 0, doubt;

	if (count < 3)
		return -ENODATA;
	for (unsigned i = 0; i < count; i++)
		if (!isfinite(values[i]))
			return -ENODATA;
	sorted = sorted_copy(values, count);
	if (!sorted)
		return -ENOMEM;
	kept = cut_at_gaps(sorted, count, least);
	/* A clean distribution thins out below as it does above. Close lowest values are the beginning of a tail, and
	   the undisturbed value may lie at its edge. */
	middle = fm_statistics_quantile_sorted(sorted, kept, 1 - STEEP_QUANTILE) -
	         fm_statistics_quantile_sorted(sorted, kept, STEEP_QUANTILE);
	steepness = middle > 0 ? (fm_statistics_quantile_sorted(sorted, kept, STEEP_QUANTILE) - sorted[0]) / middle : 1;
	kept = cut_outliers(sorted, kept, least);

	for (unsigned i = 0; i < kept; i++)
		mean += sorted[i];
	mean /= kept;
	for (unsigned i = 0; i < kept; i++) {
		double deviation = sorted[i] - mean;

		second += deviation * deviation;
		third += deviation * deviation * deviation;
	}
	error = sqrt(second / (kept - 1) / kept);
	if (second > 0 && kept > 2) {
		double n = kept;
		double sample_skew = third / n / pow(second / n, 1.5) * sqrt(n * (n - 1)) / (n - 2);

		/* in units of its own standard error under normality */
		skew = sample_skew / sqrt(6 * n * (n - 1) / ((n - 2) * (n + 1) * (n + 3)));
	}
	t = fm_statistics_student(kept - 1);
	centre = (mean + fm_statistics_quantile_sorted(sorted, kept, 0.5)) / 2;
	high = centre + (UPPER_WIDTH + UPPER_WIDTH_SMALL / kept) * t * error;
	low = centre - LOWER_WIDTH * t * error;
	floor_ = sorted[0] - REACH_BELOW_MINIMUM / kept * (mean - sorted[0]) * kept / (kept - 1);
	doubt = clamp_unit((skew - (SKEW_BEGIN + SKEW_BEGIN_SMALL / kept)) / SKEW_RANGE);
	doubt = fmax(doubt, clamp_unit((STEEP_BEGIN - steepness) / STEEP_RANGE));
	if (floor_ < low)
		low += (floor_ - low) * doubt;
	free(sorted);
	ret_location->value = centre;
	ret_location->low = fmin(low, centre);
	ret_location->high = fmax(high, centre);
	ret_location->kept = kept;
	return 0;
}

int fm_statistics_median(const double *values, unsigned count, struct fm_location *ret_location)
{
	double *sorted, tail = 0, term;
	unsigned outside = 0;

	if (!count)
		return -ENODATA;
	sorted = sorted_copy(values, count);
	if (!sorted)
		return -ENOMEM;
	/* the largest number of values that may be left out on each side with a binomial tail below 2.5 % */
	term = pow(0.5, count);
	for (unsigned i = 0; i < count / 2; i++) {
		tail += term;
		if (tail > 0.025)
			break;
		outside = i + 1;
		term = term * (count - i) / (i + 1);
	}
	if (outside)
		outside--;
	ret_location->value = fm_statistics_quantile_sorted(sorted, count, 0.5);
	ret_location->low = sorted[outside];
	ret_location->high = sorted[count - 1 - outside];
	ret_location->kept = count;
	free(sorted);
	return 0;
}
