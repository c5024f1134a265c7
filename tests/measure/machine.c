/* CPU lists, buffers, teams; and the live measurements on tiny budgets, for their structure rather than their values.
 */
#include "check.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "measure/bandwidth.h"
#include "measure/buffer.h"
#include "measure/concurrency.h"
#include "measure/contention.h"
#include "measure/cycle.h"
#include "measure/string_stores.h"
#include "measure/team.h"
#include "profile/topology.h"
#include "measure/touch.h"
#include "measure/translation.h"

/* How often something was given back that was not there any more. Whatever else was mapped to that place meanwhile, a
   thread's stack for example, would be gone. */
static atomic_uint unmapped_twice;

int munmap(void *address, size_t bytes)
{
	unsigned char present;

	for (size_t at = 0; at < bytes; at += 4096)
		if (mincore((char *)address + at, 1, &present) && errno == ENOMEM) {
			unmapped_twice++;
			break;
		}
	return (int)syscall(SYS_munmap, address, bytes);
}

static void cpu_lists(void **state)
{
	static const char *const wrong[] = {"",    "x",   "0,", ",0",  "0-",
	                                    "3-1", "0 1", "-1", "0-x", "99999999999999999999"};
	struct fm_cpu_list list, allowed;
	struct fm_error error;
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(fm_cpu_list_parse(wrong[i], &list, &error), -EINVAL);
	assert_int_equal(fm_cpu_list_parse("4090", &list, &error), -EINVAL);
	assert_non_null(strstr(error.message, "does not exist"));
	assert_int_equal(fm_cpu_list_allowed(&allowed, &error), 0);
	assert_true(allowed.count > 0);
	assert_int_equal(
	    fm_cpu_list_parse(fm_cpu_list_text(text, sizeof(text), &(struct fm_cpu_list){1, {allowed.cpu[0]}}), &list,
	                      &error),
	    0);
	assert_int_equal(list.count, 1);
	assert_string_equal(fm_cpu_list_text(text, sizeof(text), &(struct fm_cpu_list){5, {0, 1, 2, 5, 7}}), "0-2,5,7");
}

static void topology_is_plausible(void **state)
{
	struct fm_topology topology;
	struct fm_error error;

	(void)state;
	assert_int_equal(fm_topology_read(&topology, &error), 0);
	assert_true(topology.cpus >= topology.cores && topology.cores >= topology.packages && topology.packages >= 1);
	assert_true(topology.memory_bytes > 1 << 20);
	for (unsigned i = 1; i < topology.cache_count; i++)
		assert_true(topology.caches[i].level > topology.caches[i - 1].level);
	assert_true(fm_memory_available() > 0);
}

/* Every line once before the first comes again; hardly ever a neighbour next; starts that divide the cycle. */
static void cycles_visit_every_line(void **state)
{
	static const uint64_t counts[] = {2, 3, 4, 5, 64, 1000, 4095, 4096, 4097, 98304, 262145};
	struct fm_random random;

	(void)state;
	fm_random_seed(&random, 7);
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		uint64_t count = counts[i], line = 0, steps = 0, near = 0, third = 0, there;
		struct fm_cycle cycle;
		bool *seen = calloc(count, sizeof(*seen));

		assert_non_null(seen);
		fm_cycle_make(count, &random, &cycle);
		there = fm_cycle_at(&cycle, 1, 3);
		assert_int_equal(fm_cycle_at(&cycle, 0, 3), 0);
		do {
			uint64_t next = fm_cycle_next(&cycle, line);

			assert_true(next < count && !seen[next]);
			seen[next] = true;
			near += (next > line ? next - line : line - next) <= 8;
			if (line == there)
				third = steps;
			line = next;
			steps++;
		} while (line);
		assert_int_equal(steps, count);
		if (count >= 98304) {
			/* 16 neighbours of so many lines: a handful by chance */
			assert_true(near < 60);
			assert_true(third > count * 0.32 && third < count * 0.35);
		}
		free(seen);
	}
}

