/* From trials to a statement, with trials of known truth: what takers take, that they take nothing, that it cannot be
   told, that they take the other resource too. 200 seeds each; a wrong statement is one that contradicts the truth, and
   "inconclusive" contradicts nothing. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "interference/judge.h"
#include "interference/probe.h"
#include "kernels/layout.h"
#include "check.h"

enum { SEEDS = 200, BLOCKS = 60, STEPS = 5, GROUPS = 12 };
#define CACHE (20.0 * (1 << 20))
#define PRIVATE (256.0 * 1024)
#define STEP_BYTES (4.0 * (1 << 20))

static const struct fm_probe_times times = {.private_ns = 8, .near_ns = 20, .far_ns = 95};

/* What is true. */
struct truth {
	double left[STEPS];      /* of the cache, as a share */
	double slows[STEPS];     /* a victim of the other resource, times */
	double bandwidth[STEPS]; /* the victim of bandwidth beside takers of it, times */
	double disturbs[STEPS];  /* the victim of capacity beside takers of bandwidth, times */
	double noise;            /* standard deviation of the logarithm of a time */
	double tail;             /* share of times that are disturbed and not noticed: up to three times as long */
	double aside;            /* … and are noticed */
};

static double disturbed(const struct truth *truth, struct fm_random *random)
{
	double factor = exp(truth->noise * fm_random_normal(random));

	return fm_random_uniform(random) < truth->tail ? factor * (1 + 2 * fm_random_uniform(random)) : factor;
}

/* The times of each kind of probe with each share of the cache, and beside takers of each step, if these shared it in
   proportion: what the model gives, computed once. */
static struct fm_expected models[FM_DISTRIBUTION_COUNT];
static double own[FM_DISTRIBUTION_COUNT];

static double ns_with(unsigned which, double bytes)
{
	return fm_probe_expected(&models[which], &times, own[which], bytes);
}

static void prepare_models(void)
{
	for (unsigned i = 0; i < FM_DISTRIBUTION_COUNT && !models[i].count; i++) {
		fm_expected_prepare_coarsely(&fm_distributions[i], (uint64_t)(2 * CACHE / FM_LINE_BYTES), GROUPS,
		                             &models[i]);
		own[i] = fm_probe_own(&models[i], PRIVATE);
	}
}

/* A probe of a random kind, as calibrate.c has them; times are those that the model gives, disturbed. */
static void add_probe_block(const struct truth *truth, const double (*ns)[STEPS + 1], struct fm_random *random,
                            struct fm_interference_trials *trials)
{
	unsigned which = (unsigned)fm_random_below(random, FM_DISTRIBUTION_COUNT);
	struct fm_interference_block *block = fm_interference_add_block(trials);
	double drift = disturbed(truth, random);

	assert_non_null(block);
	for (unsigned i = 0; i <= STEPS; i++) {
		/* hits and misses are measured at the same moment, with noise of their own */
		struct fm_probe_times now = {.private_ns = times.private_ns * drift * disturbed(truth, random),
		                             .near_ns = times.near_ns * drift * disturbed(truth, random),
		                             .far_ns = times.far_ns * drift * disturbed(truth, random)};

		block->cost[i] = ns[which][i] * drift * disturbed(truth, random);
		block->amount[i] = fm_probe_capacity(&models[which], &now, own[which], block->cost[i]);
		block->set_aside[i] = fm_random_uniform(random) < truth->aside;
	}
}

static void add_block(const struct truth *truth, struct fm_random *random, const double *slower,
                      struct fm_interference_trials *trials)
{
	struct fm_interference_block *block = fm_interference_add_block(trials);
	double drift = disturbed(truth, random);

	assert_non_null(block);
	for (unsigned i = 0; i <= STEPS; i++) {
		block->cost[i] = 10 * (i ? slower[i - 1] : 1) * drift * disturbed(truth, random);
		block->amount[i] = 2.8 * i * disturbed(truth, random);
		block->set_aside[i] = fm_random_uniform(random) < truth->aside;
	}
}

