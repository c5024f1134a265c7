/* Coverage of the intervals on synthetic data whose answer is known. */
#include "check.h"

#include <math.h>
#include <stdio.h>

#include "base/random.h"
#include "base/statistics.h"

enum { TRIALS = 2000 };
static const double answer = 100;

static double normal(struct fm_random *random)
{
	return sqrt(-2 * log(fm_random_uniform(random))) * cos(2 * M_PI * fm_random_uniform(random));
}

static double exponential(struct fm_random *random)
{
	return -log(fm_random_uniform(random));
}

/* A clean trial is normal around the answer with a deviation of 1; `share` of them are disturbed. */
struct scenario {
	const char *name;
	double share;
	double size;
	double (*disturb)(struct fm_random *random, double size);
	double least_coverage[3]; /* for 10, 20, 50 values */
};

static double exponential_tail(struct fm_random *random, double size)
{
	return size * exponential(random);
}

static double second_clock(struct fm_random *random, double size)
{
	(void)random;
	return size;
}

static double outlier(struct fm_random *random, double size)
{
	return size * (1 + 5 * fm_random_uniform(random));
}

#define COVERS                   \
	{                        \
		0.94, 0.94, 0.94 \
	}
static const struct scenario scenarios[] = {
    {"clean normal", 0, 0, outlier, COVERS},
    {"exponential tail, 10 %, short", 0.1, 3, exponential_tail, COVERS},
    {"exponential tail, 10 %, long", 0.1, 10, exponential_tail, COVERS},
    {"exponential tail, 30 %, short", 0.3, 3, exponential_tail, COVERS},
    {"exponential tail, 30 %, long", 0.3, 10, exponential_tail, COVERS},
    {"exponential tail, 50 %", 0.5, 5, exponential_tail, COVERS},
    {"two clocks, 10 % slow", 0.1, 10, second_clock, COVERS},
    {"two clocks, 30 % slow, near", 0.3, 6, second_clock, COVERS},
    {"two clocks, 30 % slow, far", 0.3, 20, second_clock, COVERS},
    {"contamination, 10 %", 0.1, 5, outlier, COVERS},
    {"contamination, 10 %, far", 0.1, 20, outlier, COVERS},
};

static void draw(const struct scenario *scenario, struct fm_random *random, double *values, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		values[i] = answer + normal(random);
		if (fm_random_uniform(random) < scenario->share)
			values[i] += scenario->disturb(random, scenario->size);
	}
}

static void intervals_cover(void **state)
{
	static const unsigned counts[] = {10, 20, 50};

	(void)state;
	for (size_t s = 0; s < sizeof(scenarios) / sizeof(scenarios[0]); s++)
		for (unsigned c = 0; c < 3; c++) {
			struct fm_random random;
			unsigned hits = 0;
			double coverage;

			fm_random_seed(&random, 1000 * s + c);
			for (unsigned t = 0; t < TRIALS; t++) {
				double values[50];
				struct fm_location location;

				draw(&scenarios[s], &random, values, counts[c]);
				assert_int_equal(fm_statistics_location(values, counts[c], &location), 0);
				assert_true(location.low <= location.value && location.value <= location.high);
				hits += location.low <= answer && answer <= location.high;
			}
			coverage = (double)hits / TRIALS;
			print_message("%-32s n=%-3u coverage %.3f\n", scenarios[s].name, counts[c], coverage);
			if (coverage < scenarios[s].least_coverage[c])
				fail_msg("%s, n=%u: the interval covers %.3f", scenarios[s].name, counts[c], coverage);
		}
}

/* No undisturbed trial at all: every one is late by an exponential delay. The answer is the edge of the data. From 20
   values on the interval still covers; with 10 the shape cannot be seen often enough within the width allowed, and the
   test holds the figure that docs/decisions/location.md states. */
