/* What windows and followed lines together say of a whole run, on runs that are known. */
#include "unit/check.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/random.h"
#include "recording/estimate.h"
#include "recording/windows.h"

enum { RUN = 1000000000, WINDOW = 1000000, WINDOWS = 30, TRIALS = 200, GROUPS = 16, SHARE = 32 };

#define INDEX(member) (offsetof(struct fm_core_counts, member) / sizeof(uint64_t))

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
		const struct fm_estimate *misses = &estimates.counts[INDEX(caches[1].load_misses)],
		                         *memory = &estimates.counts[INDEX(memory_reads)];

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
		assert_true(estimates.counts[INDEX(loads)].value == (double)(RUN / 3));
		assert_true(estimates.counts[INDEX(store_bytes)].value == (double)(RUN / 2));
		/* what does not miss, hits */
		assert_true(fabs(estimates.counts[INDEX(caches[2].load_hits)].value +
		                 estimates.counts[INDEX(caches[2].load_misses)].value - misses->value) < 0.05 * total);
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
	assert_true(isfinite(estimates.counts[INDEX(caches[1].load_misses)].high));
	recording.windows_count = FM_WINDOWS_LEAST - 1;
	assert_int_equal(fm_estimate_all(&recording, &estimates), 0);
	assert_true(isinf(estimates.counts[INDEX(caches[1].load_misses)].high));
	assert_int_equal(fm_estimate_process(&recording, 7, &estimates), -EINVAL);
	forget(&recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(lines_tell_what_windows_miss),
	                                   cmocka_unit_test(windows_alone)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