static void calibrate(const struct truth *truth, uint64_t seed, struct fm_interference_axis *capacity,
                      struct fm_interference_axis *bandwidth)
{
	struct fm_interference_trials probes = {.steps = STEPS}, side = {.steps = STEPS}, stream = {.steps = STEPS},
	                              reuse = {.steps = STEPS};
	double ns[FM_DISTRIBUTION_COUNT][STEPS + 1];
	struct fm_random random;

	prepare_models();
	for (unsigned i = 0; i < FM_DISTRIBUTION_COUNT; i++)
		for (unsigned k = 0; k <= STEPS; k++)
			ns[i][k] = ns_with(i, CACHE * (k ? truth->left[k - 1] : 1));

	fm_random_seed(&random, seed);
	memset(capacity, 0, sizeof(*capacity));
	memset(bandwidth, 0, sizeof(*bandwidth));
	capacity->count = bandwidth->count = STEPS;
	for (unsigned i = 0; i < BLOCKS; i++) {
		add_probe_block(truth, ns, &random, &probes);
		add_block(truth, &random, truth->slows, &side);
		add_block(truth, &random, truth->bandwidth, &stream);
		add_block(truth, &random, truth->disturbs, &reuse);
	}
	for (unsigned i = 0; i < STEPS; i++) {
		capacity->steps[i].setting.takers = bandwidth->steps[i].setting.takers = i + 1;
		capacity->steps[i].expected = 0;
		for (unsigned k = 0; k < FM_DISTRIBUTION_COUNT; k++)
			capacity->steps[i].expected += ns_with(k, CACHE * CACHE / (CACHE + (i + 1) * STEP_BYTES)) /
			                               ns[k][0] / FM_DISTRIBUTION_COUNT;
		bandwidth->steps[i].expected = INFINITY;
	}
	fm_interference_judge_capacity(&probes, &side, capacity);
	fm_interference_judge_bandwidth(&stream, &reuse, bandwidth);
	fm_interference_free_trials(&probes);
	fm_interference_free_trials(&side);
	fm_interference_free_trials(&stream);
	fm_interference_free_trials(&reuse);
}

struct verdicts {
	unsigned wrong, decided, offered, first_two, intervals, covering;
};

/* An axis whose victims are `slower` and `other` times as slow in truth. */
static bool is_wrong(const struct fm_interference_axis *axis, const double *other, bool has_effect)
{
	if (has_effect ? axis->effect == FM_EFFECT_ABSENT : axis->effect == FM_EFFECT_PRESENT)
		return true;
	for (unsigned i = 0; i < axis->count; i++)
		if (axis->steps[i].offered && (!has_effect || other[i] > 1.07))
			return true;
	return false;
}

static struct verdicts judge_all(const struct truth *truth, bool takes_capacity, bool takes_bandwidth)
{
	struct verdicts verdicts = {0};
	static struct fm_interference_axis capacity, bandwidth;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		calibrate(truth, seed, &capacity, &bandwidth);
		verdicts.wrong += is_wrong(&capacity, truth->slows, takes_capacity) ||
		                  is_wrong(&bandwidth, truth->disturbs, takes_bandwidth);
		verdicts.decided += (capacity.effect != FM_EFFECT_UNCLEAR) + (bandwidth.effect != FM_EFFECT_UNCLEAR);
		verdicts.offered += fm_interference_offered(&capacity) + fm_interference_offered(&bandwidth);
		verdicts.first_two += bandwidth.steps[0].offered && bandwidth.steps[1].offered;
		for (unsigned i = 0; i < STEPS; i++)
			if (capacity.steps[i].offered) {
				verdicts.intervals++;
				verdicts.covering += capacity.steps[i].left.low <= truth->left[i] * CACHE &&
				                     truth->left[i] * CACHE <= capacity.steps[i].left.high;
			}
	}
	print_message(
	    "%u of %d wrong, %u of %d decided, %u steps offered, %u of %u capacities inside their intervals\n",
	    verdicts.wrong, SEEDS, verdicts.decided, 2 * SEEDS, verdicts.offered, verdicts.covering,
	    verdicts.intervals);
	return verdicts;
}

