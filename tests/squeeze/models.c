/* Probabilistic programs and threads beside them, on the Xeon E5-2670 at a sixteenth of its size: bench_squeeze has the
   whole study. */
#include "check.h"

#include <math.h>
#include <stdio.h>

#include "squeeze/effective.h"
#include "squeeze/scene.h"

enum { SCALE = 16, CACHE = (20 << 20) / SCALE, THREAD = (4 << 20) / SCALE, LINE = 64 };

#define MACHINE                                                                                                 \
	"machine sockets=1 cores=8 frequency=2.6GHz\n"                                                          \
	"cache L1 size=2KiB ways=8 latency=4\n"                                                                 \
	"cache L2 size=16KiB ways=8 latency=12 interval=2.5\n"                                                  \
	"cache L3 size=1280KiB ways=20 latency=40 interval=5 shared=8 inclusion=inclusive\n"                    \
	"tlb entries=64 ways=4 penalty=7\n"                                                                     \
	"memory latency=210 gbs=38 core_gbs=11\n"                                                               \
	"core width=4 window=168 load_buffers=64 store_buffers=36 fill_buffers=10 super_queue=16 load_ports=2 " \
	"store_ports=1 multiply_ports=1 ports=6\n"

static struct fm_machine_description machine(void)
{
	struct fm_machine_description description;
	struct fm_error error;

	if (fm_description_parse(MACHINE, "test", &description, &error))
		fail_msg("%s", error.message);
	return description;
}

/* What is drawn is what is computed, in each tenth of the buffer. */
static void draws_follow_shares(void **state)
{
	const unsigned count = 200000;

	(void)state;
	for (unsigned d = 0; d < FM_DISTRIBUTION_COUNT; d++) {
		unsigned tenths[10] = {0};
		struct fm_random random;
		double all = 0;

		fm_random_seed(&random, d);
		for (unsigned i = 0; i < count; i++)
			tenths[(unsigned)(10 * fm_distribution_draw(&fm_distributions[d], &random))]++;
		for (unsigned i = 0; i < 10; i++) {
			double share = fm_distribution_share(&fm_distributions[d], i / 10.0, (i + 1) / 10.0);

			all += share;
			/* five standard deviations */
			assert_near((double)tenths[i] / count, share, 5 * sqrt(share / count) + 1e-9);
		}
		assert_near(all, 1, 1e-12);
	}
}

/* Each line as likely as the others: a cache answers its share of the buffer, by every model. */
static void uniform_is_a_share(void **state)
{
	struct fm_expected *expected = malloc(sizeof(*expected));

	(void)state;
	fm_expected_prepare(&fm_distributions[FM_DISTRIBUTION_uni], 100000, expected);
	for (unsigned m = 0; m < FM_EXPECTED_COUNT; m++)
		for (unsigned percent = 0; percent <= 100; percent += 10)
			assert_near(fm_expected_hits(expected, m, 1000.0 * percent), percent / 100.0, 1e-6);
	/* the steepest distribution: half of the buffer cannot hold more accesses than there are */
	fm_expected_prepare(&fm_distributions[FM_DISTRIBUTION_exp_8], 100000, expected);
	assert_true(fm_expected_hits(expected, FM_EXPECTED_che, 50000) < 1);
	assert_true(fm_expected_hits(expected, FM_EXPECTED_che, 50000) > 0.9);
	assert_near(fm_expected_hits(expected, FM_EXPECTED_seed, 50000), 1, 0);
	free(expected);
}

static void capacity_is_the_reverse(void **state)
{
	struct fm_expected *expected = malloc(sizeof(*expected));

	(void)state;
	for (unsigned d = 0; d < FM_DISTRIBUTION_COUNT; d++) {
		fm_expected_prepare(&fm_distributions[d], 30000, expected);
		for (unsigned m = 0; m < FM_EXPECTED_COUNT; m++)
			for (unsigned capacity = 100; capacity < 20000; capacity *= 3) {
				double hits = fm_expected_hits(expected, m, capacity);

				if (hits < 0.999)
					assert_near(fm_expected_capacity(expected, m, hits) / capacity, 1, 1e-6);
			}
		assert_true(fm_expected_capacity(expected, FM_EXPECTED_che, 1) <= 30000);
	}
	free(expected);
}

static struct fm_effective measure(const struct fm_machine_description *description, unsigned distribution,
                                   uint64_t bytes, unsigned threads)
{
	const struct fm_effective_wish wish = {.distribution = &fm_distributions[distribution],
	                                       .bytes = bytes,
	                                       .additions = 10,
	                                       .threads = threads,
	                                       .thread_bytes = THREAD,
	                                       .seed = 1 + distribution};
	struct fm_effective effective;
	struct fm_error error;

	if (fm_effective_measure(description, &wish, &effective, &error))
		fail_msg("%s", error.message);
	return effective;
}

