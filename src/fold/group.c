/* Instances of about the same length. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/statistics.h"
#include "fold/parts.h"
#include "fold/thresholds.h"

enum { GRID = 512, MODES_MAX = 8 };

struct range {
	size_t begin, end; /* of the sorted lengths */
};

static int by_value(const void *first, const void *second)
{
	double a = *(const double *)first, b = *(const double *)second;

	return (a > b) - (a < b);
}

static double quantile(const double *sorted, const struct range *range, double at)
{
	return fm_statistics_quantile_sorted(sorted + range->begin, (unsigned)(range->end - range->begin), at);
}

/* Density of the lengths, at GRID places from the shortest to the longest: counts, smoothed by a bell with the width
   for a single mode of these numbers. */
static void find_density(const double *sorted, size_t count, double *density)
{
	struct range all = {0, count};
	double low = sorted[0], step = (sorted[count - 1] - low) / (GRID - 1), counts[GRID] = {0};
	double spread = (quantile(sorted, &all, 0.75) - quantile(sorted, &all, 0.25)) / 1.34;
	double width = fmax(FM_MODE_SMOOTHING * spread * pow((double)count, -0.2), FM_MODE_ALIKE / 2) / step;
	int reach = (int)fmin(ceil(3 * width), GRID);

	for (size_t i = 0; i < count; i++)
		counts[(size_t)((sorted[i] - low) / step)]++;
	for (int i = 0; i < GRID; i++) {
		density[i] = 0;
		for (int k = i - reach < 0 ? 0 : i - reach; k < GRID && k <= i + reach; k++)
			density[i] += counts[k] * exp(-0.5 * (i - k) * (i - k) / (width * width));
	}
}

/* Cuts where the density has a valley between two peaks. */
static unsigned cut(const double *sorted, size_t count, struct range *ranges)
{
	double density[GRID], low = sorted[0], step = (sorted[count - 1] - low) / (GRID - 1), peak = 0, valley = 0;
	unsigned found = 0;
	size_t begin = 0, valley_at = 0;

	find_density(sorted, count, density);
	for (size_t i = 0; i < GRID; i++) {
		if (density[i] > peak && peak == 0)
			peak = valley = density[i];
		if (density[i] < valley) {
			valley = density[i];
			valley_at = i;
		}
		if (valley >= peak / 2 && density[i] > peak) {
			peak = valley = density[i];
		} else if (valley < peak / 2 && density[i] > 2 * valley && found + 1 < MODES_MAX) {
			size_t end = begin;

			while (end < count && sorted[end] < low + ((double)valley_at + 0.5) * step)
				end++;
			if (end > begin)
				ranges[found++] = (struct range){begin, end};
			begin = end;
			peak = valley = density[i];
		}
	}
	ranges[found++] = (struct range){begin, count};
	return found;
}

/* Neighbours that differ by little are one. */
static unsigned join(const double *sorted, struct range *ranges, unsigned count)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < count; i++) {
		if (kept &&
		    quantile(sorted, &ranges[i], 0.5) - quantile(sorted, &ranges[kept - 1], 0.5) < FM_MODES_APART)
			ranges[kept - 1].end = ranges[i].end;
		else
			ranges[kept++] = ranges[i];
	}
	return kept;
}

static double spread_around(const double *sorted, const struct range *range, double middle)
{
	size_t count = range->end - range->begin;
	double *distances = malloc(count * sizeof(*distances)), spread = 0;

	for (size_t i = 0; distances && i < count; i++)
		distances[i] = fabs(sorted[range->begin + i] - middle);
	if (distances) {
		qsort(distances, count, sizeof(*distances), by_value);
		spread = 1.4826 * fm_statistics_quantile_sorted(distances, (unsigned)count, 0.5);
	}
	free(distances);
	return spread;
}

static int by_size(const void *first, const void *second)
{
	const struct range *a = first, *b = second;
	size_t size_a = a->end - a->begin, size_b = b->end - b->begin;

	if (size_a != size_b)
		return size_a > size_b ? -1 : 1;
	return (a->begin > b->begin) - (a->begin < b->begin);
}

int fm_fold_group(const double *lengths, size_t count, int32_t *ret_mode)
{
	double *sorted = malloc((count + 1) * sizeof(*sorted));
	struct range ranges[MODES_MAX + 1] = {{0, count}};
	unsigned found = 1, modes = 0;

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		sorted[i] = log(lengths[i]);
		ret_mode[i] = FM_FOLD_NONE;
	}
	if (count)
		qsort(sorted, count, sizeof(*sorted), by_value);
	if (count > 1 && sorted[count - 1] - sorted[0] > FM_MODES_APART) {
		found = cut(sorted, count, ranges);
		found = join(sorted, ranges, found);
	}
	qsort(ranges, found, sizeof(*ranges), by_size);
	for (unsigned k = 0; count && k < found; k++) {
		size_t members = ranges[k].end - ranges[k].begin;
		double middle = quantile(sorted, &ranges[k], 0.5);
		double spread = spread_around(sorted, &ranges[k], middle),
		       reach = fmax(FM_MODE_REACH * spread, FM_MODE_ALIKE);

		/* rare or spread instances are no mode */
		if (k && ((double)members < fmax(3, FM_MODE_RARE * (double)count) || spread > FM_MODES_APART))
			continue;
		for (size_t i = 0; i < count; i++) {
			double length = log(lengths[i]);

			if (length >= sorted[ranges[k].begin] && length <= sorted[ranges[k].end - 1] &&
			    fabs(length - middle) <= reach)
				ret_mode[i] = (int32_t)modes;
		}
		modes++;
	}
	free(sorted);
	return (int)modes;
}
