/* How much slower counted code is, from episodes of known ratios; and when windows are enough. */
#include "check.h"

#include <math.h>
#include <string.h>

#include "base/random.h"
#include "engine/trace/enough.h"
#include "engine/trace/pace.h"
#include "trace/pace.h"

enum { TRIALS = 400, EPISODES = 24 };

/* Slices of about 8 ms in which branches are passed unevenly; the true ratio of the program's first and second half. */
static void make_episodes(struct fm_random *random, double first, double second, double unevenness,
                          struct fm_trace_episode *ret_episodes)
{
	for (unsigned i = 0; i < EPISODES; i++) {
		double ratio = i < EPISODES / 2 ? first : second, rate = 40,
		       uneven = exp(unevenness * (2 * fm_random_uniform(random) - 1));

		ret_episodes[i].counted_ns = 6000000 + fm_random_next(random) % 4000000;
		ret_episodes[i].plain_ns = 6000000 + fm_random_next(random) % 4000000;
		ret_episodes[i].counted_passes = (uint64_t)((double)ret_episodes[i].counted_ns / 1e3 * rate);
		ret_episodes[i].plain_passes =
		    (uint64_t)((double)ret_episodes[i].plain_ns / 1e3 * rate * ratio * uneven);
	}
}

static void check_ratio(double first, double second, double unevenness)
{
	struct fm_trace_episode episodes[EPISODES];
	double truth = 2 / (1 / first + 1 / second), sum = 0;
	struct fm_result_pace pace;
	struct fm_random random;
	unsigned held = 0;

	fm_random_seed(&random, 7);
	for (unsigned i = 0; i < TRIALS; i++) {
		make_episodes(&random, first, second, unevenness, episodes);
		fm_pace_estimate(episodes, EPISODES, &pace);
		assert_int_equal(pace.episodes, EPISODES);
		held += pace.low <= truth && truth <= pace.high;
		sum += pace.ratio / truth - 1;
	}
	print_message("%g %g %g: held %u of %u, off %.3f\n", first, second, unevenness, held, TRIALS, sum / TRIALS);
	assert_true(held >= 0.9 * TRIALS);
	assert_true(fabs(sum / TRIALS) < 0.03);
}

static void ratios_are_found(void **state)
{
	(void)state;
	check_ratio(1.7, 1.7, 0.1);
	check_ratio(3.5, 3.5, 0.4);
	check_ratio(1.3, 1.9, 0.1);
}

static void few_or_damaged_episodes_tell_nothing(void **state)
{
	struct fm_trace_episode episodes[EPISODES];
	struct fm_result_pace pace;
	struct fm_random random;

	(void)state;
	fm_random_seed(&random, 8);
	make_episodes(&random, 2, 2, 0.1, episodes);
	fm_pace_estimate(episodes, 3, &pace);
	assert_true(pace.ratio == 0);
	assert_int_equal(pace.episodes, 3);
	for (unsigned i = 2; i < EPISODES; i++)
		episodes[i].plain_passes = 0;
	fm_pace_estimate(episodes, EPISODES, &pace);
	assert_true(pace.ratio == 0);
	assert_int_equal(pace.episodes, 2);
	/* whatever another process wrote there */
	memset(episodes, 0xff, sizeof(episodes));
	fm_pace_estimate(episodes, EPISODES, &pace);
	assert_true(isfinite(pace.ratio) && pace.ratio >= 1 && pace.low <= pace.high);
}

static void nothing_is_faster_for_being_counted(void **state)
{
	struct fm_trace_episode episodes[EPISODES];
	struct fm_result_pace pace;
	struct fm_random random;

	(void)state;
	fm_random_seed(&random, 9);
	make_episodes(&random, 0.9, 0.9, 0.1, episodes);
	fm_pace_estimate(episodes, EPISODES, &pace);
	assert_true(pace.ratio >= 1 && pace.low >= 1);
}

static bool enough(unsigned count, double noise)
{
	static struct fm_result_window windows[200];
	struct fm_random random;

	fm_random_seed(&random, 10);
	memset(windows, 0, sizeof(windows));
	for (unsigned i = 0; i < count; i++) {
		windows[i].work.instructions = 1000000;
		windows[i].counts.caches[0].lines_demand =
		    (uint64_t)(20000 * (1 + noise * (2 * fm_random_uniform(&random) - 1)));
		windows[i].counts.caches[1].lines_demand = 3; /* hardly any: nobody cares */
	}
	return fm_windows_are_enough(windows, count, 2, 0.05);
}

static void windows_are_enough_when_they_agree(void **state)
{
	(void)state;
	assert_false(enough(20, 0));
	assert_true(enough(100, 0.05));
	assert_false(enough(100, 0.9));
	assert_true(enough(200, 0.3));
}

/* One pass in the counted slices and thousands in the plain ones, as in an episode that was given up when the program
   turned to something else: 2,500 times the instructions, if one believed it. */
static void plain_code_executes_what_it_can(void **state)
{
	struct fm_pace pace = {.counted_instructions = 3000000,
	                       .counted_ns = 1000000,
	                       .counted_passes = 1000,
	                       .plain_ns = 2000000,
	                       .plain_passes = 3500};

	(void)state;
	assert_int_equal(fm_pace_plain_instructions(&pace), 10500000);
	pace.counted_passes = 1;
	assert_int_equal(fm_pace_plain_instructions(&pace), 0);
	pace.counted_passes = 32;
	pace.plain_passes = 80000;
	assert_int_equal(fm_pace_plain_instructions(&pace), 48000000);
	pace.counted_passes = 80000;
	pace.plain_passes = 32;
	assert_int_equal(fm_pace_plain_instructions(&pace), 0);
	pace.counted_ns = 0;
	assert_int_equal(fm_pace_plain_instructions(&pace), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(ratios_are_found),
	    cmocka_unit_test(few_or_damaged_episodes_tell_nothing),
	    cmocka_unit_test(nothing_is_faster_for_being_counted),
	    cmocka_unit_test(windows_are_enough_when_they_agree),
	    cmocka_unit_test(plain_code_executes_what_it_can),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