static void buffers_too_large_are_refused(void **state)
{
	struct fm_buffer buffer;
	struct fm_error error;

	(void)state;
	assert_int_equal(fm_buffer_allocate((size_t)1 << 62, FM_PAGES_SMALL, -1, &buffer, &error), -ENOMEM);
	assert_non_null(strstr(error.message, "not enough memory"));
	assert_int_equal(fm_buffer_allocate(1 << 16, FM_PAGES_SMALL, -1, &buffer, &error), 0);
	buffer.bytes = 64;
	assert_int_equal(fm_chain_build(&buffer, &(struct fm_random){{1, 2}}, (void *[2]){NULL}, 2, &error), -EINVAL);
	fm_buffer_free(&buffer);
}

struct counting {
	atomic_uint prepared, worked;
	unsigned cpus_seen[4];
};

static void prepare(void *context, unsigned index)
{
	struct counting *counting = context;

	(void)index;
	atomic_fetch_add(&counting->prepared, 1);
}

static void work(void *context, unsigned index)
{
	struct counting *counting = context;

	counting->cpus_seen[index]++;
	atomic_fetch_add(&counting->worked, 1);
}

static void teams_run_whom_they_should(void **state)
{
	struct fm_cpu_list allowed, list = {.count = 4};
	struct counting counting = {0};
	struct fm_team_time times[4];
	const unsigned who[] = {3, 1};
	struct fm_team *team;

	(void)state;
	assert_int_equal(fm_cpu_list_allowed(&allowed, NULL), 0);
	for (unsigned i = 0; i < 4; i++)
		list.cpu[i] = allowed.cpu[i % allowed.count];
	assert_int_equal(fm_team_create(&list, &team, NULL), 0);
	for (unsigned round = 0; round < 50; round++)
		fm_team_run(team, NULL, 4, prepare, work, &counting, times);
	assert_int_equal(counting.prepared, 200);
	assert_int_equal(counting.worked, 200);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(counting.cpus_seen[i], 50);
		assert_true(times[i].end_ns >= times[i].begin_ns);
	}
	fm_team_run(team, who, 2, NULL, work, &counting, times);
	assert_int_equal(counting.worked, 202);
	assert_int_equal(counting.cpus_seen[0], 51);
	assert_int_equal(counting.cpus_seen[1], 51);
	fm_team_destroy(team);
}

static int session_set_up(void **state)
{
	struct fm_machine_session *session = calloc(1, sizeof(*session));

	if (!session || fm_topology_read(&session->topology, NULL) || fm_cpu_list_allowed(&session->cpus, NULL))
		return -1;
	session->effort = FM_EFFORT_QUICK;
	if (session->cpus.count > 2)
		session->cpus.count = 2;
	fm_random_seed(&session->random, 1);
	fm_disturbance_open(&session->watch);
	session->deadline_ns = fm_clock_now() + 1000000000u;
	session->memory_limit = 1 << 30;
	*state = session;
	return fm_team_create(&session->cpus, &session->team, NULL);
}

static int session_tear_down(void **state)
{
	struct fm_machine_session *session = *state;

	fm_team_destroy(session->team);
	fm_disturbance_close(&session->watch);
	free(session);
	return 0;
}

/* The machinery for several nodes runs on one node too: a matrix of one. */
static void numa_on_what_there_is(void **state)
{
	struct fm_machine_session *session = *state;
	struct fm_numa_pair *pairs = calloc(FM_NODES_MAX * FM_NODES_MAX, sizeof(*pairs));
	struct fm_error error = {0};
	unsigned count = 0;
	int status = fm_numa_measure(session, 16 << 20, 0.1, pairs, &count, &error);

	if (status)
		fail_msg("%s", error.message);
	assert_true(count >= 1);
	assert_true(pairs[0].threads >= 1);
	/* on a busy machine a few trials may differ so much that nothing can be said */
	assert_true(pairs[0].gbs.available ? pairs[0].gbs.value > 0 : *pairs[0].gbs.why != 0);
	assert_true(pairs[0].latency_ns.available && pairs[0].latency_ns.value > 0);
	free(pairs);
}

