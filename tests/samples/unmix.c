/* Shares of levels from costs whose truth is known: bias, coverage of the intervals, and little or odd data. */
#include "check.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/random.h"
#include "samples/unmix.h"

enum { LEVELS = 4 };

/* Costs as probes show them: a level's own, some lines that the sampler itself pushed out to the next level, and now
   and then an interrupt. */
static const double centre[LEVELS] = {2, 14, 60, 240}, width[LEVELS] = {3, 5, 14, 50};

static int32_t draw_cost(struct fm_random *random, unsigned level, int32_t step)
{
	double value;

	if (level + 1 < LEVELS && fm_random_uniform(random) < 0.2)
		level++;
	value = centre[level] + width[level] * fm_random_normal(random);
	if (fm_random_uniform(random) < 0.02)
		value += 1500 * fm_random_uniform(random);
	return (int32_t)floor(value / step) * step;
}

static struct fm_unmix *calibrate(struct fm_random *random, unsigned each, int32_t step)
{
	struct fm_unmix_cost *costs = calloc(LEVELS * each, sizeof(*costs));
	struct fm_unmix *unmix = NULL;

	for (unsigned i = 0; i < LEVELS * each; i++)
		costs[i] = (struct fm_unmix_cost){
		    .class = i % LEVELS, .ticks = draw_cost(random, i % LEVELS, step), .weight = 1};
	assert_int_equal(fm_unmix_create(costs, LEVELS * each, LEVELS, FM_UNMIX_JOIN, &unmix), 0);
	free(costs);
	return unmix;
}

static void observe(const struct fm_unmix *unmix, struct fm_random *random, const double *truth, unsigned count,
                    int32_t step, struct fm_histogram *histogram)
{
	*histogram = (struct fm_histogram){0};
	for (unsigned i = 0; i < count; i++) {
		double at = fm_random_uniform(random);
		unsigned level = 0;

		while (level + 1 < LEVELS && at > truth[level])
			at -= truth[level++];
		fm_histogram_add(histogram, fm_unmix_bin(unmix, draw_cost(random, level, step)), 0.001);
	}
}

static void random_truth(struct fm_random *random, double *truth)
{
	double sum = 0;

	for (unsigned i = 0; i < LEVELS; i++)
		sum += truth[i] = fm_random_below(random, 3) ? -log(fm_random_uniform(random)) : 0;
	for (unsigned i = 0; i < LEVELS; i++)
		truth[i] = sum > 0 ? truth[i] / sum : !i;
}

/* 500 cases with truths and sizes of their own, and a calibration of their own. */
static void check_coverage(int32_t step)
{
	double bias[LEVELS] = {0}, error = 0;
	unsigned covered[LEVELS] = {0}, told[LEVELS] = {0}, cases = 0;
	struct fm_random random;

	fm_random_seed(&random, 20 + (uint64_t)step);
	for (; cases < 500; cases++) {
		struct fm_unmix *unmix = calibrate(&random, 150 + (unsigned)fm_random_below(&random, 400), step);
		struct fm_histogram histogram;
		struct fm_mixture mixture;
		double truth[LEVELS];

		random_truth(&random, truth);
		observe(unmix, &random, truth, 30u << fm_random_below(&random, 7), step, &histogram);
		assert_int_equal(fm_unmix_solve(unmix, &histogram, &mixture), 0);
		for (unsigned i = 0; i < LEVELS; i++) {
			unsigned group = unmix->group_of[i];
			double sum = 0;

			for (unsigned k = 0; k < LEVELS; k++)
				sum += unmix->group_of[k] == group ? truth[k] : 0;
			told[i]++;
			covered[i] += sum >= mixture.low[group] - 1e-9 && sum <= mixture.high[group] + 1e-9;
			bias[i] += mixture.value[group] - sum;
			error += fabs(mixture.value[group] - sum);
		}
		fm_unmix_free(unmix);
	}
	for (unsigned i = 0; i < LEVELS; i++) {
		print_message("step %d, level %u: bias %+.4f, coverage %.3f\n", step, i + 1, bias[i] / cases,
		              (double)covered[i] / told[i]);
		assert_near(bias[i] / cases, 0, 0.02);
		assert_true((double)covered[i] / told[i] >= 0.90);
	}
	print_message("mean error %.4f\n", error / cases / LEVELS);
}

static void intervals_cover_with_a_fine_clock(void **state)
{
	(void)state;
	check_coverage(1);
}

static void intervals_cover_with_a_coarse_clock(void **state)
{
	(void)state;
	check_coverage(10);
}

/* A clock too coarse for the first two levels: they are told together. */
static void what_cannot_be_told_apart_is_joint(void **state)
{
	struct fm_random random;
	struct fm_unmix *unmix;
	struct fm_histogram histogram;
	struct fm_mixture mixture;
	const double truth[LEVELS] = {0.3, 0.3, 0.1, 0.3};

	(void)state;
	fm_random_seed(&random, 3);
	unmix = calibrate(&random, 400, 45);
	assert_int_equal(unmix->group_of[0], unmix->group_of[1]);
	assert_int_not_equal(unmix->group_of[2], unmix->group_of[3]);
	observe(unmix, &random, truth, 4000, 45, &histogram);
	assert_int_equal(fm_unmix_solve(unmix, &histogram, &mixture), 0);
	assert_near(mixture.value[0], 0.6, 0.05);
	assert_near(mixture.value[unmix->group_of[3]], 0.3, 0.04);
	fm_unmix_free(unmix);
}

