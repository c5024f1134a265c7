/* Finding levels in invented curves. */
#include "check.h"

#include <math.h>
#include <string.h>

#include "base/random.h"
#include "profile/levels.h"

enum { POINTS = 120 };

struct machine {
	const char *name;
	unsigned levels;
	double capacity[4]; /* of all but the last */
	double ns[5];
	double blur; /* octaves over which a level gives way to the next */
};

static const struct machine machines[] = {
    {"sharp steps", 4, {32e3, 512e3, 16e6}, {1.2, 3.7, 15, 90}, 0.05},
    {"gradual steps", 4, {32e3, 512e3, 16e6}, {1.2, 3.7, 15, 90}, 1},
    {"a small share of a large cache", 4, {48e3, 1.25e6, 2.2e6}, {1.5, 5, 27, 110}, 0.2},
    {"two levels", 3, {32e3, 1e6}, {1.2, 4, 100}, 0.2},
};

static double latency(const struct machine *machine, double bytes)
{
	double value = log2(machine->ns[0]);

	for (unsigned i = 0; i + 1 < machine->levels; i++) {
		double share = (log2(bytes / machine->capacity[i])) / machine->blur + 0.5;

		share = share < 0 ? 0 : share > 1 ? 1 : share;
		value += share * (log2(machine->ns[i + 1]) - log2(machine->ns[i]));
	}
	return exp2(value);
}

static unsigned draw_curve(const struct machine *machine, struct fm_random *random, double noise, double per_octave,
                           struct fm_curve_point *points)
{
	unsigned count = 0;

	for (double bytes = 16e3; bytes < 400e6 && count < POINTS; bytes *= exp2(1 / per_octave)) {
		double ns = latency(machine, bytes) * (1 + noise * (2 * fm_random_uniform(random) - 1));

		points[count++] = (struct fm_curve_point){bytes, ns, ns * (1 - noise), ns * (1 + noise)};
	}
	return count;
}

static void finds_levels(void **state)
{
	(void)state;
	for (size_t m = 0; m < sizeof(machines) / sizeof(machines[0]); m++)
		for (unsigned seed = 0; seed < 200; seed++) {
			const struct machine *machine = &machines[m];
			struct fm_curve_point points[POINTS];
			struct fm_plateau plateaus[FM_LEVELS_MAX];
			struct fm_random random;
			unsigned count, found;

			fm_random_seed(&random, seed);
			count = draw_curve(machine, &random, seed ? 0.08 : 0, 6, points);
			found = fm_levels_find(points, count, machine->levels, NULL, plateaus);
			assert_int_equal(found, machine->levels);
			for (unsigned i = 0; i < found; i++) {
				assert_near(log2(plateaus[i].ns), log2(machine->ns[i]), 0.12);
				if (i + 1 == found)
					continue;
				assert_near(log2(plateaus[i].capacity), log2(machine->capacity[i]), 0.1);
				assert_true(plateaus[i].capacity_low <= plateaus[i].capacity);
				assert_true(plateaus[i].capacity_high >= plateaus[i].capacity);
			}
		}
}

/* A level that is advertised but cannot be seen is not invented. */
static void does_not_invent_levels(void **state)
{
	struct fm_curve_point points[POINTS];
	struct fm_plateau plateaus[FM_LEVELS_MAX];
	struct fm_random random;
	unsigned count;

	(void)state;
	fm_random_seed(&random, 1);
	count = draw_curve(&machines[3], &random, 0.02, 4, points);
	assert_int_equal(fm_levels_find(points, count, 4, NULL, plateaus), 3);
}

/* One point of the first level against many on a long slope: the advertised size says where it must end. */
static void advertised_sizes_hold_the_small_ones(void **state)
{
	const struct machine slope = {"slope", 4, {32e3, 400e3, 20e6}, {1.3, 4, 30, 160}, 5};
	const double advertised[] = {32768, 524288, 33554432};
	struct fm_curve_point points[POINTS];
	struct fm_plateau plateaus[FM_LEVELS_MAX];
	struct fm_random random;
	unsigned count;

	(void)state;
	for (unsigned seed = 0; seed < 100; seed++) {
		fm_random_seed(&random, seed);
		count = draw_curve(&slope, &random, 0.1, 2, points);
		assert_true(fm_levels_find(points, count, 4, advertised, plateaus) >= 3);
		assert_true(plateaus[0].last_bytes <= 1.7 * 32768);
		assert_true(plateaus[0].ns < 3);
	}
}

/* Curves between whose second cache and memory there is, or is not, a third cache. */

enum { CACHES = 3 };
static const double three_caches[CACHES] = {32768, 524288, 33554432};