static void concurrency_on_what_there_is(void **state)
{
	struct fm_machine_session *session = *state;
	struct fm_parallel_point parallel[FM_PARALLEL_POINTS_MAX];
	struct fm_loaded_point loaded[FM_LOAD_POINTS_MAX];
	struct fm_bandwidth_curve curve = {0};
	struct fm_transfer *transfers = NULL;
	struct fm_figure outstanding;
	struct fm_error error;
	unsigned count = 0;
	int status;

	assert_int_equal(fm_parallel_measure(session, 16 << 20, 0.05, parallel, &count, &outstanding, &error), 0);
	assert_true(count > 4 && outstanding.available && outstanding.value >= 1);
	status = fm_bandwidth_curve_measure(session, 16 << 20, 0.05, &curve, &error);
	assert_int_equal(status, session->cpus.count < 2 ? -ENOTSUP : 0);
	if (!status) {
		assert_int_equal(curve.count, 5); /* nothing, and two mixtures at two rates */
		assert_int_equal(fm_loaded_points(&curve, session->cpus.count, loaded), 3);
		assert_true(loaded[0].latency_ns.available);
	}
	fm_bandwidth_curve_free(&curve);
	status = fm_transfer_measure(session, 0.05, &transfers, &count, &error);
	assert_int_equal(status, session->cpus.count < 2 ? -ENOTSUP : 0);
	if (!status)
		assert_int_equal(count, 1);
	free(transfers);
}

static struct fm_figure cost(double value, double width)
{
	return fm_figure_make(value, value * (1 - width), value * (1 + width), "ns/B", FM_ORIGIN_measured, "kernels",
	                      9);
}

/* Times per byte of plain stores, non-temporal ones, a string instruction; what they say. */
static void reads_are_told_by_time(void **state)
{
	static const struct {
		double string, plain, nontemporal, width;
		bool tells;
		double low, high; /* the share's interval is inside */
	} cases[] = {
	    {3.8, 3.86, 2.54, 0.01, true, 0.8, 1},   /* like plain stores */
	    {2.6, 3.86, 2.54, 0.01, true, 0, 0.2},   /* like non-temporal ones */
	    {1.9, 3.86, 2.54, 0.01, true, 0, 0.2},   /* faster than either */
	    {5.0, 3.86, 2.54, 0.01, true, 0.8, 1},   /* slower than either */
	    {3.2, 3.86, 2.54, 0.01, true, 0.3, 0.7}, /* half of the lines */
	    {3.2, 3.86, 2.54, 0.3, false, 0, 0},     /* unsteady */
	    {3.8, 3.86, 3.80, 0.01, false, 0, 0},    /* reading costs nothing that could be saved */
	    {3.8, 3.86, 6.0, 0.01, false, 0, 0},     /* non-temporal stores are slow */
	    {2.0, 3.86, 3.80, 0.01, true, 0, 0.5},   /* but it saves something */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fm_figure string = cost(cases[i].string, cases[i].width);
		struct fm_figure plain = cost(cases[i].plain, cases[i].width);
		struct fm_figure nontemporal = cost(cases[i].nontemporal, cases[i].width);
		struct fm_figure share = fm_string_allocates(&string, &plain, &nontemporal);

		assert_int_equal(share.available, cases[i].tells);
		if (!share.available) {
			assert_true(*share.why);
			continue;
		}
		assert_true(share.low >= cases[i].low && share.high <= cases[i].high);
		assert_true(share.low <= share.value && share.value <= share.high);
		assert_int_equal(share.origin, FM_ORIGIN_modelled);
		assert_int_equal(share.trials, 9);
	}
}

/* The share is right, and its interval honest, when the times are drawn from a machine that reads a known share. */
static void known_shares_are_found(void **state)
{
	enum { SEEDS = 500, TRIALS = 8 };
	unsigned told = 0, held = 0;

	(void)state;
	for (unsigned seed = 0; seed < SEEDS; seed++) {
		struct fm_measurement measurements[3] = {{0}};
		struct fm_figure costs[3], share;
		struct fm_random random;
		double truth;

		fm_random_seed(&random, seed);
		truth = fm_random_uniform(&random);
		for (unsigned i = 0; i < 3; i++) {
			const double read[] = {truth, 1, 0};

			for (unsigned j = 0; j < TRIALS; j++) {
				double late = fm_random_uniform(&random);

				assert_int_equal(fm_sample_add(&measurements[i].costs,
				                               (1 + 0.6 * read[i]) * (1 + 0.1 * late * late)),
				                 0);
			}
			costs[i] = fm_measurement_figure(&measurements[i], "ns/B");
			fm_measurement_free(&measurements[i]);
		}
		share = fm_string_allocates(&costs[0], &costs[1], &costs[2]);
		told += share.available;
		held += share.available && share.low <= truth && truth <= share.high;
	}
	print_message("share told in %u of %u cases, right in %.1f %% of them\n", told, SEEDS, 100.0 * held / told);
	assert_true(told >= 0.8 * SEEDS);
	assert_true(held >= 0.95 * told);
}

