/* Cycles of a run from what pieces of code took in the stretches that were timed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "engine/trace/piece_times.h"

enum { QUICK, SLOW, UNSEEN, PIECES, INSTRUCTIONS = 10, BYTES = 40 };

static struct fm_piece_total totals[PIECES];
static const uint64_t no_lines[FM_STRING_CLASSES];

static void set_up(uint64_t quick, uint64_t slow, uint64_t unseen)
{
	const uint64_t executed[PIECES] = {quick, slow, unseen};

	for (unsigned i = 0; i < PIECES; i++)
		totals[i] = (struct fm_piece_total){
		    .pc = 0x1000 * (i + 1ul), .bytes = BYTES, .instructions = INSTRUCTIONS, .executed = executed[i]};
}

static void note(struct fm_piece_times *times, unsigned piece, uint64_t cycles, unsigned count)
{
	struct fm_timing_counts took = {.cycles = cycles, .instructions = INSTRUCTIONS};

	took.stalls[FM_STALL_compute] = cycles / 2;
	for (unsigned i = 0; i < count; i++)
		fm_piece_times_note(times, piece, &took);
}

/* Most instructions are in the quick piece, most time in the slow one, and nearly all windows see that one. */
static void instructions_are_no_measure_of_time(void **state)
{
	struct fm_piece_times *times = fm_piece_times_create();
	struct fm_result_pieces sum;
	double truth;

	(void)state;
	assert_non_null(times);
	set_up(1000000, 20000, 0);
	for (unsigned i = 1; i <= 20; i++) {
		note(times, i == 1 ? QUICK : SLOW, i == 1 ? 3 : 4000, 30);
		fm_piece_times_end_stretch(times);
		fm_piece_times_end_window(times, i * 500000);
	}
	fm_piece_times_total(times, totals, PIECES, no_lines, &sum);
	truth = 1000000.0 * 3 + 20000.0 * 4000;
	assert_true(sum.timing.instructions == 10200000);
	assert_true(labs((long)sum.timing.cycles - (long)truth) < 0.001 * truth);
	assert_true(labs((long)sum.timing.stalls[FM_STALL_compute] - (long)(1000000.0 + 20000.0 * 2000)) < 100);
	assert_true(sum.timed == 1);
	fm_piece_times_destroy(times);
}

/* The same code in pieces of another cut. */
static void addresses_decide(void **state)
{
	struct fm_piece_times *times = fm_piece_times_create();
	struct fm_piece_total cut[2] = {
	    {.pc = 0x1000, .bytes = BYTES, .instructions = INSTRUCTIONS, .executed = 5000},
	    {.pc = 0x1000 + BYTES / 2, .bytes = BYTES / 2, .instructions = INSTRUCTIONS / 2, .executed = 0}};
	struct fm_timing_counts took = {.cycles = 35, .instructions = INSTRUCTIONS / 2};
	struct fm_result_pieces sum;

	(void)state;
	assert_non_null(times);
	for (unsigned i = 0; i < 4; i++) {
		fm_piece_times_note(times, 1, &took);
		fm_piece_times_end_stretch(times);
	}
	fm_piece_times_end_window(times, 1000);
	fm_piece_times_total(times, cut, 2, no_lines, &sum);
	assert_int_equal(sum.timing.cycles, 5000 * 70);
	fm_piece_times_destroy(times);
}

/* Lines of long string instructions are apart: how many there were of each size decides, not how often their piece
   began. A size that nobody timed is like the nearest one, and widens the error. */
static void strings_are_timed_by_lines(void **state)
{
	const int small = fm_string_class(true, false, 512), large = fm_string_class(true, false, 1 << 22),
	          between = fm_string_class(true, false, 1 << 15);
	struct fm_timing_counts quick = {.cycles = 1024}, slow = {.cycles = 2000000};
	uint64_t lines[FM_STRING_CLASSES] = {0};

	(void)state;
	lines[small] = 30000000;
	lines[large] = 20000000;
	/* of a size that nobody timed: none, some, and so many that windows would have seen them if each took as long
	 */
	for (unsigned other = 0; other < 3; other++) {
		struct fm_piece_times *times = fm_piece_times_create();
		const double seen = 1000.0 * 3 + 30e6 * 2 + 20e6 * 20, more[] = {0, 1e6 * 20, seen / 16};
		const uint64_t others[] = {0, 1000000, 100000000};
		double truth = seen + more[other];
		struct fm_result_pieces sum;

		assert_non_null(times);
		set_up(1000, 0, 0);
		for (unsigned i = 1; i <= 16; i++) {
			note(times, QUICK, 3, 2);
			if (i % 2)
				fm_piece_times_note_lines(times, (unsigned)small, 512, &quick);
			else
				fm_piece_times_note_lines(times, (unsigned)large, 100000, &slow);
			fm_piece_times_end_stretch(times);
			fm_piece_times_end_window(times, i * 3000000ul);
		}
		lines[between] = others[other];
		fm_piece_times_total(times, totals, PIECES, lines, &sum);
		assert_int_equal(sum.timing.instructions, 10000);
		assert_true(labs((long)sum.timing.cycles - (long)truth) < 0.001 * truth);
		assert_true(sum.timed == 1);
		assert_true(fabs(sum.error - more[other] / 2 / truth) < 0.01);
		fm_piece_times_destroy(times);
	}
}

