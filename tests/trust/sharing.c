/* Table 1.3 of Röhl et al. (2015), rediscovered: one thread writes ranges of lines, another reads them, and the events
   for lines that move between cores are compared with the number of lines. There they are off by -65 … +102 %, and
   nobody knows why. Here each thing that makes them wrong can be switched off by itself. */
#include "check.h"

#include <stdio.h>
#include <string.h>

#include "simulator/simulated.h"
#include "trust/feed.h"

enum { LINE = 64, STEPS = 100, BASE = 1 << 30, FLAG = 1 << 29, EVENTS = 5 };

static const char *const names[EVENTS] = {
    "MEM_LOAD_UOPS_L3_HIT_RETIRED:XSNP_HITM",
    "MEM_LOAD_UOPS_L3_MISS_RETIRED:REMOTE_HITM",
    "OFFCORE_RESPONSE_0:DEMAND_DATA_RD:LLC_HIT:HITM_OTHER_CORE",
    "OFFCORE_RESPONSE_0:LLC_HIT:HITM_OTHER_CORE",
    "OFFCORE_RESPONSE_0:LLC_MISS:REMOTE_HITM",
};
enum { RETIRED, RETIRED_REMOTE, REQUESTS_OF_LOADS, REQUESTS, REQUESTS_REMOTE };

static struct fm_machine_description machine;
static struct fm_simulated_events *events;

struct conditions {
	bool remote;   /* the producer is on another socket */
	bool flag;     /* they tell each other through a variable that both read */
	bool prefetch; /* the prefetchers are on */
	bool stores;   /* the consumer writes what it gets, without having read it */
};

struct counted {
	double model;
	double counts[EVENTS];
};

static void tell(struct fm_core_timing *from, struct fm_core_timing *to)
{
	fm_feed_access(from, FLAG, 8, FM_ACCESS_STORE);
	fm_feed_access(to, FLAG, 8, FM_ACCESS_LOAD);
}

/* The consumer's counts after 100 steps of so many lines. */
static struct counted hand_over(unsigned lines, const struct conditions *conditions)
{
	struct counted counted = {.model = (double)lines * STEPS};
	struct fm_hierarchy *hierarchy;
	struct fm_core_timing *consumer, *producer;
	struct fm_error error;
	uint64_t address = BASE;

	assert_int_equal(fm_hierarchy_create(&machine, &hierarchy, &error), 0);
	hierarchy->prefetch = conditions->prefetch;
	assert_int_equal(fm_core_timing_create(hierarchy, 0, &consumer, &error), 0);
	assert_int_equal(fm_core_timing_create(hierarchy, conditions->remote ? machine.cores : 1, &producer, &error),
	                 0);
	for (unsigned step = 0; step < STEPS; step++, address += (uint64_t)lines * LINE) {
		for (unsigned i = 0; i < lines; i++)
			fm_feed_access(producer, address + (uint64_t)i * LINE, 8, FM_ACCESS_STORE);
		if (conditions->flag)
			tell(producer, consumer);
		for (unsigned i = 0; i < lines; i++)
			fm_feed_access(consumer, address + (uint64_t)i * LINE, 8,
			               conditions->stores ? FM_ACCESS_STORE : FM_ACCESS_LOAD);
		if (conditions->flag)
			tell(consumer, producer);
	}
	for (unsigned i = 0; i < EVENTS; i++) {
		const struct fm_truth truth = {.counts = &fm_hierarchy_core(hierarchy, 0)->counts};
		unsigned index;

		assert_int_equal(fm_simulated_find(events, names[i], &index, &error), 0);
		counted.counts[i] = fm_simulated_value(events, index, &truth).value;
	}
	fm_core_timing_destroy(consumer);
	fm_core_timing_destroy(producer);
	fm_hierarchy_destroy(hierarchy);
	return counted;
}

static double error_of(const struct counted *counted, unsigned event)
{
	return 100 * (counted->counts[event] / counted->model - 1);
}