/* A curve given by a few sizes and latencies, straight lines (in logarithms) between them. */
struct corner {
	double bytes, ns;
};

static unsigned draw_corners(const struct corner *corners, struct fm_random *random, double noise, double per_octave,
                             struct fm_curve_point *points)
{
	unsigned count = 0;

	for (double bytes = 16384; bytes < 400e6 && count < POINTS; bytes *= exp2(1 / per_octave)) {
		const struct corner *next = corners + 1;
		double share, ns;

		while (next[1].bytes > 0 && next->bytes < bytes)
			next++;
		share = log2(bytes / next[-1].bytes) / log2(next->bytes / next[-1].bytes);
		ns = next[-1].ns * pow(next->ns / next[-1].ns, share < 0 ? 0 : share > 1 ? 1 : share);
		ns *= 1 + noise * (2 * fm_random_uniform(random) - 1);
		points[count++] = (struct fm_curve_point){bytes, ns, ns * (1 - noise), ns * (1 + noise)};
	}
	return count;
}

static const struct corner continuous_climb[] = {{16384, 1.2}, {34e3, 1.2},   {45e3, 3.8}, {450e3, 4},   {1e6, 9},
                                                 {2.1e6, 12},  {4.2e6, 16.6}, {8.4e6, 23}, {16.8e6, 50}, {33.6e6, 105},
                                                 {67e6, 140},  {400e6, 140},  {0, 0}};
static const struct corner direct_jump[] = {{16384, 1.2}, {34e3, 1.2},  {45e3, 3.8}, {500e3, 4},
                                            {800e3, 130}, {400e6, 140}, {0, 0}};
static const struct corner steep_climb[] = {{16384, 1.2}, {34e3, 1.2},  {45e3, 3.8}, {450e3, 4},
                                            {3.6e6, 130}, {400e6, 140}, {0, 0}};
static const struct corner two_in_one[] = {{16384, 1.2}, {34e3, 1.2},  {45e3, 5}, {9e6, 5.2},
                                           {12e6, 120},  {400e6, 120}, {0, 0}};
static const struct corner two_climb[] = {{16384, 1.2}, {34e3, 1.2}, {30e6, 120}, {400e6, 125}, {0, 0}};

/* What fm_levels_find() finds is not changed where every level has a plateau. */
static void plateaus_stay_as_they_are(void **state)
{
	(void)state;
	for (size_t m = 0; m < 3; m++)
		for (unsigned seed = 0; seed < 200; seed++) {
			const struct machine *machine = &machines[m];
			struct fm_curve_point points[POINTS];
			struct fm_found_level levels[FM_LEVELS_MAX];
			struct fm_plateau plateaus[FM_LEVELS_MAX];
			struct fm_random random;
			unsigned count;

			fm_random_seed(&random, seed);
			count = draw_curve(machine, &random, seed ? 0.04 : 0, 6, points);
			assert_int_equal(fm_levels_find(points, count, 4, machine->capacity, plateaus), 4);
			assert_int_equal(fm_levels_assign(points, count, 3, machine->capacity, levels), 4);
			for (unsigned i = 0; i < 4; i++) {
				assert_int_equal(levels[i].shape, FM_SHAPE_PLATEAU);
				assert_memory_equal(&levels[i].plateau, &plateaus[i], sizeof(plateaus[i]));
			}
		}
}

static void check_climb(const struct fm_found_level *levels, double low, double high)
{
	assert_int_equal(levels[0].shape, FM_SHAPE_PLATEAU);
	assert_int_equal(levels[1].shape, FM_SHAPE_PLATEAU);
	assert_int_equal(levels[2].shape, FM_SHAPE_CLIMB);
	assert_true(levels[2].ns_low <= low && levels[2].ns_high >= high);
	assert_true(levels[2].plateau.ns > levels[2].ns_low && levels[2].plateau.ns < levels[2].ns_high);
	/* slower and larger than the level above, faster than memory */
	assert_true(levels[2].ns_low > levels[1].plateau.ns);
	assert_true(levels[2].ns_high < levels[3].plateau.ns);
	assert_true(levels[2].plateau.capacity_low >= levels[1].plateau.capacity);
	assert_true(levels[2].plateau.capacity > levels[1].plateau.capacity);
	assert_true(levels[2].plateau.capacity_low <= levels[2].plateau.capacity);
	assert_true(levels[2].plateau.capacity_high >= levels[2].plateau.capacity);
}