static void costs_beyond_all_levels_are_other(void **state)
{
	struct fm_random random;
	struct fm_unmix *unmix;
	struct fm_histogram histogram = {0};
	struct fm_mixture mixture;

	(void)state;
	fm_random_seed(&random, 4);
	unmix = calibrate(&random, 300, 1);
	for (unsigned i = 0; i < 1000; i++)
		fm_histogram_add(&histogram, fm_unmix_bin(unmix, i % 4 ? draw_cost(&random, 2, 1) : 20000), 1);
	assert_int_equal(fm_unmix_solve(unmix, &histogram, &mixture), 0);
	assert_near(mixture.value[unmix->groups], 0.25, 0.03);
	assert_near(mixture.value[2], 0.75, 0.05);
	assert_int_equal(fm_unmix_likely(unmix, &mixture, fm_unmix_bin(unmix, 20000)), (int)unmix->groups);
	assert_int_equal(fm_unmix_likely(unmix, &mixture, fm_unmix_bin(unmix, 60)), 2);
	fm_unmix_free(unmix);
}

/* Ten samples that stand for a hundred each say as much as ten. */
static void unequal_weights_count_for_less(void **state)
{
	struct fm_random random;
	struct fm_unmix *unmix;
	struct fm_histogram even = {0}, uneven = {0};
	struct fm_mixture first, second;

	(void)state;
	fm_random_seed(&random, 5);
	unmix = calibrate(&random, 300, 1);
	for (unsigned i = 0; i < 1010; i++) {
		unsigned bin = fm_unmix_bin(unmix, draw_cost(&random, i % 2 ? 3 : 0, 1));

		fm_histogram_add(&even, bin, 1);
		fm_histogram_add(&uneven, bin, i < 10 ? 100 : 0.001);
	}
	assert_near(fm_effective_count(even.total, even.squares), 1010, 1e-6);
	assert_near(fm_effective_count(uneven.total, uneven.squares), 10, 0.1);
	fm_unmix_solve(unmix, &even, &first);
	fm_unmix_solve(unmix, &uneven, &second);
	assert_true(second.high[3] - second.low[3] > 4 * (first.high[3] - first.low[3]));
	fm_unmix_free(unmix);
}

static void little_data(void **state)
{
	const double truth[LEVELS] = {0, 0, 0, 1};
	struct fm_unmix_cost *costs = calloc(400, sizeof(*costs));
	struct fm_unmix *unmix = NULL;
	struct fm_histogram histogram = {0};
	struct fm_mixture mixture, again;
	struct fm_random random;

	(void)state;
	/* no calibration, too little of it */
	assert_int_equal(fm_unmix_create(costs, 0, LEVELS, FM_UNMIX_JOIN, &unmix), -ENODATA);
	for (unsigned i = 0; i < 19; i++)
		costs[i] = (struct fm_unmix_cost){.class = 1, .ticks = 5, .weight = 1};
	assert_int_equal(fm_unmix_create(costs, 19, LEVELS, FM_UNMIX_JOIN, &unmix), -ENODATA);
	costs[0].weight = NAN;
	costs[1].class = 99;
	assert_int_equal(fm_unmix_create(costs, 2, LEVELS, FM_UNMIX_JOIN, &unmix), -ENODATA);
	/* one level, all costs equal */
	for (unsigned i = 0; i < 400; i++)
		costs[i] = (struct fm_unmix_cost){.class = 0, .ticks = 5, .weight = 1};
	assert_int_equal(fm_unmix_create(costs, 400, 1, FM_UNMIX_JOIN, &unmix), 0);
	assert_int_equal(fm_unmix_solve(unmix, &histogram, &mixture), -ENODATA);
	fm_histogram_add(&histogram, fm_unmix_bin(unmix, 5), 1);
	assert_int_equal(fm_unmix_solve(unmix, &histogram, &mixture), 0);
	assert_near(mixture.value[0], 1, 0.01);
	fm_unmix_free(unmix);
	/* all equal in all levels: nothing can be told apart */
	for (unsigned i = 0; i < 400; i++)
		costs[i].class = i % LEVELS;
	assert_int_equal(fm_unmix_create(costs, 400, LEVELS, FM_UNMIX_JOIN, &unmix), 0);
	assert_int_equal(unmix->groups, 1);
	fm_unmix_free(unmix);
	/* a level that the calibration lacks joins the next */
	for (unsigned i = 0; i < 400; i++)
		costs[i] = (struct fm_unmix_cost){.class = i % 2 ? 3 : 0, .ticks = i % 2 ? 200 : 2, .weight = 1};
	assert_int_equal(fm_unmix_create(costs, 400, LEVELS, FM_UNMIX_JOIN, &unmix), 0);
	assert_int_equal(unmix->groups, 2);
	assert_int_equal(unmix->group_of[1], 1);
	assert_int_equal(unmix->group_of[2], 1);
	fm_unmix_free(unmix);
	/* three samples: wide, and the same again */
	fm_random_seed(&random, 6);
	unmix = calibrate(&random, 300, 1);
	observe(unmix, &random, truth, 3, 1, &histogram);
	assert_int_equal(fm_unmix_solve(unmix, &histogram, &mixture), 0);
	assert_int_equal(fm_unmix_solve(unmix, &histogram, &again), 0);
	assert_memory_equal(mixture.low, again.low, sizeof(double) * (unmix->groups + 1));
	assert_true(mixture.high[3] - mixture.low[3] > 0.3);
	fm_unmix_free(unmix);
	free(costs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(intervals_cover_with_a_fine_clock),  cmocka_unit_test(intervals_cover_with_a_coarse_clock),
	    cmocka_unit_test(what_cannot_be_told_apart_is_joint), cmocka_unit_test(costs_beyond_all_levels_are_other),
	    cmocka_unit_test(unequal_weights_count_for_less),     cmocka_unit_test(little_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
