/* The pace of rests, of invented positions with a known answer. */
#include "check.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "engine/trace/rest_pace.h"

enum { TICK = 4000000 };

static struct fm_trace_file *trace;

static void add(unsigned place, uint64_t pc, bool plain, uint32_t instructions, unsigned times)
{
	struct fm_trace_positions *positions = &trace->positions[place];

	for (unsigned i = 0; i < times && positions->count < FM_TRACE_POSITIONS; i++)
		positions->list[positions->count++] = (struct fm_trace_position){
		    .pc = pc, .ns = TICK, .plain = plain, .instructions = instructions, .thread = place + 1};
}

static int begin(void **state)
{
	(void)state;
	trace = mmap(NULL, sizeof(*trace), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return trace == MAP_FAILED;
}

static int end(void **state)
{
	(void)state;
	return munmap(trace, sizeof(*trace));
}

static void nothing_is_known(void **state)
{
	(void)state;
	assert_true(fm_rest_pace(trace) == 0);
	add(0, 0x1000, false, 0, 10);
	assert_true(fm_rest_pace(trace) == 0);
}

/* A program of two loops: the slow one has most of the rests, and a third of the plain code. */
static void each_loop_has_its_pace(void **state)
{
	double truth = 0.9 * 1 + 0.1 * 8, pace;

	(void)state;
	add(0, 0x401000, true, 1 * TICK, 20);
	add(0, 0x409000, true, 8u * TICK, 40);
	add(0, 0x401010, false, 0, 900);
	add(0, 0x409010, false, 0, 100);
	pace = fm_rest_pace(trace);
	print_message("%.3f, true %.3f, mean of plain code %.3f\n", pace, truth, (20 * 1 + 40 * 8) / 60.0);
	assert_true(fabs(pace / truth - 1) < 0.15);
}

/* Code that plain code never met is taken to be like the code around it, or like all. */
static void other_code_is_like_its_surroundings(void **state)
{
	(void)state;
	add(0, 0x401000, true, 2 * TICK, 30);
	add(1, 0x801000, true, 6 * TICK, 30);
	add(0, 0x401800, false, 0, 50);
	assert_true(fm_rest_pace(trace) < 2.3);
	trace->positions[0].count = trace->positions[1].count = 0;
	add(0, 0x401000, true, 2 * TICK, 30);
	add(1, 0x801000, true, 6 * TICK, 30);
	add(0, 0xc01800, false, 0, 50);
	assert_true(fabs(fm_rest_pace(trace) - 4) < 0.01);
}

/* Another process writes the file. */
static void impossible_paces_are_ignored(void **state)
{
	(void)state;
	add(0, 0x401000, true, 2 * TICK, 30);
	add(0, 0x401000, true, UINT32_MAX, 30);
	add(0, 0x401000, false, 0, 50);
	trace->positions[1].count = UINT32_MAX;
	assert_true(fabs(fm_rest_pace(trace) - 2) < 0.01);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(nothing_is_known, begin, end),
	    cmocka_unit_test_setup_teardown(each_loop_has_its_pace, begin, end),
	    cmocka_unit_test_setup_teardown(other_code_is_like_its_surroundings, begin, end),
	    cmocka_unit_test_setup_teardown(impossible_paces_are_ignored, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
