/* Where pairs of runs go when times vary, and how often the answer holds the truth. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "squeeze/hit_share.h"
#include "squeeze/pairs.h"

enum { SEEDS = 200, COLOURS = 32, REPEATS = 24 };
#define NOTICEABLE 0.05

static const double ladder[] = {2, 3, 4, 6, 8, 12, 16, 24, 32};
enum { LADDER = sizeof(ladder) / sizeof(*ladder) };

struct noise {
	double spread;      /* of a run, relative */
	double often, much; /* some runs are longer by up to so much */
	double phase;       /* the machine is slower for a while: both of a pair alike */
};

static double run_time(double time, const struct noise *noise, struct fm_random *random)
{
	time *= 1 + noise->spread * fm_random_normal(random);
	if (fm_random_uniform(random) < noise->often)
		time *= 1 + noise->much * fm_random_uniform(random);
	return time;
}

/* Random access over so many colours: what does not fit misses, and costs so much in all. */
static double slowdown(double need, double cost, double amount)
{
	return amount >= need ? 1 : 1 + cost * (1 - amount / need);
}

struct outcome {
	struct fm_design_knee knee;
	unsigned pairs;
};

static struct outcome sweep(double need, double cost, const struct noise *noise, uint64_t seed)
{
	struct fm_design design = {.least = ladder[0],
	                           .full = COLOURS,
	                           .noticeable = NOTICEABLE,
	                           .precision = 1.2,
	                           .repeats = REPEATS,
	                           .amount_count = LADDER};
	struct fm_pairs *pairs = calloc(1, sizeof(*pairs));
	struct outcome outcome = {0};
	struct fm_random random;
	double amount, phase = 1;

	assert_non_null(pairs);
	memcpy(design.amounts, ladder, sizeof(ladder));
	fm_random_seed(&random, seed);
	fm_design_add(&design, COLOURS, 1);
	while (fm_design_next(&design, true, &amount) && outcome.pairs < 200) {
		if (fm_random_uniform(&random) < 0.1)
			phase = 1 + noise->phase * fm_random_uniform(&random);
		assert_true(fm_pairs_add(pairs, amount,
		                         run_time(phase * slowdown(need, cost, amount), noise, &random) /
		                             run_time(phase, noise, &random)));
		fm_pairs_fill(pairs, COLOURS, 1, &design);
		outcome.pairs++;
	}
	assert_true(fm_design_knee(&design, &outcome.knee));
	free(pairs);
	return outcome;
}

/* The need that is noticed: where the program is slower by just that. */
static double noticed(double need, double cost)
{
	return cost > NOTICEABLE ? need * (1 - NOTICEABLE / cost) : 0;
}

static void the_truth_is_inside(void **state)
{
	static const struct noise kinds[] = {{0.005, 0, 0, 0.3}, {0.02, 0, 0, 0.5}, {0.01, 0.05, 0.5, 0.5}};

	(void)state;
	for (unsigned k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
		unsigned inside = 0, narrow = 0;
		unsigned long pairs = 0;

		for (unsigned seed = 1; seed <= SEEDS; seed++) {
			struct fm_random random;
			double need, cost, truth;
			struct outcome outcome;

			fm_random_seed(&random, 1000 + seed);
			need = 2.5 * pow(30 / 2.5, fm_random_uniform(&random));
			cost = 0.5 + 1.5 * fm_random_uniform(&random);
			truth = noticed(need, cost);
			outcome = sweep(need, cost, &kinds[k], seed);
			inside += outcome.knee.low <= truth && truth <= outcome.knee.high;
			narrow += outcome.knee.low > 0 && outcome.knee.high / outcome.knee.low <= 2;
			pairs += outcome.pairs;
		}
		print_message("noise %u: the truth is inside in %u of %d, high/low is at most 2 in %u, %.1f pairs\n", k,
		              inside, SEEDS, narrow, (double)pairs / SEEDS);
		assert_true(inside >= SEEDS * 95 / 100);
		/* not by saying nothing */
		assert_true(narrow >= SEEDS * 90 / 100);
	}
}

/* A program that needs little of the cache is not said to need more. */
static void insensitive_stays_insensitive(void **state)
{
	const struct noise noise = {0.02, 0.02, 0.3, 0.5};
	unsigned wrong = 0;

	(void)state;
	for (unsigned seed = 1; seed <= SEEDS; seed++)
		wrong += sweep(1, 1, &noise, seed).knee.sensitive;
	print_message("insensitive: wrong in %u of %d\n", wrong, SEEDS);
	assert_true(wrong <= SEEDS * 5 / 100);
}

/* Runs go where the answer is uncertain: fewer than everything with the same number of repetitions takes. */
static void fewer_than_a_full_sweep(void **state)
{
	const struct noise noise = {0.01, 0, 0, 0.3};
	unsigned long pairs = 0;

	(void)state;
	for (unsigned seed = 1; seed <= SEEDS; seed++)
		pairs += sweep(12.8, 1.5, &noise, seed).pairs;
	print_message("%.1f pairs; a full sweep with 4 pairs each has %d\n", (double)pairs / SEEDS, 4 * (LADDER - 1));
	assert_true((double)pairs / SEEDS < 0.75 * 4 * (LADDER - 1));
}