static void only_delays(void **state)
{
	static const struct {
		unsigned count;
		double least;
	} cases[] = {{10, 0.87}, {20, 0.94}, {50, 0.94}};

	(void)state;
	for (unsigned c = 0; c < 3; c++) {
		struct fm_random random;
		unsigned hits = 0;

		fm_random_seed(&random, 77 + c);
		for (unsigned t = 0; t < TRIALS; t++) {
			double values[50];
			struct fm_location location;

			for (unsigned i = 0; i < cases[c].count; i++)
				values[i] = answer + 5 * exponential(&random);
			assert_int_equal(fm_statistics_location(values, cases[c].count, &location), 0);
			hits += location.low <= answer && answer <= location.high;
		}
		print_message("%-32s n=%-3u coverage %.3f\n", "exponential delays only", cases[c].count,
		              (double)hits / TRIALS);
		assert_true((double)hits / TRIALS >= cases[c].least);
	}
}

static void not_wider_than_needed(void **state)
{
	static const unsigned counts[] = {10, 20, 50};

	(void)state;
	for (unsigned c = 0; c < 3; c++) {
		struct fm_random random;
		double width = 0, student = 0;

		fm_random_seed(&random, 5 + c);
		for (unsigned t = 0; t < TRIALS; t++) {
			double values[50], mean = 0, squares = 0;
			struct fm_location location;

			draw(&scenarios[0], &random, values, counts[c]);
			for (unsigned i = 0; i < counts[c]; i++)
				mean += values[i] / counts[c];
			for (unsigned i = 0; i < counts[c]; i++)
				squares += (values[i] - mean) * (values[i] - mean);
			student +=
			    2 * fm_statistics_student(counts[c] - 1) * sqrt(squares / (counts[c] - 1) / counts[c]);
			assert_int_equal(fm_statistics_location(values, counts[c], &location), 0);
			width += location.high - location.low;
		}
		print_message("clean normal data, n=%-3u width %.2f of the t-interval\n", counts[c], width / student);
		assert_true(width <= 1.6 * student);
	}
}

/* The interval scales and shifts with the data. */
static void equivariant(void **state)
{
	const double values[] = {3.1, 2.9, 3.0, 3.2, 2.8, 3.05, 9.0, 3.15, 2.95, 3.3};
	double other[10];
	struct fm_location first, second;

	(void)state;
	for (unsigned i = 0; i < 10; i++)
		other[i] = 4 * values[i] + 7;
	assert_int_equal(fm_statistics_location(values, 10, &first), 0);
	assert_int_equal(fm_statistics_location(other, 10, &second), 0);
	assert_near(second.value, 4 * first.value + 7, 1e-9);
	assert_near(second.low, 4 * first.low + 7, 1e-9);
	assert_near(second.high, 4 * first.high + 7, 1e-9);
	assert_int_equal(first.kept, 9);
}

static void degenerate(void **state)
{
	const double same[] = {2, 2, 2, 2, 2, 2};
	const double bad[] = {1, 2, NAN, 4};
	struct fm_location location;

	(void)state;
	assert_int_equal(fm_statistics_location(same, 6, &location), 0);
	assert_near(location.value, 2, 0);
	assert_near(location.low, 2, 0);
	assert_near(location.high, 2, 0);
	assert_true(fm_statistics_location(same, 2, &location) < 0);
	assert_true(fm_statistics_location(bad, 4, &location) < 0);
	assert_true(fm_statistics_median(NULL, 0, &location) < 0);
}

static void median_covers(void **state)
{
	struct fm_random random;
	unsigned hits = 0;

	(void)state;
	fm_random_seed(&random, 9);
	for (unsigned t = 0; t < TRIALS; t++) {
		double values[15];
		struct fm_location location;

		for (unsigned i = 0; i < 15; i++)
			values[i] = exponential(&random);
		assert_int_equal(fm_statistics_median(values, 15, &location), 0);
		hits += location.low <= log(2) && log(2) <= location.high;
	}
	assert_true(hits >= 0.95 * TRIALS);
}

static void student_quantiles(void **state)
{
	(void)state;
	assert_near(fm_statistics_student(1), 12.706, 0.001);
	assert_near(fm_statistics_student(6), 2.447, 0.002);
	assert_near(fm_statistics_student(9), 2.262, 0.001);
	assert_near(fm_statistics_student(49), 2.010, 0.001);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(intervals_cover),   cmocka_unit_test(only_delays), cmocka_unit_test(not_wider_than_needed),
	    cmocka_unit_test(equivariant),       cmocka_unit_test(degenerate),  cmocka_unit_test(median_covers),
	    cmocka_unit_test(student_quantiles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
