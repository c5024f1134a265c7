/* Miss-ratio curves of streams with closed forms, from exact distances and from samples. */
#include "check.h"

#include <errno.h>
#include <string.h>

#include "reuse/curve.h"
#include "reuse/phases.h"
#include "reuse/stack.h"
#include "reuse/window.h"

enum { CLUSTERS = 50 };

/* Reuse times of references that are spread evenly over so many lines. */
static void add_random(struct fm_times *times, struct fm_random *random, double lines, unsigned each, uint32_t from,
                       uint32_t to)
{
	for (uint32_t cluster = from; cluster < to; cluster++)
		for (unsigned i = 0; i < each; i++) {
			struct fm_reuse reuse = {.time = ceil(log(fm_random_uniform(random)) / log1p(-1 / lines)),
			                         .weight = 1,
			                         .cluster = cluster};

			assert_int_equal(fm_times_add(times, &reuse), 0);
		}
}

static void random_lines(void **state)
{
	const double lines = 65536; /* 4 MiB */
	struct fm_times times = {0};
	struct fm_random random;
	struct fm_miss_curve curve, again;
	unsigned held = 0, points = 0;

	(void)state;
	fm_random_seed(&random, 2);
	add_random(&times, &random, lines, 200, 0, CLUSTERS);
	assert_int_equal(fm_miss_estimate(&times, &(struct fm_miss_options){.random = &random}, &curve, NULL), 0);
	for (unsigned i = 0; i < FM_MISS_POINTS; i++, points++) {
		const struct fm_miss_point *point = &curve.points[i];
		double expected = fmax(1 - fm_miss_bytes(i) / 64 / lines, 0);

		assert_near(point->value, expected, 0.03);
		assert_true(point->low <= point->value && point->value <= point->high);
		assert_true(!i || point->value <= point[-1].value + 1e-12);
		held += point->low <= expected && expected <= point->high;
	}
	assert_true(held >= 0.9 * points);
	assert_int_equal(curve.clusters, CLUSTERS);
	assert_int_equal(curve.phases, 1);
	assert_near(curve.samples, 200 * CLUSTERS, 0);
	assert_int_equal(curve.origin, FM_ORIGIN_sampled);
	/* the same seed, the same interval; a clock that is not known makes it wider where the curve is steep */
	fm_random_seed(&random, 9);
	assert_int_equal(fm_miss_estimate(&times, &(struct fm_miss_options){.random = &random}, &curve, NULL), 0);
	fm_random_seed(&random, 9);
	assert_int_equal(fm_miss_estimate(&times, &(struct fm_miss_options){.random = &random}, &again, NULL), 0);
	assert_memory_equal(&curve.points, &again.points, sizeof(curve.points));
	fm_random_seed(&random, 9);
	assert_int_equal(
	    fm_miss_estimate(&times, &(struct fm_miss_options){.random = &random, .clock_error = 0.2}, &again, NULL),
	    0);
	/* at half the footprint: ± 1.96 · 0.2 along sizes is ± 0.2 in the ratio */
	assert_near(fm_miss_at(&again, 2 << 20).high - fm_miss_at(&again, 2 << 20).low, 0.39, 0.1);
	assert_true(fm_miss_at(&curve, 2 << 20).high - fm_miss_at(&curve, 2 << 20).low < 0.15);
	fm_times_free(&times);
}