#define NOTHING               \
	{                     \
		1, 1, 1, 1, 1 \
	}
#define STUDY                              \
	{                                  \
		0.75, 0.6, 0.35, 0.2, 0.15 \
	}

static void both_take(void **state)
{
	const struct truth truth = {.left = STUDY,
	                            .slows = NOTHING,
	                            .bandwidth = {1.1, 1.25, 1.5, 2, 3},
	                            .disturbs = NOTHING,
	                            .noise = 0.05,
	                            .tail = 0.05,
	                            .aside = 0.1};
	struct verdicts verdicts = judge_all(&truth, true, true);

	(void)state;
	assert_true(verdicts.wrong <= SEEDS / 20);
	assert_int_equal(verdicts.decided, 2 * SEEDS);
	/* nearly all of ten steps each time */
	assert_true(verdicts.offered >= 8 * SEEDS);
	assert_true(verdicts.covering >= verdicts.intervals * 0.9);
}

static void nothing_is_shared(void **state)
{
	const struct truth truth = {.left = NOTHING,
	                            .slows = NOTHING,
	                            .bandwidth = NOTHING,
	                            .disturbs = NOTHING,
	                            .noise = 0.05,
	                            .tail = 0.05,
	                            .aside = 0.1};
	struct verdicts verdicts = judge_all(&truth, false, false);

	(void)state;
	assert_true(verdicts.wrong <= SEEDS / 20);
	assert_int_equal(verdicts.offered, 0);
	assert_true(verdicts.decided >= 2 * SEEDS * 0.9);
}

/* So noisy that nothing can be told: whatever is said must not be wrong. */
static void noise(void **state)
{
	const struct truth nothing = {.left = NOTHING,
	                              .slows = NOTHING,
	                              .bandwidth = NOTHING,
	                              .disturbs = NOTHING,
	                              .noise = 0.5,
	                              .tail = 0.3,
	                              .aside = 0.6},
	                   something = {.left = STUDY,
	                                .slows = NOTHING,
	                                .bandwidth = {1.1, 1.25, 1.5, 2, 3},
	                                .disturbs = NOTHING,
	                                .noise = 0.5,
	                                .tail = 0.3,
	                                .aside = 0.6};
	struct verdicts verdicts = judge_all(&nothing, false, false);

	(void)state;
	assert_true(verdicts.wrong <= SEEDS / 20);
	assert_true(verdicts.decided <= 2 * SEEDS * 0.1);
	verdicts = judge_all(&something, true, true);
	assert_true(verdicts.wrong <= SEEDS / 20);
}

/* Takers of cache leave bandwidth alone; of takers of bandwidth, as in the study, from the third on they take cache. */
static void one_is_not_orthogonal(void **state)
{
	const struct truth truth = {.left = STUDY,
	                            .slows = NOTHING,
	                            .bandwidth = {1.1, 1.25, 1.5, 2, 3},
	                            .disturbs = {1, 1, 1.25, 1.6, 2},
	                            .noise = 0.05,
	                            .tail = 0.05,
	                            .aside = 0.1},
	                   reversed = {.left = STUDY,
	                               .slows = {1.1, 1.2, 1.3, 1.4, 1.5},
	                               .bandwidth = {1.1, 1.25, 1.5, 2, 3},
	                               .disturbs = NOTHING,
	                               .noise = 0.05,
	                               .tail = 0.05,
	                               .aside = 0.1};
	static struct fm_interference_axis capacity, bandwidth;
	struct verdicts verdicts = judge_all(&truth, true, true);

	(void)state;
	assert_true(verdicts.wrong <= SEEDS / 20);
	assert_true(verdicts.first_two >= SEEDS * 0.8);
	verdicts = judge_all(&reversed, true, true);
	assert_true(verdicts.wrong <= SEEDS / 20);
	calibrate(&reversed, 1, &capacity, &bandwidth);
	assert_int_equal(fm_interference_offered(&capacity), 0);
	assert_true(fm_interference_offered(&bandwidth) > 0);
}