/* No size is flat between the second cache and memory: the level stays, with an interval as wide as the climb. */
static void a_climb_is_a_level(void **state)
{
	unsigned plain = 0;

	(void)state;
	for (unsigned seed = 0; seed < 200; seed++) {
		struct fm_curve_point points[POINTS];
		struct fm_plateau plateaus[FM_LEVELS_MAX];
		struct fm_found_level levels[FM_LEVELS_MAX];
		struct fm_random random;
		unsigned count;

		fm_random_seed(&random, seed);
		count = draw_corners(continuous_climb, &random, seed ? 0.1 : 0, 3 + seed % 4, points);
		assert_int_equal(fm_levels_assign(points, count, CACHES, three_caches, levels), 4);
		check_climb(levels, 12, 23);
		assert_true(levels[2].plateau.ns > 10 && levels[2].plateau.ns < 23);
		count = draw_corners(steep_climb, &random, seed ? 0.1 : 0, 3 + seed % 4, points);
		plain += fm_levels_find(points, count, CACHES + 1, three_caches, plateaus) == CACHES;
		assert_int_equal(fm_levels_assign(points, count, CACHES, three_caches, levels), 4);
		check_climb(levels, 12, 40);
	}
	print_message("plateaus alone miss the steep climb in %u of 200 curves\n", plain);
	assert_true(plain > 0);
}

static void a_jump_is_not(void **state)
{
	(void)state;
	for (unsigned seed = 0; seed < 200; seed++) {
		struct fm_curve_point points[POINTS];
		struct fm_found_level levels[FM_LEVELS_MAX];
		struct fm_random random;
		unsigned count;

		fm_random_seed(&random, seed);
		count = draw_corners(direct_jump, &random, seed ? 0.1 : 0, 3 + seed % 4, points);
		assert_int_equal(fm_levels_assign(points, count, CACHES, three_caches, levels), 3);
		assert_int_equal(levels[1].shape, FM_SHAPE_PLATEAU);
		assert_int_equal(levels[2].shape, FM_SHAPE_HIDDEN);
		assert_non_null(strstr(levels[2].why, "octaves"));
		assert_int_equal(levels[3].shape, FM_SHAPE_PLATEAU);
	}
}

/* Two caches that the curve does not tell apart. */
static void merged_caches(void **state)
{
	(void)state;
	for (unsigned seed = 0; seed < 200; seed++) {
		struct fm_curve_point points[POINTS];
		struct fm_found_level levels[FM_LEVELS_MAX];
		struct fm_random random;
		unsigned count;

		fm_random_seed(&random, seed);
		/* of one latency: the larger is what is seen */
		count = draw_corners(two_in_one, &random, seed ? 0.05 : 0, 4, points);
		assert_int_equal(fm_levels_assign(points, count, CACHES, three_caches, levels), 3);
		assert_int_equal(levels[1].shape, FM_SHAPE_HIDDEN);
		assert_int_equal(levels[2].shape, FM_SHAPE_PLATEAU);
		assert_near(levels[2].plateau.ns, 5.1, 0.6);
		/* one climb from the first cache to memory: whatever is made of it keeps the order */
		count = draw_corners(two_climb, &random, seed ? 0.05 : 0, 4, points);
		assert_true(fm_levels_assign(points, count, CACHES, three_caches, levels) >= 3);
		for (unsigned i = 1, above = 0; i <= CACHES; i++) {
			if (levels[i].shape == FM_SHAPE_HIDDEN)
				continue;
			assert_true(levels[i].plateau.ns > levels[above].plateau.ns);
			if (i < CACHES)
				assert_true(levels[i].plateau.capacity > levels[above].plateau.capacity);
			above = i;
		}
	}
}

/* Share of hits when a set of lines is walked again and again through a cache that evicts at random. */
static double hits_random(double bytes, double capacity)
{
	double share = 1;

	for (unsigned i = 0; i < 200 && bytes > capacity; i++)
		share = exp(-(1 - share * 0.999) * bytes / capacity);
	return share;
}

/* The same for one that evicts what was used longest ago, of 16 ways and with pages placed at random: a page hits when
   no more than 15 others fall into its sets. */
static double hits_oldest(double bytes, double capacity)
{
	double others = 16 * bytes / capacity, term = exp(-others), share = 0;

	for (unsigned i = 0; i < 16; i++) {
		share += term;
		term *= others / (i + 1);
	}
	return share;
}

/* Curves from a model whose latencies and capacities are known: every access takes the time of the cache that has the
   line, caches are shared with neighbours of random appetite, so that the third one's capacity changes from point to
   point. The intervals must hold the truth. */