static void sweeps(void **state)
{
	const double lines = 16384; /* 1 MiB */
	struct fm_times times = {0};
	struct fm_miss_curve curve;
	struct fm_miss_fit fit;
	struct fm_miss_knee knees[4];

	(void)state;
	for (uint32_t i = 0; i < CLUSTERS; i++)
		assert_int_equal(fm_times_add(&times, &(struct fm_reuse){.time = lines, .weight = 2, .cluster = i}), 0);
	assert_int_equal(fm_miss_estimate(&times, &(struct fm_miss_options){0}, &curve, NULL), 0);
	assert_false(curve.bootstrapped);
	assert_near(fm_miss_at(&curve, 0.9 * (1 << 20)).value, 1, 1e-9);
	assert_near(fm_miss_at(&curve, 1.1 * (1 << 20)).value, 0, 1e-9);
	assert_int_equal(fm_miss_knees(&curve, knees, 4), 1);
	assert_near(knees[0].above, 1, 0.001);
	assert_near(knees[0].below, 0, 0.001);
	assert_in_range((uint64_t)knees[0].to_bytes, 1 << 20, 1.1 * (1 << 20));
	/* 768 KiB hold three quarters */
	fit = fm_miss_fit(&curve, 768 << 10);
	assert_true(fit.found);
	assert_near(fit.shrink, 0.27, 0.03);
	assert_near(fit.now, 1, 1e-9);
	assert_near(fit.then, 0, 0.011);
	assert_false(fm_miss_fit(&curve, 2 << 20).found);
	assert_false(fm_miss_fit(&curve, 64 << 10).found); /* by more than nine tenths */
	fm_times_free(&times);
}

/* A line that another thread wrote to in between misses in a private cache of any size. */
static void written_lines(void **state)
{
	struct fm_times times = {0};
	struct fm_miss_curve shared, private;

	(void)state;
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(fm_times_add(&times, &(struct fm_reuse){.time = i < 50 ? 10 : 1 << 16,
		                                                         .weight = 1,
		                                                         .cluster = i,
		                                                         .written = i % 5 == 0}),
		                 0);
	assert_int_equal(fm_miss_estimate(&times, &(struct fm_miss_options){0}, &shared, &private), 0);
	assert_near(fm_miss_at(&shared, 64 << 10).value, 0.5, 1e-9);
	assert_near(fm_miss_at(&private, 64 << 10).value, 0.6, 1e-9);
	assert_near(fm_miss_at(&shared, 64 << 20).value, 0, 1e-9);
	assert_near(fm_miss_at(&private, 64 << 20).value, 0.2, 1e-9);
	fm_times_free(&times);
}

/* Nobody watched for long enough: whatever is beyond may hit or miss. */
static void unobserved(void **state)
{
	struct fm_times times = {0};
	struct fm_random random;
	struct fm_miss_curve curve;

	(void)state;
	fm_random_seed(&random, 4);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(fm_times_add(&times, &(struct fm_reuse){.time = i % 4 ? 5 : 4096,
		                                                         .censored = i % 4 == 0,
		                                                         .weight = 1,
		                                                         .cluster = i}),
		                 0);
	assert_int_equal(fm_miss_estimate(&times, &(struct fm_miss_options){.random = &random}, &curve, NULL), 0);
	assert_near(curve.largest_bytes, 1024 * 64, 4096);
	assert_near(fm_miss_at(&curve, 32 << 10).low, 0.25, 0.12);
	assert_near(fm_miss_at(&curve, 1 << 20).value, 0.25, 1e-9);
	assert_near(fm_miss_at(&curve, 1 << 20).low, 0, 0);
	assert_near(fm_miss_at(&curve, 1 << 20).high, 0.25, 0.12);
	fm_times_free(&times);
	assert_int_equal(fm_miss_estimate(&times, &(struct fm_miss_options){0}, &curve, NULL), -ENODATA);
}

