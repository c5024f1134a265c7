#include "machine/levels.h"

#include <math.h>
#include <string.h>

enum { POINTS_MAX = 256 };

/* A plateau may end this much above the advertised capacity: the climb to the next one is shared between both. */
static const double beyond_advertised = 1.7;

/* A plateau is flat somewhere: over this many octaves it stays within this factor of its typical latency. The slope
   between two levels does not. */
static const double flat_octaves = 0.3;
static const double flat_factor = 1.2;

/* Neighbouring levels closer than this cannot be told from a drifting clock. */
static const double least_ratio = 1.25;

/* Latency does not fall when the data set grows; where it seems to, average (pool adjacent violators). */
static void make_monotone(double *values, unsigned count)
{
	double level[POINTS_MAX] = {0};
	unsigned weight[POINTS_MAX] = {0};
	unsigned blocks = 0, position = 0;

	for (unsigned i = 0; i < count; i++) {
		level[blocks] = values[i];
		weight[blocks++] = 1;
		while (blocks > 1 && level[blocks - 2] > level[blocks - 1]) {
			unsigned total = weight[blocks - 2] + weight[blocks - 1];

			level[blocks - 2] =
			    (level[blocks - 2] * weight[blocks - 2] + level[blocks - 1] * weight[blocks - 1]) / total;
			weight[blocks - 2] = total;
			blocks--;
		}
	}
	for (unsigned i = 0; i < blocks; i++)
		for (unsigned j = 0; j < weight[i]; j++)
			values[position++] = level[i];
}

/* Cost of calling points first … last one plateau: the weighted sum of absolute deviations from the weighted median.
   Absolute ones, because the points of a transition belong to neither side and must not drag the plateau along;
   weighted by the octaves a point stands for, because bends are measured more densely than plateaus. */
static double plateau_cost(const double *values, const double *weights, unsigned first, unsigned last,
                           double *ret_median)
{
	double total = 0, half = 0, median, cost = 0;

	for (unsigned i = first; i <= last; i++)
		total += weights[i];
	median = values[last];
	for (unsigned i = first; i <= last; i++) {
		half += weights[i];
		if (half >= total / 2) { /* the values ascend */
			median = values[i];
			break;
		}
	}
	for (unsigned i = first; i <= last; i++)
		cost += weights[i] * fabs(values[i] - median);
	*ret_median = median;
	return cost;
}

/* Best division into exactly `parts`, part i ending at point limits[i] at the latest; fills the index of each part's
   last point. False when there is none. */
static bool divide(const double *values, const double *weights, unsigned count, unsigned parts, const unsigned *limits,
                   unsigned *ret_last)
{
	static double best[FM_LEVELS_MAX + 1][POINTS_MAX];
	static unsigned from[FM_LEVELS_MAX + 1][POINTS_MAX];
	double median;

	for (unsigned end = 0; end < count; end++)
		best[1][end] = end > limits[0] ? INFINITY : plateau_cost(values, weights, 0, end, &median);
	for (unsigned part = 2; part <= parts; part++)
		for (unsigned end = 0; end < count; end++) {
			best[part][end] = INFINITY;
			for (unsigned split = part - 1; split <= end && end <= limits[part - 1]; split++) {
				double cost =
				    best[part - 1][split - 1] + plateau_cost(values, weights, split, end, &median);

				if (cost < best[part][end]) {
					best[part][end] = cost;
					from[part][end] = split;
				}
			}
		}
	if (!isfinite(best[parts][count - 1]))
		return false;
	ret_last[parts - 1] = count - 1;
	for (unsigned part = parts; part > 1; part--)
		ret_last[part - 2] = from[part][ret_last[part - 1]] - 1;
	return true;
}

static void find_capacity(const struct fm_curve_point *points, const double *values, unsigned count,
                          struct fm_plateau *plateau, const struct fm_plateau *next)
{
	double middle = (log2(plateau->ns) + log2(next->ns)) / 2;

	for (unsigned i = 1; i < count; i++) {
		double before = log2(points[i - 1].bytes), after = log2(points[i].bytes);
		unsigned low, high;

		if (values[i] < middle || values[i - 1] >= middle)
			continue;
		plateau->capacity =
		    exp2(before + (after - before) * (middle - values[i - 1]) / (values[i] - values[i - 1]));
		/* the last size clearly below and the first clearly above the middle, given the points' own intervals
		 */
		for (low = i - 1; low > 0 && log2(points[low].high) >= middle; low--)
			;
		for (high = i; high + 1 < count && log2(points[high].low) <= middle; high++)
			;
		plateau->capacity_low = fmin(points[low].bytes, plateau->capacity);
		plateau->capacity_high = fmax(points[high].bytes, plateau->capacity);
		return;
	}
}

