#include "profile/levels.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "profile/tuning.h"

enum { POINTS_MAX = 256 };

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

/* Cost of taking points first … last for one plateau: the weighted sum of absolute deviations from the weighted median.
   Absolute, because points of a transition belong to neither side and must not move the plateau. Weighted by octaves
   per point, because bends have more points. */
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
		if (fabs(values[i] - median) <= log2(FLAT_FACTOR))
			octaves += weights[i];
	return octaves >= FLAT_OCTAVES;
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
		while (ret_limits[part] > 0 && points[ret_limits[part]].bytes > BEYOND_ADVERTISED * advertised[cache])
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
			if (part && plateau->ns < LEVEL_RATIO * plateau[-1].ns)
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

/* A curve made to rise. */
struct rising {
	const struct fm_curve_point *points;
	double values[POINTS_MAX]; /* log2 of ns */
	unsigned count;
};

static void make_rising(const struct fm_curve_point *points, unsigned count, struct rising *ret_curve)
{
	ret_curve->points = points;
	ret_curve->count = count > POINTS_MAX ? POINTS_MAX : count;
	for (unsigned i = 0; i < ret_curve->count; i++)
		ret_curve->values[i] = log2(points[i].ns);
	make_monotone(ret_curve->values, ret_curve->count);
}

/* log2 of the first size whose latency (log2) is `value`; the last size when none is. */
static double size_reaching(const struct rising *curve, double value)
{
	for (unsigned i = 0; i < curve->count; i++) {
		double here = log2(curve->points[i].bytes), before;

		if (curve->values[i] < value)
			continue;
		if (!i)
			return here;
		before = log2(curve->points[i - 1].bytes);
		return before +
		       (here - before) * (value - curve->values[i - 1]) / (curve->values[i] - curve->values[i - 1]);
	}
	return log2(curve->points[curve->count - 1].bytes);
}

/* log2 of the latency at a size (log2). */
static double value_at(const struct rising *curve, double size)
{
	for (unsigned i = 0; i < curve->count; i++) {
		double here = log2(curve->points[i].bytes), before;

		if (here < size)
			continue;
		if (!i)
			break;
		before = log2(curve->points[i - 1].bytes);
		return curve->values[i - 1] +
		       (curve->values[i] - curve->values[i - 1]) * (size - before) / (here - before);
	}
	return curve->values[size <= log2(curve->points[0].bytes) ? 0 : curve->count - 1];
}

double fm_levels_ns_at(const struct fm_curve_point *points, unsigned count, double bytes)
{
	struct rising curve;

	if (!count)
		return NAN;
	make_rising(points, count, &curve);
	return exp2(value_at(&curve, log2(bytes)));
}

double fm_levels_bytes_at(const struct fm_curve_point *points, unsigned count, double ns)
{
	struct rising curve;

	if (!count)
		return NAN;
	make_rising(points, count, &curve);
	return exp2(size_reaching(&curve, log2(ns)));
}

/* The longest stretch between two sizes (log2), in octaves, that rises by no more than FLAT_RISE. */
static double longest_flat(const struct rising *curve, double begin, double end)
{
	double longest = 0;

	for (unsigned i = 0; i < curve->count; i++) {
		double here = log2(curve->points[i].bytes);

		if (here < begin || here > end)
			continue;
		longest =
		    fmax(longest, fmin(end, size_reaching(curve, curve->values[i] + log2(FLAT_RISE) + 1e-9)) - here);
	}
	return longest;
}

/* Which cache a plateau is. With fewer plateaus than caches the first is the first cache, and the others are the caches
   whose advertised size is nearest, in order. The end of the flat part is compared: the half-way point to the next
   plateau lies far beyond it when a climb begins there. */
static void match_caches(const struct rising *curve, const struct fm_plateau *plateaus, unsigned count, unsigned caches,
                         const double *advertised, int *ret_plateau_of_cache)
{
	unsigned next = 0;

	for (unsigned i = 0; i < caches; i++)
		ret_plateau_of_cache[i] = -1;
	for (unsigned i = 0; i + 1 < count; i++) {
		unsigned best = next, spare = caches - next - (count - 1 - i);
		double end = size_reaching(curve, log2(LEVEL_RATIO * plateaus[i].ns));

		for (unsigned j = next; i && j <= next + spare && j < caches; j++)
			if (fabs(end - log2(advertised[j])) < fabs(end - log2(advertised[best])))
				best = j;
		ret_plateau_of_cache[best] = (int)i;
		next = best + 1;
	}
}

static void set_climb(const struct rising *curve, double begin, double end, struct fm_found_level *level)
{
	double octaves = end - begin;

	level->shape = FM_SHAPE_CLIMB;
	level->plateau = (struct fm_plateau){.ns = exp2(value_at(curve, begin + CLIMB_TYPICAL * octaves)),
	                                     .first_bytes = exp2(begin),
	                                     .last_bytes = exp2(end)};
	level->ns_low = exp2(value_at(curve, begin + CLIMB_LOW * octaves));
	level->ns_high = exp2(value_at(curve, begin + CLIMB_HIGH * octaves));
}

static void hide(const struct rising *curve, double begin, double end, struct fm_found_level *level)
{
	end = fmax(begin, end);
	level->shape = FM_SHAPE_HIDDEN;
	snprintf(level->why, sizeof(level->why),
	         "the latency goes from %.3g to %.3g ns within %.2g octaves of size: no room for this level",
	         exp2(value_at(curve, begin)), exp2(value_at(curve, end)), end - begin);
}