/* Half the run in 256 KiB, half in 8 MiB: one survival function for both would put the second at 4 MiB. */
static void phases_apart(void **state)
{
	struct fm_times times = {0};
	struct fm_random random;
	struct fm_miss_curve curve;
	uint8_t phases[2 * CLUSTERS];

	(void)state;
	fm_random_seed(&random, 6);
	add_random(&times, &random, 4096, 100, 0, CLUSTERS);
	add_random(&times, &random, 131072, 100, CLUSTERS, 2 * CLUSTERS);
	fm_times_merge(&times);
	assert_int_equal(fm_phases_find(&times, FM_MISS_PHASES_MAX, phases), 2);
	assert_int_equal(phases[0], 0);
	assert_int_equal(phases[CLUSTERS - 1], 0);
	assert_int_equal(phases[CLUSTERS], 1);
	assert_int_equal(phases[2 * CLUSTERS - 1], 1);
	assert_int_equal(fm_miss_estimate(&times, &(struct fm_miss_options){0}, &curve, NULL), 0);
	assert_int_equal(curve.phases, 2);
	assert_near(fm_miss_at(&curve, 512 << 10).value, 0.5 * (1 - 1.0 / 16), 0.01);
	assert_near(fm_miss_at(&curve, 4 << 20).value, 0.25, 0.02);
	assert_near(fm_miss_at(&curve, 6 << 20).value, 0.125, 0.02);
	fm_times_free(&times);
	/* numbers without samples make no phase */
	for (uint32_t i = 0; i < 2 * CLUSTERS; i += 2)
		add_random(&times, &random, 4096, 100, i, i + 1);
	fm_times_merge(&times);
	assert_int_equal(fm_phases_find(&times, FM_MISS_PHASES_MAX, phases), 1);
	fm_times_free(&times);
	/* A and B in turns are two phases */
	for (uint32_t i = 0; i < 2 * CLUSTERS; i += 20)
		add_random(&times, &random, i / 20 % 2 ? 4096 : 131072, 100, i, i + 20);
	fm_times_merge(&times);
	assert_int_equal(fm_phases_find(&times, FM_MISS_PHASES_MAX, phases), 2);
	assert_int_equal(phases[0], phases[45]);
	assert_int_equal(phases[25], phases[65]);
	fm_times_free(&times);
}

/* Windows with watched lines, as the tool takes them, against the exact curve. */
static void windows_and_watches(void **state)
{
	enum { SIZE = 2000, GAP = 10000, WINDOWS = 400 };
	const uint64_t small = 2000, large = 40000;
	uint64_t *lines = malloc(sizeof(*lines) * GAP * WINDOWS);
	struct fm_random random;
	struct fm_stack stack;
	static struct fm_distances distances, distances_part;
	struct fm_times times = {0}, part = {0};
	struct fm_window window = {0};
	struct fm_miss_curve exact, found;
	uint8_t member[SIZE];
	double error = 0;
	unsigned held = 0;

	(void)state;
	fm_random_seed(&random, 12);
	for (size_t i = 0; i < GAP * WINDOWS; i++)
		lines[i] = fm_random_below(&random, 4) ? fm_random_below(&random, small)
		                                       : small + fm_random_below(&random, large);
	assert_int_equal(fm_stack_create(&stack, &(struct fm_stack_options){0}), 0);
	for (size_t i = 0; i < GAP * WINDOWS; i++) {
		assert_int_equal(fm_stack_touch(&stack, lines[i]), 0);
		if (lines[i] >= small)
			fm_distances_count(&distances_part, stack.distance, 1);
	}
	fm_stack_result(&stack, &distances);
	fm_stack_free(&stack);
	assert_int_equal(fm_miss_exact(&distances, 64, &exact), 0);
	assert_int_equal(exact.origin, FM_ORIGIN_counted);
	for (uint32_t i = 0; i < WINDOWS; i++) {
		size_t begin = (size_t)i * GAP + fm_random_below(&random, GAP - SIZE), end = begin + SIZE;
		struct fm_window_choice choices[4];
		unsigned count;

		assert_int_equal(fm_window_add(&window, lines + begin, NULL, SIZE, fm_window_horizon(SIZE), i, &times),
		                 0);
		for (unsigned k = 0; k < SIZE; k++)
			member[k] = lines[begin + k] >= small;
		assert_int_equal(fm_window_add_part(&window, member, NULL, i, &part), 0);
		count = fm_window_choose(&window, &random, 4, choices);
		assert_int_equal(count, 4);
		for (unsigned k = 0; k < count; k++) {
			size_t next = end, position = begin + choices[k].position;
			struct fm_reuse reuse;

			while (next < GAP * WINDOWS && lines[next] != lines[position])
				next++;
			reuse = (struct fm_reuse){.time = next == GAP * WINDOWS ? INFINITY : (double)(next - position),
			                          .entered = choices[k].age,
			                          .distance = choices[k].distance,
			                          .weight = choices[k].weight,
			                          .cluster = i,
			                          .censored = next == GAP * WINDOWS};
			assert_int_equal(fm_times_add(&times, &reuse), 0);
			if (member[choices[k].position])
				assert_int_equal(fm_times_add(&part, &reuse), 0);
		}
	}
	assert_int_equal(fm_miss_estimate(&times, &(struct fm_miss_options){.random = &random}, &found, NULL), 0);
	for (unsigned i = 0; i < FM_MISS_POINTS; i++) {
		error += fabs(found.points[i].value - exact.points[i].value) / FM_MISS_POINTS;
		held += found.points[i].low <= exact.points[i].value && exact.points[i].value <= found.points[i].high;
	}
	assert_true(error < 0.02);
	assert_true(held > 0.9 * FM_MISS_POINTS);
	assert_int_equal(
	    fm_miss_estimate_part(&times, &part, &(struct fm_miss_options){.random = &random}, &found, NULL), 0);
	assert_int_equal(fm_miss_exact(&distances_part, 64, &exact), 0);
	error = held = 0;
	for (unsigned i = 0; i < FM_MISS_POINTS; i++) {
		error += fabs(found.points[i].value - exact.points[i].value) / FM_MISS_POINTS;
		held += found.points[i].low <= exact.points[i].value && exact.points[i].value <= found.points[i].high;
	}
	assert_true(error < 0.02);
	assert_true(held > 0.9 * FM_MISS_POINTS);
	fm_times_free(&part);
	fm_window_free(&window);
	fm_times_free(&times);
	free(lines);
}