static bool is_flat(const double *values, const double *weights, unsigned first, unsigned last, double median)
{
	double octaves = 0;

	for (unsigned i = first; i <= last; i++)
		if (fabs(values[i] - median) <= log2(flat_factor))
			octaves += weights[i];
	return octaves >= flat_octaves;
}

/* The last point that part i of `parts` may have. With fewer parts than levels the first is still the first cache;
   which of the others is missing is not known, so each gets the limit of the largest cache it may be. */
static void set_limits(const struct fm_curve_point *points, unsigned count, unsigned most, unsigned parts,
                       const double *advertised, unsigned *ret_limits)
{
	for (unsigned part = 0; part < parts; part++) {
		unsigned cache = part ? part + most - parts : 0;

		ret_limits[part] = count - 1;
		if (!advertised || part + 1 == parts)
			continue;
		while (ret_limits[part] > 0 && points[ret_limits[part]].bytes > beyond_advertised * advertised[cache])
			ret_limits[part]--;
	}
}

unsigned fm_levels_find(const struct fm_curve_point *points, unsigned count, unsigned most, const double *advertised,
                        struct fm_plateau *ret_plateaus)
{
	double values[POINTS_MAX] = {0}, weights[POINTS_MAX] = {0};
	unsigned last[FM_LEVELS_MAX], limits[FM_LEVELS_MAX];
	unsigned parts;

	if (count > POINTS_MAX)
		count = POINTS_MAX;
	if (most > FM_LEVELS_MAX)
		most = FM_LEVELS_MAX;
	if (count < 2 * most || !most)
		return 0;
	for (unsigned i = 0; i < count; i++) {
		double before = i ? log2(points[i].bytes / points[i - 1].bytes) : 1;
		double after = i + 1 < count ? log2(points[i + 1].bytes / points[i].bytes) : 1;

		values[i] = log2(points[i].ns);
		weights[i] = (fmin(before, 1) + fmin(after, 1)) / 2;
	}
	make_monotone(values, count);
	/* as many plateaus as are asked for, unless two of them would not differ enough */
	for (parts = most; parts > 1; parts--) {
		bool distinct = true;

		set_limits(points, count, most, parts, advertised, limits);
		if (!divide(values, weights, count, parts, limits, last))
			continue;
		for (unsigned part = 0, first = 0; part < parts; part++) {
			struct fm_plateau *plateau = &ret_plateaus[part];
			double median;

			memset(plateau, 0, sizeof(*plateau));
			plateau_cost(values, weights, first, last[part], &median);
			plateau->ns = exp2(median);
			plateau->first_bytes = points[first].bytes;
			plateau->last_bytes = points[last[part]].bytes;
			if (part && plateau->ns < least_ratio * plateau[-1].ns)
				distinct = false;
			if (!is_flat(values, weights, first, last[part], median))
				distinct = false;
			first = last[part] + 1;
		}
		if (distinct)
			break;
	}
	if (parts == 1) {
		double median;

		memset(&ret_plateaus[0], 0, sizeof(ret_plateaus[0]));
		plateau_cost(values, weights, 0, count - 1, &median);
		ret_plateaus[0].ns = exp2(median);
		ret_plateaus[0].first_bytes = points[0].bytes;
		ret_plateaus[0].last_bytes = points[count - 1].bytes;
	}
	for (unsigned part = 0; part + 1 < parts; part++)
		find_capacity(points, values, count, &ret_plateaus[part], &ret_plateaus[part + 1]);
	return parts;
}

unsigned fm_levels_refine(const struct fm_curve_point *points, unsigned count, double finest, double *ret_bytes,
                          unsigned room)
{
	unsigned written = 0;

	for (unsigned i = 1; i < count && written < room; i++)
		if (points[i].ns > 1.2 * points[i - 1].ns && log2(points[i].bytes / points[i - 1].bytes) > 1.5 * finest)
			ret_bytes[written++] = sqrt(points[i].bytes * points[i - 1].bytes);
	return written;
}
