/* What windows and followed lines together say of a whole run, on runs that are known. */
#include "check.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/random.h"
#include "windows/estimate.h"
#include "windows/totals.h"

enum { RUN = 1000000000, WINDOW = 1000000, WINDOWS = 30, TRIALS = 200, GROUPS = 16, SHARE = 32 };

/* Misses of the second cache per instruction at each place, 0 … 1, of the run's course: much in short turns, and a lot
   at the beginning that few windows are in. */
static double misses_at(double at)
{
	return at < 0.01 ? 0.05 : fmod(at * 97.3, 1) < 0.2 ? 0.01 : 0.001;
}

static double total_misses(void)
{
	enum { STEPS = 200000 };
	double sum = 0;

	for (unsigned i = 0; i < STEPS; i++)
		sum += misses_at((i + 0.5) / STEPS);
	return sum / STEPS * RUN;
}

static uint64_t sampled(struct fm_random *random, double mean)
{
	double value = mean + sqrt(mean) * fm_random_normal(random);

	return value > 0 ? (uint64_t)llround(value) : 0;
}

static void make_run(struct fm_recording *recording, struct fm_random *random, double total)
{
	struct fm_recorded_process *process;

	memset(recording, 0, sizeof(*recording));
	recording->machine.cache_count = 3;
	process = fm_recording_add(recording, processes);
	process->instructions = RUN;
	process->loads = RUN / 3;
	process->stores = RUN / 7;
	process->load_bytes = RUN;
	process->store_bytes = RUN / 2;
	for (unsigned i = 0; i < WINDOWS; i++) {
		struct fm_recorded_window *window = fm_recording_add(recording, windows);
		double at = (i + fm_random_uniform(random)) / WINDOWS, misses = WINDOW * misses_at(at);

		window->executed = (uint64_t)(at * RUN);
		window->work.instructions = WINDOW;
		window->counts.loads = WINDOW / 2; /* where it looked there were more than elsewhere */
		window->counts.caches[1].load_misses = window->counts.caches[1].lines_demand = (uint64_t)misses;
		window->brought[1] = sampled(random, misses / SHARE);
		/* nothing is known of the last cache */
		window->counts.caches[2].load_hits = (uint64_t)misses;
		window->unknown[2] = (uint64_t)misses;
	}
	for (unsigned i = 0; i < GROUPS; i++) {
		struct fm_recorded_group *group = fm_recording_add(recording, groups);

		group->share = SHARE;
		group->brought[1] = sampled(random, total / SHARE / GROUPS);
		group->brought[2] = group->memory_reads = sampled(random, total / 2 / SHARE / GROUPS);
		group->cold = group->memory_reads / 2;
	}
}

static void forget(struct fm_recording *recording)
{
	free(recording->windows);
	free(recording->processes);
	free(recording->groups);
}

static bool holds(const struct fm_estimate *estimate, double truth)
{
	return estimate->low <= truth && truth <= estimate->high;
}

static void lines_tell_what_windows_miss(void **state)
{
	double total = total_misses(), worst = 0, by_windows = 0;
	unsigned held = 0, memory_held = 0;
	struct fm_random random;

	(void)state;
	fm_random_seed(&random, 5);
	for (unsigned trial = 0; trial < TRIALS; trial++) {
		struct fm_recording recording;
		struct fm_estimates estimates;
		double values[WINDOWS];
		const struct fm_estimate *misses = &estimates.numbers[fm_counter_of_cache(1, FM_CACHE_load_misses)],
		                         *memory = &estimates.numbers[FM_COUNTS_memory_reads];

		make_run(&recording, &random, total);
		assert_int_equal(fm_estimate_all(&recording, &estimates), 0);
		assert_int_equal(estimates.windows, WINDOWS);
		for (unsigned i = 0; i < WINDOWS; i++)
			values[i] = (double)recording.windows[i].counts.caches[1].load_misses;
		held += holds(misses, total);
		memory_held += holds(memory, total / 2);
		worst = fmax(worst, fabs(misses->value / total - 1));
		by_windows = fmax(by_windows, fabs(fm_windows_sum(&recording, values).value / total - 1));
		/* counted, whatever windows saw */
		assert_true(estimates.numbers[FM_COUNTS_loads].value == (double)(RUN / 3));
		assert_true(estimates.numbers[FM_COUNTS_store_bytes].value == (double)(RUN / 2));
		/* what does not miss, hits */
		assert_true(fabs(estimates.numbers[fm_counter_of_cache(2, FM_CACHE_load_hits)].value +
		                 estimates.numbers[fm_counter_of_cache(2, FM_CACHE_load_misses)].value -
		                 misses->value) < 0.05 * total);
		forget(&recording);
	}
	assert_true(held >= TRIALS * 92 / 100);
	assert_true(memory_held >= TRIALS * 92 / 100);
	/* far better than windows alone, which see the beginning or do not */
	assert_true(worst < 0.1);
	assert_true(by_windows > 0.2);
}

