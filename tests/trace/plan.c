/* What the laboratory plans from a log, and how it sets memory back, on invented logs. */
#include "check.h"

#include <stdio.h>
#include <string.h>

#include "trace/mappings.h"
#include "trace/plan.h"

enum { MOST = 1 << 17, LOOP = 0, OUTER = 1, CUT = 2, STORE_SITE = 1 };

static struct fm_translate_entry entries[MOST];
static const struct fm_trace_piece pieces[] = {
    /* a loop of 5 instructions, and what goes around it: 100 more */
    [LOOP] = {.pc = 0x1000, .bytes = 20, .instructions = 5, .end = FM_TRANSLATE_BRANCH},
    [OUTER] = {.pc = 0x2000, .bytes = 400, .instructions = 100, .end = FM_TRANSLATE_BRANCH},
    [CUT] = {.pc = 0x1000, .bytes = 8, .instructions = 2, .end = FM_TRANSLATE_CUT}};
static const struct fm_trace_site sites[] = {{.size = 8}, {.size = 8}};
static const uint64_t loop_end = 0x1014, outer_end = 0x2190;
static const struct fm_plan_limits limits = {64, 64, 12, 48};
static struct fm_plan_log trace = {
    .entries = entries, .pieces = pieces, .piece_count = 3, .sites = sites, .site_count = 2};

static void add(uint64_t address, uint64_t site)
{
	assert_true(trace.count < MOST);
	entries[trace.count++] = (struct fm_translate_entry){address, site};
}

/* `inner` passes of the loop with a reference each, and the rest around it, until the log is long enough. */
static void make_log(unsigned inner, uint64_t distance)
{
	uint64_t address = 1 << 20;

	trace.count = 0;
	while (fm_plan_instructions(&trace) < FM_PLAN_LENGTH) {
		for (unsigned i = 0; i < inner; i++, address += distance) {
			add(0, FM_TRANSLATE_PIECE_ENTRY | LOOP);
			add(address, 0);
		}
		add(0, FM_TRANSLATE_PIECE_ENTRY | OUTER);
	}
}

static void marks_are_seldom(void **unused)
{
	(void)unused;
	make_log(20, 0);
	assert_int_equal(fm_plan_choose(&trace), outer_end);
	/* one every 5,100 instructions is too seldom */
	make_log(1000, 0);
	assert_int_equal(fm_plan_choose(&trace), loop_end);
	trace.count = 0;
	assert_int_equal(fm_plan_choose(&trace), 0);
}

static void all_that_fits_is_timed(void **unused)
{
	struct fm_plan plan;

	(void)unused;
	make_log(20, 0);
	assert_int_equal(fm_plan_make(&trace, outer_end, &limits, &plan), FM_TIMING_DONE);
	/* each visit is 200 instructions, and 100 of them the run-up */
	assert_in_range(plan.place_at, 100, 102);
	assert_in_range(plan.until, 158, 161);
	assert_int_equal(plan.instructions, (plan.until - plan.from) * 200);
	assert_true(plan.from > plan.place_at);
	assert_int_equal(plan.line_count, 1);
	assert_int_equal(plan.page_count, 1);
	assert_in_range(plan.apart * 200, FM_PLAN_STRETCH, FM_PLAN_STRETCH + 400);
}

/* Lines are placed up to where a set, or the translation of pages, is full. */
static void full_sets_end_it(void **unused)
{
	struct fm_plan plan;

	(void)unused;
	make_log(20, 64);
	assert_int_equal(fm_plan_make(&trace, outer_end, &limits, &plan), FM_TIMING_DONE);
	assert_int_equal(plan.line_count, 64 * 9);
	assert_in_range(plan.until - plan.place_at, 20, 29);
	make_log(20, 4096);
	assert_int_equal(fm_plan_make(&trace, outer_end, &limits, &plan), FM_TIMING_SETS);
	make_log(2, 4096 + 64);
	assert_int_equal(fm_plan_make(&trace, outer_end, &limits, &plan), FM_TIMING_DONE);
	assert_int_equal(plan.page_count, 48);
}

/* The second half stays, as a whole number of steps; a stretch that would be too short stays whole. */
static void stretches_are_halved(void **unused)
{
	struct fm_plan plan, whole;

	(void)unused;
	make_log(1000, 8);
	assert_int_equal(fm_plan_make(&trace, loop_end, &limits, &plan), FM_TIMING_DONE);
	whole = plan;
	fm_plan_halve(&trace, loop_end, &plan);
	assert_int_equal(plan.until, whole.until);
	assert_int_equal((plan.until - plan.from) % FM_PLAN_COPIES, 0);
	assert_in_range(2 * (plan.until - plan.from) + 2 * FM_PLAN_COPIES, whole.until - whole.from,
	                whole.until - whole.from + 2 * FM_PLAN_COPIES);
	assert_in_range(2 * plan.instructions, whole.instructions / 10 * 8, whole.instructions);
	plan.from = plan.until - FM_PLAN_COPIES;
	whole = plan;
	fm_plan_halve(&trace, loop_end, &plan);
	assert_memory_equal(&plan, &whole, sizeof(plan));
}