/* A difference that is just noticeable stays undecided, and that is said by a wider interval. */
static void undecided_widens(void **state)
{
	const struct noise noise = {0.03, 0, 0, 0};
	unsigned inside = 0;

	(void)state;
	for (unsigned seed = 1; seed <= SEEDS; seed++) {
		/* at 12 colours slower by exactly 5 % */
		struct outcome outcome = sweep(12 / (1 - NOTICEABLE), 1, &noise, seed);

		inside += outcome.knee.low <= 12 && outcome.knee.high >= 12;
	}
	assert_true(inside >= SEEDS * 95 / 100);
}

static void the_model_of_hit_shares(void **state)
{
	struct fm_hit_share model = {.full_bytes = 1048576,
	                             .near_ns = fm_figure_make(4, 3.9, 4.1, "ns", FM_ORIGIN_measured, "", 3),
	                             .beyond_ns = fm_figure_make(14, 13, 15, "ns", FM_ORIGIN_measured, "", 3)};

	(void)state;
	/* 0.8 of the cache at random: half of it holds 5/8 */
	for (unsigned i = 2; i <= 4; i++) {
		double half = (0.625 * 4 + 0.375 * 14) / 4, share = pow(0.5, i),
		       truth = (share / 0.8 * 4 + (1 - share / 0.8) * 14) / 4;
		struct fm_figure figure;

		model.half = fm_figure_make(half, 0.97 * half, 1.03 * half, "times", FM_ORIGIN_measured, "", 4);
		figure = fm_hit_share_predict(&model, 1048576 * share);
		assert_true(figure.available);
		assert_true(fabs(figure.value / truth - 1) < 0.01);
		assert_true(figure.low <= truth && truth <= figure.high);
	}
	model.half = fm_figure_make(1.01, 0.98, 1.04, "times", FM_ORIGIN_measured, "", 4);
	assert_false(fm_hit_share_predict(&model, 262144).available);
	model.near_ns = fm_figure_unavailable("no profile");
	assert_false(fm_hit_share_predict(&model, 262144).available);
}

/* Dependent accesses to so much memory at random, of whose time a part has nothing to do with this cache. */
static void the_model_with_a_curve(void **state)
{
	const double full = 1048576, near = 4, beyond = 14, elsewhere = 6;
	static const double needs[] = {0.2, 0.4, 0.8};

	(void)state;
	for (unsigned i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
		const double half_misses = fmax(1 - 0.5 / needs[i], 0), whole = elsewhere + near,
		             half = (elsewhere + near + half_misses * (beyond - near)) / whole;
		struct fm_miss_curve *curve = calloc(1, sizeof(*curve));
		struct fm_hit_share model = {
		    .full_bytes = full,
		    .near_ns = fm_figure_make(near, 3.9, 4.1, "ns", FM_ORIGIN_measured, "", 3),
		    .beyond_ns = fm_figure_make(beyond, 13, 15, "ns", FM_ORIGIN_measured, "", 3),
		    .half = fm_figure_make(half, 0.97 * half, 1.03 * half, "times", FM_ORIGIN_measured, "", 4),
		    .curve = curve,
		    .references_per_ns = 1 / whole};

		assert_non_null(curve);
		for (unsigned k = 0; k < FM_MISS_POINTS; k++) {
			double misses = fmax(1 - fm_miss_bytes(k) / (needs[i] * full), 0);

			curve->points[k] = (struct fm_miss_point){misses, 0.97 * misses, fmin(1.03 * misses, 1)};
		}
		for (double share = 0.5; share > 0.1; share /= 2) {
			double truth = (elsewhere + near + fmax(1 - share / needs[i], 0) * (beyond - near)) / whole;
			struct fm_figure figure = fm_hit_share_predict(&model, full * share);

			assert_true(figure.available);
			assert_true(fabs(figure.value / truth - 1) < 0.01);
			assert_true(figure.low <= truth && truth <= figure.high);
		}
		free(curve);
	}
}

static void nonsense_is_no_ratio(void **state)
{
	struct fm_pairs *pairs = calloc(1, sizeof(*pairs));
	struct fm_location ratio;

	(void)state;
	assert_non_null(pairs);
	assert_false(fm_pairs_add(pairs, 4, 0));
	assert_false(fm_pairs_add(pairs, 4, NAN));
	assert_false(fm_pairs_add(pairs, 0, 1));
	assert_false(fm_pairs_ratio(pairs, 4, &ratio));
	assert_true(fm_pairs_add(pairs, 4, 2));
	assert_true(fm_pairs_ratio(pairs, 4, &ratio));
	assert_true(ratio.low == 0 && isinf(ratio.high));
	for (unsigned i = 1; i < FM_PAIRS_MOST; i++)
		assert_true(fm_pairs_add(pairs, 4, 2));
	assert_false(fm_pairs_add(pairs, 4, 2));
	assert_true(fm_pairs_ratio(pairs, 4, &ratio));
	assert_true(ratio.low > 1.99 && ratio.high < 2.01);
	free(pairs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_truth_is_inside),     cmocka_unit_test(insensitive_stays_insensitive),
	    cmocka_unit_test(fewer_than_a_full_sweep), cmocka_unit_test(undecided_widens),
	    cmocka_unit_test(the_model_of_hit_shares), cmocka_unit_test(the_model_with_a_curve),
	    cmocka_unit_test(nonsense_is_no_ratio),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