/* Caches first … last have no plateau. They share the sizes between the plateaus above and below; only the advertised
   sizes separate them. */
static void share_climb(const struct rising *curve, const struct fm_found_level *above, double below_ns, unsigned first,
                        unsigned last, const double *advertised, struct fm_found_level *levels)
{
	double begin = size_reaching(curve, log2(LEVEL_RATIO * above->plateau.ns));
	double end = size_reaching(curve, log2(below_ns / LEVEL_RATIO));

	for (unsigned i = first; i <= last; i++) {
		double until = i == last ? end : fmin(end, log2(advertised[i]));

		if (until - begin >= CLIMB_OCTAVES) {
			set_climb(curve, begin, until, &levels[i]);
			begin = until;
			continue;
		}
		hide(curve, begin, until, &levels[i]);
	}
}

/* The nearest level above levels[index] that can be seen, or NULL. */
static struct fm_found_level *level_above(struct fm_found_level *levels, unsigned index)
{
	while (index--)
		if (levels[index].shape != FM_SHAPE_HIDDEN)
			return &levels[index];
	return NULL;
}

/* Does a plateau that was found between two others deserve the name? */
static void judge_plateau(const struct rising *curve, const struct fm_found_level *above, double below_ns,
                          struct fm_found_level *level)
{
	double begin = size_reaching(curve, log2(LEVEL_RATIO * above->plateau.ns));
	double end = size_reaching(curve, log2(below_ns / LEVEL_RATIO));
	double flat = longest_flat(curve, begin, end);

	if (end - begin < CLIMB_OCTAVES && flat < FLAT_OCTAVES)
		hide(curve, begin, end, level); /* one point that happened to lie on the way up */
	else if (flat < FLAT_OCTAVES || (end - begin >= CLIMB_OCTAVES && flat < FLAT_SHARE * (end - begin)))
		set_climb(curve, begin, end, level);
}

/* What follows each level is known only when all have been found. A climb holds more than the cache above it, and no
   more than where it ends. */
static void set_capacities(const struct rising *curve, unsigned caches, struct fm_found_level *levels)
{
	for (unsigned i = 1; i <= caches; i++) {
		struct fm_found_level *above = level_above(levels, i);

		if (levels[i].shape != FM_SHAPE_HIDDEN && above)
			find_capacity(curve->points, curve->values, curve->count, &above->plateau, &levels[i].plateau);
	}
	for (unsigned i = 1; i < caches; i++) {
		struct fm_plateau *plateau = &levels[i].plateau;

		if (levels[i].shape != FM_SHAPE_CLIMB)
			continue;
		plateau->capacity_low =
		    fmin(fmax(plateau->first_bytes, level_above(levels, i)->plateau.capacity), plateau->last_bytes);
		plateau->capacity_high = plateau->last_bytes;
		plateau->capacity =
		    fmin(fmax(plateau->capacity, plateau->capacity_low * exp2(CLIMB_CAPACITY)), plateau->capacity_high);
	}
}

unsigned fm_levels_assign(const struct fm_curve_point *points, unsigned count, unsigned caches,
                          const double *advertised, struct fm_found_level *ret_levels)
{
	struct fm_plateau plateaus[FM_LEVELS_MAX];
	int own[FM_LEVELS_MAX] = {0};
	unsigned found, visible = 1, last;
	struct rising curve;

	if (caches + 1 > FM_LEVELS_MAX)
		caches = FM_LEVELS_MAX - 1;
	found = fm_levels_find(points, count, caches + 1, advertised, plateaus);
	if (!found)
		return 0;
	make_rising(points, count, &curve);
	match_caches(&curve, plateaus, found, caches, advertised, own);
	memset(ret_levels, 0, (caches + 1) * sizeof(*ret_levels));
	ret_levels[caches].plateau = plateaus[found - 1];
	for (unsigned i = 0; i < caches; i = last + 1) {
		const struct fm_found_level *above = level_above(ret_levels, i);

		last = i;
		if (own[i] >= 0) {
			ret_levels[i].plateau = plateaus[own[i]];
			if (above)
				judge_plateau(&curve, above, plateaus[own[i] + 1].ns, &ret_levels[i]);
			continue;
		}
		while (last + 1 < caches && own[last + 1] < 0)
			last++;
		if (above) {
			share_climb(&curve, above, plateaus[last + 1 < caches ? own[last + 1] : (int)found - 1].ns, i,
			            last, advertised, ret_levels);
			continue;
		}
		for (unsigned j = i; j <= last; j++) { /* the first cache always has a plateau if there are two */
			ret_levels[j].shape = FM_SHAPE_HIDDEN;
			snprintf(ret_levels[j].why, sizeof(ret_levels[j].why), "the latency is the same at all sizes");
		}
	}
	set_capacities(&curve, caches, ret_levels);
	for (unsigned i = 0; i < caches; i++)
		visible += ret_levels[i].shape != FM_SHAPE_HIDDEN;
	return visible;
}

unsigned fm_levels_refine(const struct fm_curve_point *points, unsigned count, double finest, double *ret_bytes,
                          unsigned room)
{
	unsigned written = 0;

	for (unsigned i = 1; i < count && written < room; i++)
		if (points[i].ns > REFINED_RISE * points[i - 1].ns &&
		    log2(points[i].bytes / points[i - 1].bytes) > REFINED_GAP * finest)
			ret_bytes[written++] = sqrt(points[i].bytes * points[i - 1].bytes);
	return written;
}