/* As in the paper: with a flag, prefetchers on. */
static void the_table(void **state)
{
	double least = 0, most = 0, before = 1000;

	(void)state;
	print_message("lines  model     XSNP_HITM        HITM_OTHER_CORE    REMOTE_HITM      OFFCORE REMOTE_HITM\n");
	for (unsigned lines = 2; lines <= 1024; lines *= 2) {
		struct counted near = hand_over(lines, &(struct conditions){.flag = true, .prefetch = true}),
		               far = hand_over(lines,
		                               &(struct conditions){.flag = true, .prefetch = true, .remote = true});
		double error = error_of(&near, RETIRED);

		print_message("%5u %6.0f  %6.0f %+6.1f %%  %6.0f %+6.1f %%  %6.0f %+6.1f %%  %6.0f %+6.1f %%\n", lines,
		              near.model, near.counts[RETIRED], error, near.counts[REQUESTS], error_of(&near, REQUESTS),
		              far.counts[RETIRED_REMOTE], error_of(&far, RETIRED_REMOTE), far.counts[REQUESTS_REMOTE],
		              error_of(&far, REQUESTS_REMOTE));
		least = error < least ? error : least;
		most = error_of(&near, REQUESTS) > most ? error_of(&near, REQUESTS) : most;
		/* fewer the longer the range: the paper's are at 64 % first and at -65 % at the end */
		assert_true(error <= before);
		before = error;
		/* all requests: the lines, and the flag of each step */
		assert_near(near.counts[REQUESTS], near.model + STEPS, 1);
		assert_near(far.counts[REQUESTS_REMOTE], far.model + STEPS, 1);
		/* on the same socket nothing is remote, and the other way round */
		assert_true(near.counts[RETIRED_REMOTE] == 0 && near.counts[REQUESTS_REMOTE] == 0);
		assert_true(far.counts[RETIRED] == 0 && far.counts[REQUESTS] == 0);
	}
	assert_true(least < -60 && most >= 50);
}

/* Without anything that makes them wrong, all of them count the lines. */
static void right_without_reasons_to_be_wrong(void **state)
{
	(void)state;
	for (unsigned lines = 2; lines <= 1024; lines *= 8) {
		struct counted near = hand_over(lines, &(struct conditions){0}),
		               far = hand_over(lines, &(struct conditions){.remote = true});

		assert_true(near.counts[RETIRED] == near.model && near.counts[REQUESTS] == near.model &&
		            near.counts[REQUESTS_OF_LOADS] == near.model);
		assert_true(far.counts[RETIRED_REMOTE] == far.model && far.counts[REQUESTS_REMOTE] == far.model);
	}
}

/* The flag: one line more in each step, whatever is handed over. */
static void the_flag_is_counted_too(void **state)
{
	(void)state;
	for (unsigned lines = 2; lines <= 128; lines *= 4) {
		struct counted counted = hand_over(lines, &(struct conditions){.flag = true});

		assert_near(counted.counts[RETIRED], counted.model + STEPS, 1);
	}
}

/* Lines that a prefetcher asked for come to nobody's load: counted by request, not by the retired load. */
static void prefetched_lines_are_not_loads(void **state)
{
	struct counted with = hand_over(512, &(struct conditions){.prefetch = true});

	(void)state;
	assert_true(with.counts[RETIRED] < 0.4 * with.model);
	assert_true(with.counts[REQUESTS_OF_LOADS] == with.counts[RETIRED]);
	assert_near(with.counts[REQUESTS], with.model, 0.01 * with.model);
}

/* Neither are lines that stores ask for: false sharing by threads that only write is not seen. */
static void stores_are_not_loads(void **state)
{
	struct counted counted = hand_over(64, &(struct conditions){.stores = true});

	(void)state;
	assert_true(counted.counts[RETIRED] == 0 && counted.counts[REQUESTS_OF_LOADS] == 0);
	assert_true(counted.counts[REQUESTS] == counted.model);
}

/* Lines that have left the producer's private caches are found in the last one, and nobody's event counts them. */
static void lines_that_left_are_no_transfers(void **state)
{
	unsigned held = (unsigned)(machine.caches[1].bytes / LINE);
	struct counted counted = hand_over(2 * held, &(struct conditions){0});

	(void)state;
	print_message("of %.0f lines, twice what the second cache holds: %.0f counted\n", counted.model,
	              counted.counts[REQUESTS]);
	assert_near(counted.counts[REQUESTS], counted.model / 2, 0.15 * counted.model);
}

static int set_up(void **state)
{
	struct fm_error error;

	(void)state;
	if (fm_description_read(MACHINES "/haswell-ep.machine", &machine, &error) ||
	    fm_simulated_load(MACHINES "/haswell-ep.machine", &events, &error)) {
		print_error("%s\n", error.message);
		return -1;
	}
	machine.page_bytes = 2 << 20;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	fm_simulated_free(events);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_table),
	    cmocka_unit_test(right_without_reasons_to_be_wrong),
	    cmocka_unit_test(the_flag_is_counted_too),
	    cmocka_unit_test(prefetched_lines_are_not_loads),
	    cmocka_unit_test(stores_are_not_loads),
	    cmocka_unit_test(lines_that_left_are_no_transfers),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