/* Without followed lines, windows alone; with too few of these, nothing is certain. */
static void windows_alone(void **state)
{
	struct fm_recording recording;
	struct fm_estimates estimates;
	struct fm_random random;

	(void)state;
	fm_random_seed(&random, 6);
	make_run(&recording, &random, total_misses());
	recording.groups_count = 0;
	assert_int_equal(fm_estimate_all(&recording, &estimates), 0);
	assert_true(isfinite(estimates.numbers[fm_counter_of_cache(1, FM_CACHE_load_misses)].high));
	recording.windows_count = FM_WINDOWS_LEAST - 1;
	assert_int_equal(fm_estimate_all(&recording, &estimates), 0);
	assert_true(isinf(estimates.numbers[fm_counter_of_cache(1, FM_CACHE_load_misses)].high));
	assert_int_equal(fm_estimate_process(&recording, 7, &estimates), -EINVAL);
	forget(&recording);
}

/* Ten equal windows of a thousand instructions, each of which represents a hundred thousand: 320 misses of the second
   cache in each, 320,000 in the run. Of the lines, `seen` in each window are followed ones, and `all` in the run. */
static void make_even_run(struct fm_recording *recording, uint64_t seen, uint64_t all)
{
	struct fm_recorded_process *process;
	struct fm_recorded_group *group;

	memset(recording, 0, sizeof(*recording));
	recording->machine.cache_count = 3;
	process = fm_recording_add(recording, processes);
	process->instructions = 1000000;
	for (unsigned i = 0; i < 10; i++) {
		struct fm_recorded_window *window = fm_recording_add(recording, windows);

		window->executed = 50000 + 100000 * i;
		window->work.instructions = 1000;
		window->work.flops = 500;
		window->counts.caches[1].load_misses = 320;
		window->brought[1] = seen;
	}
	group = fm_recording_add(recording, groups);
	group->share = SHARE;
	group->brought[1] = all;
}

static void assert_misses(uint64_t seen, uint64_t all, double value, double low, double high)
{
	struct fm_recording recording;
	struct fm_estimates estimates;
	const struct fm_estimate *misses = &estimates.numbers[fm_counter_of_cache(1, FM_CACHE_load_misses)];

	make_even_run(&recording, seen, all);
	assert_int_equal(fm_estimate_all(&recording, &estimates), 0);
	assert_near(misses->value, value, 1e-6);
	assert_near(misses->low, low, 1e-6);
	assert_near(misses->high, high, 1e-6);
	assert_near(estimates.numbers[FM_ESTIMATE_WORK + FM_WORK_flops].value, 500000, 1e-6);
	forget(&recording);
}

/* By instructions 320,000, and a tenth either way. By lines 32 for each followed line, and 3 % either way. */
static void the_ways_of_an_estimate_are_combined(void **state)
{
	const double by_instructions = 32000, by_lines = 0.03 * 320000,
	             share = by_lines * by_lines / (by_lines * by_lines + by_instructions * by_instructions);

	(void)state;
	assert_misses(10, 10000, 320000, 320000 - sqrt(1 - share) * by_lines, 320000 + sqrt(1 - share) * by_lines);
	/* a fifth more by lines, which contradicts: the interval contains both */
	assert_misses(10, 12000, 384000, 320000 - by_instructions, 384000 * 1.03);
	/* forty times as many lines as windows represent: the plain ratio, and a fifth either way */
	assert_misses(10, 400000, 12800000, 0.8 * 12800000, 1.2 * 12800000);
	/* too few events for a ratio: by instructions, and what windows may have missed */
	assert_misses(4, 4000, 320000, 288000, 352000 + SHARE * 2 * sqrt(4001));
	assert_misses(4, 5000, 320000, 288000, 352000 + SHARE * (1000 + 2 * sqrt(5001)));
}

static void kept_estimates_are_those_computed(void **state)
{
	struct fm_recording recording;
	struct fm_estimates computed, kept;

	(void)state;
	make_even_run(&recording, 10, 12000);
	assert_int_equal(fm_estimate_all(&recording, &computed), 0);
	assert_true(fm_estimates_of(&recording, &kept));
	assert_memory_equal(&kept, &computed, sizeof(kept));
	assert_int_equal(fm_estimates_keep(&recording), 0);
	assert_int_equal(recording.estimates_count, FM_ESTIMATES);
	/* from now on the windows do not matter */
	for (unsigned i = 0; i < 10; i++)
		recording.windows[i].counts.caches[1].load_misses = 0;
	assert_true(fm_estimates_of(&recording, &kept));
	assert_memory_equal(&kept, &computed, sizeof(kept));
	free(recording.estimates);
	forget(&recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(lines_tell_what_windows_miss),
	                                   cmocka_unit_test(windows_alone),
	                                   cmocka_unit_test(the_ways_of_an_estimate_are_combined),
	                                   cmocka_unit_test(kept_estimates_are_those_computed)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