/* Windows interrupt string instructions, which go on as shorter ones: all that was timed may be of sizes of which there
   were few. What these stand for are the others. */
static void interrupted_strings_are_timed(void **state)
{
	const int whole = fm_string_class(true, true, 1 << 22), rest = fm_string_class(true, true, 1 << 15);
	struct fm_piece_times *times = fm_piece_times_create();
	struct fm_timing_counts took = {.cycles = 1500000};
	uint64_t lines[FM_STRING_CLASSES] = {0};
	struct fm_result_pieces sum;
	double truth = 1000.0 * 3 + 101e6 * 15;

	(void)state;
	assert_non_null(times);
	set_up(1000, 0, 0);
	for (unsigned i = 1; i <= 16; i++) {
		note(times, QUICK, 3, 2);
		fm_piece_times_note_lines(times, (unsigned)rest, 100000, &took);
		fm_piece_times_end_stretch(times);
		fm_piece_times_end_window(times, i * 101000000ul / 16);
	}
	lines[whole] = 98000000;
	lines[rest] = 3000000;
	fm_piece_times_total(times, totals, PIECES, lines, &sum);
	assert_true(labs((long)sum.timing.cycles - (long)truth) < 0.05 * truth);
	assert_true(sum.error < 0.05);
	fm_piece_times_destroy(times);
}

/* Code that no window saw took little time: a cycle per instruction, and nobody knows. */
static void unseen_code_is_doubtful(void **state)
{
	struct fm_piece_times *times = fm_piece_times_create();
	struct fm_result_pieces sum;

	(void)state;
	assert_non_null(times);
	set_up(0, 1000, 1000);
	for (unsigned i = 0; i < 16; i++) {
		note(times, SLOW, 50, 10);
		fm_piece_times_end_stretch(times);
		fm_piece_times_end_window(times, 1000 * (i + 1ul));
	}
	fm_piece_times_total(times, totals, PIECES, no_lines, &sum);
	assert_int_equal(sum.timing.cycles, 1000 * 50 + 1000 * INSTRUCTIONS);
	assert_true(sum.timed == 0.5);
	assert_true(sum.error > 0.16 && sum.error < 0.18);
	set_up(0, 10, 1000);
	fm_piece_times_total(times, totals, PIECES, no_lines, &sum);
	assert_int_equal(sum.timing.instructions, 0);
	fm_piece_times_destroy(times);
}

/* The error covers the truth about as often as it says, where stretches differ by chance. */
static void the_error_is_honest(void **state)
{
	enum { RUNS = 400, STRETCHES = 24 };
	struct fm_random random;
	unsigned held = 0;

	(void)state;
	fm_random_seed(&random, 3);
	for (unsigned run = 0; run < RUNS; run++) {
		struct fm_piece_times *times = fm_piece_times_create();
		struct fm_result_pieces sum;
		double truth = 1000.0 * 100, off;

		assert_non_null(times);
		set_up(0, 1000, 0);
		for (unsigned i = 0; i < STRETCHES; i++) {
			note(times, SLOW, 50 + fm_random_below(&random, 101), 5);
			fm_piece_times_end_stretch(times);
		}
		fm_piece_times_end_window(times, 1000);
		fm_piece_times_total(times, totals, PIECES, no_lines, &sum);
		off = (double)sum.timing.cycles / truth - 1;
		held += (off < 0 ? -off : off) <= sum.error;
		fm_piece_times_destroy(times);
	}
	assert_true(held > 0.92 * RUNS && held < 0.995 * RUNS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(instructions_are_no_measure_of_time),
	    cmocka_unit_test(addresses_decide),
	    cmocka_unit_test(strings_are_timed_by_lines),
	    cmocka_unit_test(interrupted_strings_are_timed),
	    cmocka_unit_test(unseen_code_is_doubtful),
	    cmocka_unit_test(the_error_is_honest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
