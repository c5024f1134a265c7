/* Waiting from the laboratory's rounds, on invented rounds with a known answer. */
#include "check.h"

#include <stdio.h>
#include <string.h>

#include "windows/laboratory.h"

enum { MOST = 4000, VISITS = 100 };

static struct fm_recorded_timing rows[MOST];
static struct fm_recording recording = {.timed = rows};
static unsigned seed;

/* -1 … 1, the same in every run */
static double noise(void)
{
	seed = seed * 1103515245 + 12345;
	return (double)(seed >> 16 & 0x7fff) / 16384 - 1;
}

static void add(const char *kind, double seconds, uint64_t mark)
{
	struct fm_recorded_timing *row = &rows[recording.timed_count++];

	assert_true(recording.timed_count <= MOST);
	*row = (struct fm_recorded_timing){
	    .mark = mark, .running = (uint32_t)mark, .seconds = seconds * VISITS, .visits = VISITS};
	snprintf(row->kind, sizeof(row->kind), "%s", kind);
}

static void add_problem(const char *problem)
{
	add("L1", 0, 0);
	rows[recording.timed_count - 1].visits = 0;
	snprintf(rows[recording.timed_count - 1].problem, sizeof(rows[0].problem), "%s", problem);
}

/* Rounds in turns: natural visits of 100 ns, placed ones of `first` and `second` ns. */
static void add_rounds(unsigned count, double first, double second, uint64_t mark)
{
	for (unsigned i = 0; i < count; i++) {
		bool is_first = i % 4;

		add(is_first ? "L1" : "L2", (is_first ? first : second) * 1e-9 * (1 + 0.2 * noise()), mark);
		add("natural", 100e-9 * (1 + 0.1 * noise()), mark);
	}
}

static int begin(void **unused)
{
	(void)unused;
	recording.timed_count = 0;
	seed = 1;
	return 0;
}

static void shares_are_found(void **unused)
{
	struct fm_laboratory laboratory;

	(void)unused;
	add_rounds(400, 40, 60, 1);
	fm_laboratory_estimate(&recording, FM_LABORATORY_EVERYWHERE, &laboratory);
	assert_true(laboratory.first.known && laboratory.second.known);
	assert_near(laboratory.first.value, 0.6, 0.01);
	assert_near(laboratory.second.value, 0.4, 0.02);
	assert_true(laboratory.first.low < 0.6 && laboratory.first.low > 0.55);
	assert_true(laboratory.first.high > 0.6 && laboratory.first.high < 0.65);
	assert_near(laboratory.covered, 1, 1e-9);
	assert_int_equal(laboratory.rounds, 400);
	assert_string_equal(laboratory.problem, "");
}

/* Reading the clock costs 20 ns in placed rounds only; two lengths show it. */
static void the_ends_of_a_stretch_are_subtracted(void **unused)
{
	struct fm_laboratory laboratory;

	(void)unused;
	for (unsigned i = 0; i < 200; i++) {
		struct fm_recorded_timing *row = &rows[recording.timed_count];

		add("L1", 0, 1);
		row->visits = i % 3 ? 40 : 20;
		row->seconds = 1e-9 * row->visits * (1 + 0.1 * noise()) + 20e-9;
		add("natural", 2e-9 * (1 + 0.1 * noise()), 1);
	}
	fm_laboratory_estimate(&recording, FM_LABORATORY_EVERYWHERE, &laboratory);
	assert_near(laboratory.first.value, 0.5, 0.03);
	assert_true(laboratory.first.low < 0.5 && laboratory.first.high > 0.5);
	assert_near(laboratory.covered, 1, 1e-9);
	/* of one length, nothing is known of it */
	recording.timed_count = 0;
	for (unsigned i = 0; i < 200; i++) {
		struct fm_recorded_timing *row = &rows[recording.timed_count];

		add("L1", 0, 1);
		row->visits = 45;
		row->seconds = 1e-9 * row->visits * (1 + 0.1 * noise()) + 20e-9;
		add("natural", 2e-9 * (1 + 0.1 * noise()), 1);
	}
	fm_laboratory_estimate(&recording, FM_LABORATORY_EVERYWHERE, &laboratory);
	assert_near(laboratory.first.value, 0.28, 0.03);
}

/* Lines on twice as many pages as the TLB holds are placed, their translations are not: half of 100 lines wait 10 ns.
 */