/* Without threads the whole cache is there. The study's own bounds for its equation, a narrower one for Che's. */
static void models_against_the_simulator(void **state)
{
	const struct fm_machine_description description = machine();
	double sum[FM_EXPECTED_COUNT] = {0}, above[FM_EXPECTED_COUNT] = {0};
	unsigned count = 0, above_count = 0;

	(void)state;
	for (unsigned d = 0; d < FM_DISTRIBUTION_COUNT; d++)
		for (unsigned megabytes = 30; megabytes <= 74; megabytes += 22) {
			struct fm_effective result = measure(&description, d, ((uint64_t)megabytes << 20) / SCALE, 0);

			count++;
			above_count += result.misses > 0.5;
			for (unsigned m = 0; m < FM_EXPECTED_COUNT; m++) {
				double error = fabs(result.expected[m] - result.misses);

				sum[m] += error;
				above[m] += result.misses > 0.5 ? error : 0;
			}
			/* a program that hardly misses cannot tell */
			if (result.misses > 0.1)
				assert_near(result.capacity[FM_EXPECTED_che] / CACHE, 1, 0.05);
		}
	printf("mean errors over %u configurations: seed %.4f, bounded %.4f, che %.4f\n", count, sum[0] / count,
	       sum[1] / count, sum[2] / count);
	assert_true(above_count > 5);
	assert_true(sum[FM_EXPECTED_che] / count < 0.01);
	assert_true(above[FM_EXPECTED_che] / above_count < 0.01);
	assert_true(above[FM_EXPECTED_seed] / above_count < 0.05);
	assert_true(sum[FM_EXPECTED_che] < sum[FM_EXPECTED_bounded] && sum[FM_EXPECTED_che] < sum[FM_EXPECTED_seed]);
}

/* A thread that has its buffer in the cache all the time takes that much, whatever the program; five of them want all
   there is, and then the program gets a part of it all the same. */
static void threads_take_their_buffers(void **state)
{
	static const unsigned distributions[] = {FM_DISTRIBUTION_uni, FM_DISTRIBUTION_norm_6, FM_DISTRIBUTION_exp_4};
	const struct fm_machine_description description = machine();

	(void)state;
	for (unsigned threads = 1; threads <= 5; threads++)
		for (unsigned i = 0; i < 3; i++) {
			double left = measure(&description, distributions[i], (50ull << 20) / SCALE, threads)
			                  .capacity[FM_EXPECTED_che] /
			              CACHE;

			if (threads < 4)
				assert_near(left, 1 - 0.2 * threads, 0.02);
			else
				assert_true(left > 0.05 && left < (threads == 4 ? 0.25 : 0.2));
		}
}

static void too_many_and_too_small(void **state)
{
	const struct fm_machine_description description = machine();
	struct fm_effective_wish wish = {
	    .distribution = &fm_distributions[0], .bytes = 4 << 20, .threads = 8, .thread_bytes = THREAD};
	struct fm_effective untouched;
	struct fm_error error;

	(void)state;
	assert_true(fm_effective_measure(&description, &wish, &untouched, &error) < 0);
	wish = (struct fm_effective_wish){.distribution = &fm_distributions[0], .bytes = 1 << 20};
	assert_true(fm_effective_measure(&description, &wish, &untouched, &error) < 0);
}

/* With core timing, misses that do not need each other overlap, and no core gets more than the bandwidth it can draw.
 */
static void bandwidth_thread_is_fast(void **state)
{
	const struct fm_machine_description description = machine();
	double gbs[2];

	(void)state;
	for (unsigned timed = 0; timed < 2; timed++) {
		struct fm_scene *scene;
		struct fm_scene_mark mark;
		struct fm_error error;

		assert_int_equal(fm_scene_create(&description, timed, &scene, &error), 0);
		assert_non_null(fm_scene_add_bandwidth_thread(scene, (520 << 10) / SCALE));
		assert_int_equal(fm_scene_run(scene, 30000, 0, &error), 0);
		mark = fm_scene_mark(&scene->streams[0]);
		assert_int_equal(fm_scene_run(scene, 30000, 0, &error), 0);
		mark = fm_scene_since(&scene->streams[0], &mark);
		assert_int_equal(mark.references, 30000);
		gbs[timed] = fm_scene_bandwidth(scene, &mark);
		fm_scene_destroy(scene);
	}
	assert_true(gbs[1] > 3 * gbs[0]);
	assert_true(gbs[1] < 1.05 * description.memory_core_gbs);
}

/* A storage thread that has the cache for itself moves nothing to memory, also beside one bandwidth thread. */
static void kinds_leave_each_other_alone(void **state)
{
	const struct fm_machine_description description = machine();
	double pace[2];

	(void)state;
	for (unsigned bandwidth = 0; bandwidth < 2; bandwidth++) {
		struct fm_scene *scene;
		struct fm_scene_mark mark;
		struct fm_error error;

		assert_int_equal(fm_scene_create(&description, true, &scene, &error), 0);
		assert_non_null(fm_scene_add_storage_thread(scene, THREAD, 1));
		if (bandwidth)
			assert_non_null(fm_scene_add_bandwidth_thread(scene, (520 << 10) / SCALE));
		assert_int_equal(fm_scene_run(scene, 60000, 0, &error), 0);
		mark = fm_scene_mark(&scene->streams[0]);
		assert_int_equal(fm_scene_run(scene, 30000, 0, &error), 0);
		mark = fm_scene_since(&scene->streams[0], &mark);
		assert_true((double)mark.misses < 0.001 * (double)mark.references);
		pace[bandwidth] = (double)mark.time;
		fm_scene_destroy(scene);
	}
	assert_near(pace[1] / pace[0], 1, 0.02);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(draws_follow_shares),        cmocka_unit_test(uniform_is_a_share),
	    cmocka_unit_test(capacity_is_the_reverse),    cmocka_unit_test(models_against_the_simulator),
	    cmocka_unit_test(threads_take_their_buffers), cmocka_unit_test(too_many_and_too_small),
	    cmocka_unit_test(bandwidth_thread_is_fast),   cmocka_unit_test(kinds_leave_each_other_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