/* Thousands of clusters: neighbours become one, and nothing is lost. */
static void many_clusters(void **state)
{
	struct fm_times times = {0};
	struct fm_random random;
	struct fm_miss_curve curve;

	(void)state;
	fm_random_seed(&random, 8);
	add_random(&times, &random, 65536, 2, 0, 3 * FM_CLUSTERS_MAX);
	assert_int_equal(times.halved, 2);
	assert_int_equal(times.clusters, 3 * FM_CLUSTERS_MAX / 4);
	assert_int_equal(fm_miss_estimate(&times, &(struct fm_miss_options){0}, &curve, NULL), 0);
	assert_near(curve.samples, 6 * FM_CLUSTERS_MAX, 0);
	assert_near(fm_miss_at(&curve, 2 << 20).value, 0.5, 0.02);
	fm_times_free(&times);
}

static void exact_windows(void **state)
{
	struct fm_distances *windows = calloc(20, sizeof(*windows));
	struct fm_random random;
	struct fm_miss_curve curve;

	(void)state;
	fm_random_seed(&random, 1);
	assert_int_equal(fm_miss_exact(windows, 64, &curve), -ENODATA);
	for (unsigned i = 0; i < 20; i++) {
		windows[i].references = 100;
		windows[i].cold = i;
		windows[i].bins[0] = 100 - i;
	}
	assert_int_equal(fm_miss_windows(windows, 20, 64, &random, &curve), 0);
	assert_true(curve.bootstrapped);
	assert_near(curve.points[50].value, 0.095, 1e-9);
	/* 1.96 standard errors of the mean of 0 … 19 are 2.5 */
	assert_near(curve.points[50].low, 0.068, 0.008);
	assert_near(curve.points[50].high, 0.122, 0.008);
	free(windows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(random_lines),  cmocka_unit_test(sweeps),        cmocka_unit_test(written_lines),
	    cmocka_unit_test(unobserved),    cmocka_unit_test(phases_apart),  cmocka_unit_test(windows_and_watches),
	    cmocka_unit_test(many_clusters), cmocka_unit_test(exact_windows),
	};

	return cmocka_run_group_tests_name("curve", tests, NULL, NULL);
}
