/* Corrections of the cycles of windows, on a recording with ten equal windows of 1,000 instructions in a run of
   100,000: each window stands for 10,000 instructions, so every factor is 10 before a correction. */
#include "check.h"

#include <string.h>

#include "windows/correct.h"

enum { WINDOWS = 10, WINDOW = 1000, RUN = 100000, LAST = 2 };

static struct fm_recorded_window windows[WINDOWS];
static struct fm_recorded_process process;
static struct fm_recording recording;
static struct fm_estimates estimates;
static double values[2 * WINDOWS], factors[FM_TIMING_NUMBERS];
static const struct fm_corrected course = {
    .recording = &recording, .windows = windows, .count = WINDOWS, .estimates = &estimates, .values = values};

static const unsigned memory = FM_TIMING_latency_stalls + FM_SERVED_MEMORY, last = FM_TIMING_latency_stalls + LAST,
                      bandwidth = FM_TIMING_bandwidth_stalls + FM_SERVED_MEMORY,
                      last_bandwidth = FM_TIMING_bandwidth_stalls + LAST, stores = FM_TIMING_stalls + FM_STALL_stores;

static void count_in_each(unsigned index, uint64_t value)
{
	for (unsigned i = 0; i < WINDOWS; i++)
		fm_counter_set(&windows[i].counts, index, value);
}

static void time_in_each(unsigned index, uint64_t value)
{
	for (unsigned i = 0; i < WINDOWS; i++)
		fm_counter_set(&windows[i].timing, index, value);
}

/* A line of memory takes 10 cycles, one for a store 16; one of the last cache 4, and 4 more to be written. */
static int begin(void **state)
{
	static const struct fm_machine_description machine = {
	    .frequency_ghz = 2,
	    .line_bytes = 64,
	    .memory_core_gbs = 12.8,
	    .store_core_gbs = 8,
	    .memory_gbs = 100,
	    .memory_write_percent = 50,
	    .memory_latency = 200,
	    .cache_count = 3,
	    .caches = {{.name = "L1", .latency = 4},
	               {.name = "L2", .latency = 10},
	               {.name = "L3", .latency = 40, .interval = 400, .write_interval = 400}}};

	(void)state;
	memset(windows, 0, sizeof(windows));
	memset(&estimates, 0, sizeof(estimates));
	process = (struct fm_recorded_process){.instructions = RUN};
	recording = (struct fm_recording){.processes = &process,
	                                  .processes_count = 1,
	                                  .windows = windows,
	                                  .windows_count = WINDOWS,
	                                  .machine = machine};
	for (unsigned i = 0; i < WINDOWS; i++) {
		windows[i].executed = RUN / WINDOWS * i + RUN / WINDOWS / 2;
		windows[i].began = 1e-3 * (i + 0.5);
		windows[i].ended = windows[i].began + 1e-6;
		windows[i].work.instructions = windows[i].timing.instructions = WINDOW;
		windows[i].timing.cycles = 2 * WINDOW;
		windows[i].timing.no_execute = WINDOW;
	}
	for (unsigned k = 0; k < FM_TIMING_NUMBERS; k++)
		factors[k] = 10;
	return 0;
}

static double cycles_of_run(unsigned index)
{
	double sum = 0;

	for (unsigned i = 0; i < WINDOWS; i++)
		sum += (double)fm_counter_get(&windows[i].timing, index);
	return factors[index] * sum;
}

/* The loss or gain of a part of the waiting is that of all cycles, and of those without execution. */
static void assert_cycles_change_by(double change)
{
	assert_near(cycles_of_run(FM_TIMING_cycles), 2.0 * RUN + change, 1e-6 * RUN);
	assert_near(cycles_of_run(FM_TIMING_no_execute), RUN + change, 1e-6 * RUN);
}

static void windows_stand_for_the_run(void **state)
{
	(void)state;
	fm_correct_partial(&course, factors);
	assert_near(factors[FM_TIMING_cycles], 10, 1e-9);
	assert_near(factors[FM_TIMING_no_execute], 10, 1e-9);
	assert_near(factors[memory], 1, 0); /* it never occurred */
	/* a window without timing is like the one before; with half as many cycles in the sum, each counts twice */
	for (unsigned i = 1; i < WINDOWS; i += 2)
		memset(&windows[i].timing, 0, sizeof(windows[i].timing));
	fm_correct_partial(&course, factors);
	assert_near(factors[FM_TIMING_cycles], 20, 1e-9);
	/* of threads of which half were timed: as if the others had been like these */
	for (unsigned i = 0; i < WINDOWS; i++)
		windows[i].timing =
		    (struct fm_timing_counts){.cycles = WINDOW, .no_execute = WINDOW / 2, .instructions = WINDOW / 2};
	fm_correct_partial(&course, factors);
	assert_near(cycles_of_run(FM_TIMING_cycles), 2.0 * RUN, 1e-6);
}