static void loops_may_be_copied(void **unused)
{
	struct fm_plan plan;

	(void)unused;
	make_log(1000, 8);
	assert_int_equal(fm_plan_make(&trace, loop_end, &limits, &plan), FM_TIMING_DONE);
	assert_int_equal((plan.until - plan.from) % FM_PLAN_COPIES, 0);
	assert_int_equal(plan.apart % FM_PLAN_COPIES, 0);
	/* a translation that began in the middle of the loop divides it */
	make_log(1000, 8);
	for (size_t i = 0; i < trace.count; i++)
		if (entries[i].site == (FM_TRANSLATE_PIECE_ENTRY | LOOP) && i % 4)
			entries[i + 1] = (struct fm_translate_entry){0, FM_TRANSLATE_PIECE_ENTRY | CUT};
	assert_int_equal(fm_plan_make(&trace, loop_end, &limits, &plan), FM_TIMING_DONE);
	assert_int_equal((plan.until - plan.from) % FM_PLAN_COPIES, 0);
	/* without a visit right behind another */
	make_log(1, 8);
	assert_int_equal(fm_plan_make(&trace, loop_end, &limits, &plan), FM_TIMING_DONE);
}

static void refusals(void **unused)
{
	struct fm_plan plan;

	(void)unused;
	make_log(20, 0);
	assert_int_equal(fm_plan_make(&trace, 0x77, &limits, &plan), FM_TIMING_OTHER_MARK);
	assert_int_equal(fm_plan_make(&trace, 0, &limits, &plan), FM_TIMING_OTHER_MARK);
	trace.count /= 2;
	assert_int_equal(fm_plan_make(&trace, outer_end, &limits, &plan), FM_TIMING_SHORT);
	assert_int_equal(fm_plan_make(&trace, 0, &limits, &plan), FM_TIMING_SHORT);
	make_log(20, 0);
	/* no processor has these caches */
	assert_int_equal(fm_plan_make(&trace, outer_end, &(struct fm_plan_limits){64, 0, 12, 48}, &plan),
	                 FM_TIMING_MEMORY);
	assert_int_equal(fm_plan_make(&trace, outer_end, &(struct fm_plan_limits){64, 1 << 20, 12, 48}, &plan),
	                 FM_TIMING_MEMORY);
}

/* Stores of several sizes, to the same bytes. */
static void memory_is_set_back(void **unused)
{
	uint8_t memory[64], before[64];

	(void)unused;
	for (unsigned i = 0; i < sizeof(memory); i++)
		before[i] = memory[i] = (uint8_t)(3 * i);
	trace.count = 0;
	for (unsigned i = 0; i < 1000; i++) {
		unsigned at = i * 7 % 32, size = i % 23 + 1;

		add((uint64_t)(memory + at), STORE_SITE);
		for (unsigned done = 0; done < size;) {
			unsigned bytes = size - done >= 8 ? 8 : size - done >= 4 ? 4 : size - done >= 2 ? 2 : 1;
			uint64_t old = 0;

			memcpy(&old, memory + at + done, bytes);
			add(old, FM_TRANSLATE_OLD_ENTRY | bytes);
			done += bytes;
		}
		memset(memory + at, (int)i, size);
	}
	assert_memory_not_equal(memory, before, sizeof(memory));
	fm_plan_undo(&trace);
	assert_memory_equal(memory, before, sizeof(memory));
	assert_false(fm_plan_avoids(&trace, (uint64_t)memory + 4, (uint64_t)memory + 8));
	assert_true(fm_plan_avoids(&trace, (uint64_t)memory + 64, (uint64_t)memory + 128));
	/* a log that begins in the middle of a store says nothing of where that was */
	trace.entries++;
	trace.count = 1;
	fm_plan_undo(&trace);
	trace.entries--;
}

static const char ordinary[] = "55d0c0000000-55d0c0001000 r-xp 00000000 08:01 77 /bin/true\n"
                               "7f0000000000-7f0000001000 rw-s 00000000 00:01 12 /dev/shm/a file\n"
                               "7ffe6a7d2000-7ffe6a7d6000 r--p 00000000 00:00 0 [vvar]\n"
                               "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n";

static bool feed(const char *text, size_t part, struct fm_mappings *mappings)
{
	struct fm_mappings_reader reader = {.mappings = mappings};
	size_t length = strlen(text);

	mappings->count = 0;
	for (size_t at = 0; at < length; at += part)
		fm_mappings_feed(&reader, text + at, length - at < part ? length - at : part);
	return !reader.refused;
}

static void shared_memory_is_found(void **unused)
{
	struct fm_mappings mappings;
	char many[8192] = "";

	(void)unused;
	for (size_t part = 1; part < 300; part += 13) {
		assert_true(feed(ordinary, part, &mappings));
		assert_int_equal(mappings.count, 2);
		assert_int_equal(mappings.shared[0].start, 0x7f0000000000);
		assert_int_equal(mappings.shared[0].end, 0x7f0000001000);
		assert_int_equal(mappings.shared[1].start, 0x7ffe6a7d2000);
		assert_false(feed("1000-2000 rw-s 00000000 00:0e 1 anon_inode:[io_uring]\n", part, &mappings));
		assert_false(feed("1000-2000 rw-s 00000000 00:0f 1 /[aio] (deleted)\n", part, &mappings));
	}
	assert_false(feed("nonsense\n", 5, &mappings));
	assert_false(feed("2000-1000 rw-p 0\n", 5, &mappings));
	assert_false(feed("1000-2000 rw\n", 5, &mappings));
	for (unsigned i = 0; i <= FM_MAPPINGS; i++)
		sprintf(many + strlen(many), "%x000-%x000 rw-s 0 0 0\n", 2 * i + 1, 2 * i + 2);
	assert_false(feed(many, 100, &mappings));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(marks_are_seldom),    cmocka_unit_test(all_that_fits_is_timed),
	    cmocka_unit_test(full_sets_end_it),    cmocka_unit_test(stretches_are_halved),
	    cmocka_unit_test(loops_may_be_copied), cmocka_unit_test(refusals),
	    cmocka_unit_test(memory_is_set_back),  cmocka_unit_test(shared_memory_is_found)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