static void translations_are_not_placed(void **unused)
{
	struct fm_laboratory laboratory;

	(void)unused;
	recording.has_machine = true;
	recording.machine.frequency_ghz = 1;
	recording.machine.tlbs[0] = (struct fm_tlb_description){.entries = 64, .ways = 4, .penalty = 10};
	for (unsigned i = 0; i < 200; i++) {
		struct fm_recorded_timing *row = &rows[recording.timed_count];

		add("L1", 15e-9 * (1 + 0.1 * noise()), 1);
		row->lines = 200;
		row->pages = i % 2 ? 128 : 60;
		row->seconds -= i % 2 ? 0 : 500e-9;
		add("natural", 30e-9 * (1 + 0.1 * noise()), 1);
	}
	fm_laboratory_estimate(&recording, FM_LABORATORY_EVERYWHERE, &laboratory);
	assert_near(laboratory.first.value, 2.0 / 3, 0.03);
	recording.has_machine = false;
	fm_laboratory_estimate(&recording, FM_LABORATORY_EVERYWHERE, &laboratory);
	assert_near(laboratory.first.value, 0.58, 0.03);
}

/* One half of the time waits nine tenths, the other not at all; each is compared with its own natural time. */
static void phases_are_kept_apart(void **unused)
{
	struct fm_laboratory laboratory;

	(void)unused;
	add_rounds(200, 10, 12, 1);
	add_rounds(200, 100, 100, 2);
	fm_laboratory_estimate(&recording, FM_LABORATORY_EVERYWHERE, &laboratory);
	assert_near(laboratory.first.value, 0.45, 0.02);
	/* neighbours are alike: the interval knows that they say less */
	assert_true(laboratory.first.high - laboratory.first.low > 0.1);
	fm_laboratory_estimate(&recording, 1, &laboratory);
	assert_near(laboratory.first.value, 0.9, 0.02);
	fm_laboratory_estimate(&recording, 2, &laboratory);
	assert_near(laboratory.first.value, 0, 0.02);
	assert_near(laboratory.first.low, 0, 1e-9);
}

static void unknown_parts_are_bounds(void **unused)
{
	struct fm_laboratory laboratory;

	(void)unused;
	add_rounds(300, 40, 60, 1);
	for (unsigned i = 0; i < 100; i++)
		add_problem(i % 3 ? "a system call" : "a signal");
	fm_laboratory_estimate(&recording, FM_LABORATORY_EVERYWHERE, &laboratory);
	assert_near(laboratory.covered, 0.75, 1e-9);
	assert_string_equal(laboratory.problem, "a system call");
	/* these may wait never, or all the time */
	assert_true(laboratory.first.low <= 0.75 * 0.6 && laboratory.first.high >= 0.75 * 0.6 + 0.25);
}

static void little_says_nothing(void **unused)
{
	struct fm_laboratory laboratory;

	(void)unused;
	fm_laboratory_estimate(&recording, FM_LABORATORY_EVERYWHERE, &laboratory);
	assert_false(laboratory.first.known);
	assert_int_equal(laboratory.rounds, 0);
	add_rounds(6, 40, 60, 1);
	fm_laboratory_estimate(&recording, FM_LABORATORY_EVERYWHERE, &laboratory);
	assert_false(laboratory.first.known);
	/* without natural time, and with too short a time */
	recording.timed_count = 0;
	for (unsigned i = 0; i < 50; i++)
		add("L1", 40e-9, 1);
	fm_laboratory_estimate(&recording, FM_LABORATORY_EVERYWHERE, &laboratory);
	assert_false(laboratory.first.known);
	assert_int_equal(laboratory.compared, 0);
	recording.timed_count = 0;
	for (unsigned i = 0; i < 50; i++) {
		add("L1", 0.1e-9, 1);
		add("natural", 0.2e-9, 1);
	}
	fm_laboratory_estimate(&recording, FM_LABORATORY_EVERYWHERE, &laboratory);
	assert_int_equal(laboratory.compared, 0);
}

/* An interrupt in a placed stretch makes it slower than natural code ever is. */
static void interrupted_rounds_are_excluded(void **unused)
{
	struct fm_laboratory laboratory;

	(void)unused;
	for (unsigned i = 0; i < 30; i++) {
		add_rounds(10, 40, 60, 1);
		add("L1", 5e-6, 1);
	}
	fm_laboratory_estimate(&recording, FM_LABORATORY_EVERYWHERE, &laboratory);
	assert_true(laboratory.first.low <= 0.6 * laboratory.covered);
	assert_near(laboratory.first.value, 0.6, 0.02);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test_setup(shares_are_found, begin),
	                                   cmocka_unit_test_setup(phases_are_kept_apart, begin),
	                                   cmocka_unit_test_setup(unknown_parts_are_bounds, begin),
	                                   cmocka_unit_test_setup(little_says_nothing, begin),
	                                   cmocka_unit_test_setup(the_ends_of_a_stretch_are_subtracted, begin),
	                                   cmocka_unit_test_setup(translations_are_not_placed, begin),
	                                   cmocka_unit_test_setup(interrupted_rounds_are_excluded, begin)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
