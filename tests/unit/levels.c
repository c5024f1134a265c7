/* Finding levels in invented curves. */
#include "unit/check.h"

#include <math.h>

#include "base/random.h"
#include "machine/levels.h"

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
				assert_near(log2(plateaus[i].ns), log2(machine->ns[i]), 0.35);
				if (i + 1 == found)
					continue;
				assert_near(log2(plateaus[i].capacity), log2(machine->capacity[i]), 0.35);
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
	    cmocka_unit_test(refines_where_it_bends),
	    cmocka_unit_test(too_few_points),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