static void the_first_cache_gives_the_weight(void **state)
{
	unsigned misses = fm_counter_of_cache(0, FM_CACHE_load_misses);

	(void)state;
	assert_near(fm_correct_weight(&course), 1, 0);
	count_in_each(misses, 50); /* 5,000 in the run */
	assert_near(fm_correct_weight(&course), 1, 0);
	estimates.numbers[misses].value = 2500;
	assert_near(fm_correct_weight(&course), 0.5, 1e-12);
}

/* 4,000 misses of the last cache by the windows, 1,000 in truth; 5,000 and 4,500 of the second one. */
static struct fm_false_misses lay_misses(void)
{
	count_in_each(fm_counter_of_cache(LAST, FM_CACHE_load_misses), 40);
	count_in_each(fm_counter_of_cache(1, FM_CACHE_load_misses), 50);
	estimates.numbers[fm_counter_of_cache(LAST, FM_CACHE_load_misses)].value = 1000;
	estimates.numbers[fm_counter_of_cache(1, FM_CACHE_load_misses)].value = 4500;
	return fm_correct_find_misses(&course, 1);
}

static void false_misses_are_found(void **state)
{
	struct fm_false_misses misses = lay_misses();

	(void)state;
	assert_near(misses.seen, 4000, 1e-9);
	assert_near(misses.of_cache[0], 0, 0);
	assert_near(misses.of_cache[1], 500, 1e-9);
	assert_near(misses.of_cache[2], 3000, 1e-9);
	misses = fm_correct_find_misses(&course, 2); /* the windows stand for twice as many */
	assert_near(misses.seen, 8000, 1e-9);
	assert_near(misses.of_cache[2], 7000, 1e-9);
	/* a hit of the second cache never asks the last one: no more than are false there */
	estimates.numbers[fm_counter_of_cache(1, FM_CACHE_load_misses)].value = 0;
	estimates.numbers[fm_counter_of_cache(LAST, FM_CACHE_load_misses)].value = 3900;
	misses = fm_correct_find_misses(&course, 1);
	assert_near(misses.of_cache[1], 100, 1e-9);
}

static void false_misses_wait_for_the_cache(void **state)
{
	struct fm_false_misses misses = lay_misses();

	(void)state;
	time_in_each(memory, 400); /* 40,000 cycles in the run, 10 for each of 4,000 misses */
	time_in_each(last, 100);
	time_in_each(FM_TIMING_latency_stalls + 1, 100);
	fm_correct_latency(&course, &misses, factors);
	assert_near(cycles_of_run(memory), 10000, 1e-6);
	/* 500 wait for the second cache, 10/200 of ten cycles each; 2,500 for the last one, 40/200 */
	assert_near(cycles_of_run(FM_TIMING_latency_stalls + 1), 10000 + 250, 1e-6);
	assert_near(cycles_of_run(last), 10000 + 5000, 1e-6);
	assert_cycles_change_by(-30000 + 250 + 5000);
}

static void nothing_false_changes_nothing(void **state)
{
	struct fm_false_misses none = {.seen = 4000};

	(void)state;
	time_in_each(memory, 400);
	fm_correct_latency(&course, &none, factors);
	fm_correct_hits(&course, 1000, 0, factors);
	fm_correct_hits(&course, 1000, 500, factors); /* nothing waited for the cache */
	for (unsigned k = 0; k < FM_TIMING_NUMBERS; k++)
		assert_near(factors[k], 10, 0);
}

static void evicted_lines_wait_for_memory(void **state)
{
	(void)state;
	time_in_each(memory, 100);
	time_in_each(last, 100); /* 10,000 cycles in the run, for 1,000 hits */
	fm_correct_hits(&course, 1000, 400, factors);
	assert_near(cycles_of_run(last), 6000, 1e-6);
	assert_near(cycles_of_run(memory), 10000 + 4000 * 200 / 40, 1e-6); /* five times as long */
	assert_cycles_change_by(4000 * 4);
	/* more misses than hits: all of them */
	begin(NULL);
	time_in_each(memory, 100);
	time_in_each(last, 100);
	fm_correct_hits(&course, 1000, 5000, factors);
	assert_near(cycles_of_run(last), 0, 1e-6);
}