static void string_stores_on_what_there_is(void **state)
{
	struct fm_machine_session *session = *state;
	struct fm_string_stores stores;
	struct fm_error error = {0};
	const struct fm_figure *shares[] = {&stores.clear_allocates, &stores.copy_allocates,
	                                    &stores.clear_long_allocates, &stores.copy_long_allocates};
	unsigned strings = 0;

	if (fm_string_stores_measure(session, 6 << 20, 3, 128 << 10, 1, 0.1, &stores, &error))
		fail_msg("%s", error.message);
	assert_int_equal(stores.point_count, 12);
	assert_int_equal(stores.long_bytes, 4 << 20);
	for (unsigned i = 0; i < stores.point_count; i++) {
		assert_int_equal(stores.points[i].level, i < 8 ? 3 : 1);
		assert_true(stores.points[i].gbs.available ? stores.points[i].gbs.value > 0
		                                           : *stores.points[i].gbs.why != 0);
		strings += stores.points[i].string != NULL;
	}
	assert_int_equal(strings, 6);
	for (unsigned i = 0; i < 4; i++)
		assert_true(shares[i]->available ? shares[i]->low >= 0 && shares[i]->high <= 1 : *shares[i]->why != 0);
}

static bool told_or_why(const struct fm_figure *figure)
{
	return figure->available ? figure->value > 0 && figure->low <= figure->value && figure->value <= figure->high
	                         : *figure->why != 0;
}

static void touches_on_what_there_is(void **state)
{
	struct fm_machine_session *session = *state;
	struct fm_figure touches[FM_TOUCH_PARAMETERS], pages[FM_TRANSLATION_PARAMETERS];
	struct fm_contention_point points[FM_CONTENTION_POINTS_MAX];
	struct fm_error error = {0};
	unsigned count = 0;
	int status;

	unmapped_twice = 0;
	if (fm_touch_measure(session, 0.1, touches, &error))
		fail_msg("%s", error.message);
	assert_int_equal(unmapped_twice, 0);
	for (unsigned i = 0; i < FM_TOUCH_PARAMETERS; i++)
		assert_true(told_or_why(&touches[i]));
	/* without huge pages the reason is told, and there is nothing to measure */
	session->huge_pages = false;
	assert_int_equal(fm_translation_measure_huge(session, 0.1, pages, &error), 0);
	assert_string_equal(pages[0].why, "no huge pages are available");
	status = fm_contention_measure(session, 0.1, points, &count, &error);
	assert_true(status == (session->cpus.count < 2 ? -ENOTSUP : 0));
	assert_true(session->cpus.count < 2 || count >= 2 * FM_CONTENTION_KINDS);
	for (unsigned i = 0; i < count; i++)
		assert_true(told_or_why(&points[i].ns));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(cpu_lists),
	    cmocka_unit_test(topology_is_plausible),
	    cmocka_unit_test(cycles_visit_every_line),
	    cmocka_unit_test(buffers_too_large_are_refused),
	    cmocka_unit_test(teams_run_whom_they_should),
	    cmocka_unit_test(reads_are_told_by_time),
	    cmocka_unit_test(known_shares_are_found),
	    cmocka_unit_test_setup_teardown(string_stores_on_what_there_is, session_set_up, session_tear_down),
	    cmocka_unit_test_setup_teardown(touches_on_what_there_is, session_set_up, session_tear_down),
	    cmocka_unit_test_setup_teardown(numa_on_what_there_is, session_set_up, session_tear_down),
	    cmocka_unit_test_setup_teardown(concurrency_on_what_there_is, session_set_up, session_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