static void check_truth(const char *name, double (*hits)(double bytes, double capacity))
{
	enum { SEEDS = 500, FIRST = 50000 }; /* other seeds than those the shares in levels.c were chosen with */
	unsigned seen = 0, climbs = 0, latency_held = 0, capacity_held = 0;

	for (unsigned seed = FIRST; seed < FIRST + SEEDS; seed++) {
		struct fm_curve_point points[POINTS];
		struct fm_found_level levels[FM_LEVELS_MAX];
		double ns[4], third, spread;
		struct fm_random random;
		unsigned count = 0;

		fm_random_seed(&random, seed);
		ns[0] = 1.2;
		ns[1] = 3.5 + 2 * fm_random_uniform(&random);
		ns[2] = ns[1] * (2.5 + 2.5 * fm_random_uniform(&random));
		ns[3] = 80 + 60 * fm_random_uniform(&random);
		third = 524288 * exp2(1 + 3 * fm_random_uniform(&random));
		spread = 2 * fm_random_uniform(&random); /* octaves */
		for (double bytes = 16384; bytes < 400e6; bytes *= exp2(1.0 / (3 + seed % 4))) {
			double first = hits(bytes, 32768), second = hits(bytes, 524288), last = 0, value;

			/* a point is measured over many neighbours' moods */
			for (int mood = -4; mood <= 4; mood++)
				last += hits(bytes, third * exp2(spread * mood / 4)) / 9;
			last = fmax(last, second);
			value = first * ns[0] + (second - first) * ns[1] + (last - second) * ns[2] + (1 - last) * ns[3];
			value *= 1 + 0.08 * (2 * fm_random_uniform(&random) - 1);
			points[count++] = (struct fm_curve_point){bytes, value, value * 0.92, value * 1.08};
		}
		fm_levels_assign(points, count, CACHES, three_caches, levels);
		if (levels[2].shape == FM_SHAPE_HIDDEN)
			continue;
		seen++;
		if (levels[2].shape != FM_SHAPE_CLIMB)
			continue;
		climbs++;
		latency_held += levels[2].ns_low <= ns[2] && ns[2] <= levels[2].ns_high;
		capacity_held += levels[2].plateau.capacity_low <= third && third <= levels[2].plateau.capacity_high;
	}
	print_message(
	    "%s: third cache seen in %u of %u curves, %u of them climbs; intervals hold the latency in %.1f %%, "
	    "the capacity in %.1f %%\n",
	    name, seen, SEEDS, climbs, 100.0 * latency_held / climbs, 100.0 * capacity_held / climbs);
	assert_true(climbs > SEEDS / 10);
	assert_true(latency_held >= 0.95 * climbs);
	assert_true(capacity_held >= 0.95 * climbs);
}

static void intervals_hold_the_truth(void **state)
{
	(void)state;
	check_truth("random eviction", hits_random);
	check_truth("oldest first, pages at random", hits_oldest);
}

static void refines_where_it_bends(void **state)
{
	struct fm_curve_point points[POINTS];
	struct fm_random random;
	double more[POINTS];
	unsigned count, added;

	(void)state;
	fm_random_seed(&random, 1);
	count = draw_curve(&machines[0], &random, 0, 2, points);
	added = fm_levels_refine(points, count, 0.125, more, POINTS);
	assert_true(added >= 3);
	for (unsigned i = 0; i < 3; i++) {
		double nearest = INFINITY;

		for (unsigned j = 0; j < added; j++)
			nearest = fmin(nearest, fabs(log2(more[j] / machines[0].capacity[i])));
		assert_true(nearest < 0.3);
	}
	for (unsigned j = 0; j < added; j++) {
		double nearest = INFINITY;

		for (unsigned i = 0; i < 3; i++)
			nearest = fmin(nearest, fabs(log2(more[j] / machines[0].capacity[i])));
		assert_true(nearest < 0.6);
	}
	assert_int_equal(fm_levels_refine(points, count, 0.5, more, POINTS), 0);
}

static void too_few_points(void **state)
{
	struct fm_curve_point points[3] = {{1e4, 1, 1, 1}, {1e5, 2, 2, 2}, {1e6, 3, 3, 3}};
	struct fm_plateau plateaus[FM_LEVELS_MAX];

	(void)state;
	assert_int_equal(fm_levels_find(points, 3, 4, NULL, plateaus), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(finds_levels),
	    cmocka_unit_test(does_not_invent_levels),
	    cmocka_unit_test(advertised_sizes_hold_the_small_ones),
	    cmocka_unit_test(plateaus_stay_as_they_are),
	    cmocka_unit_test(a_climb_is_a_level),
	    cmocka_unit_test(a_jump_is_not),
	    cmocka_unit_test(merged_caches),
	    cmocka_unit_test(intervals_hold_the_truth),
	    cmocka_unit_test(refines_where_it_bends),
	    cmocka_unit_test(too_few_points),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