static void false_reads_wait_less(void **state)
{
	(void)state;
	count_in_each(FM_COUNTS_memory_reads, 10); /* 1,000 in the run */
	time_in_each(bandwidth, 100);
	time_in_each(last_bandwidth, 100);
	time_in_each(stores, 50);
	estimates.numbers[FM_COUNTS_memory_reads].value = 1000;
	fm_correct_reads(&course, 1, factors);
	assert_cycles_change_by(0);
	/* none in truth: a line of the last cache takes 0.4 of the time, one that is stored to half (false_reads.c) */
	estimates.numbers[FM_COUNTS_memory_reads].value = 0;
	fm_correct_reads(&course, 1, factors);
	assert_near(cycles_of_run(bandwidth), 0, 1e-6);
	assert_near(cycles_of_run(last_bandwidth), 10000 + 4000, 1e-6);
	assert_near(cycles_of_run(stores), 2500, 1e-6);
	assert_cycles_change_by(-6000 - 2500);
}

/* 1,000 reads keep the memory busy for 10,000 cycles, 1,000 writes for 5,000 more. */
static void late_writes_wait_more(void **state)
{
	(void)state;
	count_in_each(FM_COUNTS_memory_reads, 10);
	time_in_each(bandwidth, 90);
	/* as many written as seen: none */
	fm_correct_writes(&course, 1, factors);
	assert_cycles_change_by(0);
	estimates.numbers[FM_COUNTS_memory_writes].value = 1000;
	for (unsigned k = 0; k <= LAST; k++)
		estimates.numbers[fm_counter_of_cache(k, FM_CACHE_lines_written)].value = 1000;
	fm_correct_writes(&course, 1, factors);
	assert_near(cycles_of_run(bandwidth), 9000 + 5000, 1e-6);
	assert_cycles_change_by(5000);
	/* only stores wait: theirs are the cycles */
	begin(NULL);
	count_in_each(FM_COUNTS_memory_reads, 10);
	time_in_each(stores, 90);
	estimates.numbers[FM_COUNTS_memory_writes].value = 1000;
	for (unsigned k = 0; k <= LAST; k++)
		estimates.numbers[fm_counter_of_cache(k, FM_CACHE_lines_written)].value = 1000;
	fm_correct_writes(&course, 1, factors);
	assert_near(cycles_of_run(stores), 9000 + 5000, 1e-6);
	assert_cycles_change_by(5000);
}

/* Blocks: 3,000 false misses, as in false_misses_wait_for_the_cache(). Reads and writes need no correction. */
static void blocks_have_false_misses_corrected(void **state)
{
	(void)state;
	lay_misses();
	time_in_each(memory, 400);
	time_in_each(last, 100);
	time_in_each(FM_TIMING_latency_stalls + 1, 100);
	fm_correct_timing(&course, false, factors);
	assert_cycles_change_by(0);
	fm_correct_timing(&course, true, factors);
	assert_cycles_change_by(-30000 + 250 + 5000);
}

/* Blocks: of 1,000 hits of the last cache 400 were misses, as in evicted_lines_wait_for_memory(). */
static void blocks_have_false_hits_corrected(void **state)
{
	(void)state;
	count_in_each(fm_counter_of_cache(LAST, FM_CACHE_load_misses), 10);
	count_in_each(fm_counter_of_cache(1, FM_CACHE_load_misses), 20);
	estimates.numbers[fm_counter_of_cache(LAST, FM_CACHE_load_misses)].value = 1400;
	estimates.numbers[fm_counter_of_cache(1, FM_CACHE_load_misses)].value = 2000;
	time_in_each(memory, 100);
	time_in_each(last, 100);
	fm_correct_timing(&course, true, factors);
	assert_near(cycles_of_run(last), 6000, 1e-6);
	assert_cycles_change_by(4000 * 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(windows_stand_for_the_run, begin),
	    cmocka_unit_test_setup(the_first_cache_gives_the_weight, begin),
	    cmocka_unit_test_setup(false_misses_are_found, begin),
	    cmocka_unit_test_setup(false_misses_wait_for_the_cache, begin),
	    cmocka_unit_test_setup(nothing_false_changes_nothing, begin),
	    cmocka_unit_test_setup(evicted_lines_wait_for_memory, begin),
	    cmocka_unit_test_setup(false_reads_wait_less, begin),
	    cmocka_unit_test_setup(late_writes_wait_more, begin),
	    cmocka_unit_test_setup(blocks_have_false_misses_corrected, begin),
	    cmocka_unit_test_setup(blocks_have_false_hits_corrected, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