static void statements(void **state)
{
	const struct truth works = {
	    .left = STUDY, .slows = NOTHING, .bandwidth = NOTHING, .disturbs = NOTHING, .noise = 0.03};
	static struct fm_interference_axis capacity, bandwidth;
	char text[320];

	(void)state;
	calibrate(&works, 7, &capacity, &bandwidth);
	fm_interference_state(&capacity, FM_TAKER_STORAGE, "L3", text, sizeof(text));
	assert_non_null(strstr(text, "in 5 steps, without an effect on bandwidth"));
	fm_interference_state(&bandwidth, FM_TAKER_BANDWIDTH, "memory", text, sizeof(text));
	assert_non_null(strstr(text, "load threads do not reduce it"));
	bandwidth.effect = FM_EFFECT_UNCLEAR;
	fm_interference_state(&bandwidth, FM_TAKER_BANDWIDTH, "memory", text, sizeof(text));
	assert_non_null(strstr(text, "inconclusive"));
	for (unsigned i = 0; i < STEPS; i++)
		capacity.steps[i].offered = false;
	fm_interference_state(&capacity, FM_TAKER_STORAGE, "L3", text, sizeof(text));
	assert_non_null(strstr(text, "not offered"));
	memset(&capacity, 0, sizeof(capacity));
	fm_interference_state(&capacity, FM_TAKER_STORAGE, "L3", text, sizeof(text));
	assert_non_null(strstr(text, "not measured"));
	/* too few trials are no evidence, however clear */
	assert_int_equal(fm_effect_of(&(struct fm_figure){.available = false}, 2), FM_EFFECT_UNCLEAR);
}

/* The program draws what the model believes it draws, and the inversion finds the capacity again. */
static void probes_and_model_agree(void **state)
{
	static struct fm_probe probe;
	static struct fm_expected expected, coarse;
	struct fm_buffer buffer;
	struct fm_error error;
	enum { BYTES = 4 << 20, ACCESSES = 1000 };

	(void)state;
	assert_int_equal(fm_buffer_allocate(BYTES, FM_PAGES_SMALL, -1, &buffer, &error), 0);
	for (unsigned i = 0; i < FM_DISTRIBUTION_COUNT; i++) {
		fm_probe_prepare(&probe, &buffer, &fm_distributions[i], BYTES, 1, i);
		assert_true(probe.places[FM_PROBE_PARTS] < BYTES / 4);
		for (unsigned k = 0; k < FM_PROBE_PARTS; k += 128) {
			double place = (double)probe.places[k] / (BYTES / 4.0);

			assert_near(fm_distribution_share(&fm_distributions[i], 0, place), (double)k / FM_PROBE_PARTS,
			            0.001);
		}
		assert_true(fm_probe_time(&probe, ACCESSES) > 0);
		fm_probe_flush_next(&probe, ACCESSES);
		fm_probe_warm(&probe, ACCESSES);
		fm_expected_prepare(&fm_distributions[i], (uint64_t)(2 * CACHE / FM_LINE_BYTES), &expected);
		fm_expected_prepare_coarsely(&fm_distributions[i], (uint64_t)(2 * CACHE / FM_LINE_BYTES), 256, &coarse);
		for (unsigned tenths = 1; tenths < 10; tenths += 2) {
			double share = tenths / 10.0, mine = fm_probe_own(&expected, PRIVATE),
			       ns = fm_probe_expected(&expected, &times, mine, share * CACHE);

			assert_near(fm_probe_capacity(&expected, &times, mine, ns) / CACHE, share, 1e-3);
			assert_near(fm_probe_capacity(&coarse, &times, mine, ns) / CACHE / share, 1, 1e-3);
		}
	}
	/* times that cannot be: nothing is told */
	assert_true(isnan(fm_probe_capacity(&expected, &(struct fm_probe_times){10, 50, 40}, 0.01, 45)));
	fm_buffer_free(&buffer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(both_take),  cmocka_unit_test(nothing_is_shared),
	    cmocka_unit_test(noise),      cmocka_unit_test(one_is_not_orthogonal),
	    cmocka_unit_test(statements), cmocka_unit_test(probes_and_model_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
