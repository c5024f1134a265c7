/* Windows of references: how they are written down, which lines survive them, what is watched, and the clock's words.
 */
#include "check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "record/rhythm.h"
#include "record/watch_slots.h"
#include "record/window_code.h"
#include "record/window_log.h"

static struct fm_window_log log_;
static struct fm_window_habits habits;

static void begin(void)
{
	fm_window_log_begin(&log_);
	memset(&habits, 0, sizeof(habits));
}

static void touch(uint64_t line, unsigned word, uint64_t code)
{
	assert_true(fm_window_log_add(&log_, line * 64 + word * 8, code));
}

static void lines_come_back(void **state)
{
	struct fm_random random;
	uint64_t lines[FM_WINDOW_ROOM], numbers[FM_WINDOW_ROOM];

	(void)state;
	fm_random_seed(&random, 1);
	begin();
	for (uint32_t i = 0; i < 5000; i++) {
		lines[i] = fm_random_below(&random, 1 + fm_random_below(&random, 3000)) + 1000000;
		touch(lines[i], 0, 1);
	}
	fm_window_log_link(&log_, &habits);
	assert_int_equal(fm_window_decode(log_.bytes, fm_window_log_encode(&log_), numbers, 5000), 0);
	for (uint32_t i = 0; i < 5000; i++)
		for (uint32_t k = i > 50 ? i - 50 : 0; k < i; k++)
			assert_int_equal(lines[i] == lines[k], numbers[i] == numbers[k]);
}

static void damaged_windows_are_refused(void **state)
{
	const uint8_t good[] = {0, 0, 2, 1}, before_the_first[] = {0, 2, 1}, endless[] = {0, 0x80, 0x80, 0x80, 0x80, 1};
	uint64_t lines[8];

	(void)state;
	assert_int_equal(fm_window_decode(good, 4, lines, 4), 0);
	assert_true(lines[0] == lines[2] && lines[2] == lines[3] && lines[0] != lines[1]);
	assert_int_equal(fm_window_decode(good, 4, lines, 3), -EBADMSG);
	assert_int_equal(fm_window_decode(good, 4, lines, 5), -EBADMSG);
	assert_int_equal(fm_window_decode(before_the_first, 3, lines, 3), -EBADMSG);
	assert_int_equal(fm_window_decode(endless, 6, lines, 2), -EBADMSG);
	assert_int_equal(fm_window_decode(good, 0, lines, 1), -EBADMSG);
}

/* Lines that are not touched again, at least 3/8 of the window old, each as often as the other. */
static void survivors_are_drawn_evenly(void **state)
{
	struct fm_random random;
	unsigned drawn[80] = {0};

	(void)state;
	fm_random_seed(&random, 7);
	begin();
	for (unsigned i = 0; i < 80; i++)
		touch(i < 10 ? 1 : 100 + i, 0, 1); /* the first ten: one line, of which the last touch survives */
	fm_window_log_link(&log_, &habits);
	/* 50 positions are old enough, and nine of them are touched again */
	assert_int_equal(log_.survivors, 41);
	for (unsigned i = 0; i < 41000; i++) {
		uint32_t position = fm_window_log_choose(&log_, fm_random_next(&random));

		assert_true(position < 50 && position >= 9);
		drawn[position]++;
	}
	for (unsigned i = 9; i < 50; i++)
		assert_true(drawn[i] > 800 && drawn[i] < 1200);
}

/* A sweep begins with the first word of each line: one word is enough. Scattered references may begin anywhere. */
static void words_are_learnt(void **state)
{
	struct fm_random random;
	uint64_t words[8];
	double share;
	unsigned count;

	(void)state;
	begin();
	for (unsigned i = 0; i < 4096; i++)
		touch(1000 + i / 8, i % 8, 10 + i % 8);
	fm_window_log_link(&log_, &habits);
	count = fm_window_log_words(&log_, &habits, 807, 4, words, &share); /* the last word of a line */
	assert_int_equal(count, 1);
	assert_int_equal(words[0], (1000 + 100) * 8);
	assert_true(share > 0.9);

	fm_random_seed(&random, 3);
	begin();
	habits = (struct fm_window_habits){.visits = 100, .same = 12.5};
	for (unsigned i = 0; i < 4096; i++)
		touch(1000 + fm_random_below(&random, 100000), (unsigned)fm_random_below(&random, 8), 10);
	fm_window_log_link(&log_, &habits);
	count = fm_window_log_words(&log_, &habits, 100, 4, words, &share);
	assert_int_equal(count, 4);
	assert_true(share > 0.4 && share < 0.65);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(words[i] / 8, log_.words[100] / 8);
	assert_int_equal(words[0], log_.words[100]);
}

static void watchpoints_are_given_out(void **state)
{
	struct fm_watch_slots slots = {0};
	struct fm_watch *first, *second, *rest;

	(void)state;
	assert_int_equal(fm_watch_slots_free(&slots), 15);
	first = fm_watch_slots_take(&slots, 1, 1u << 20);
	second = fm_watch_slots_take(&slots, 1, 1u << 20);
	assert_int_equal(first->points, 8); /* the last one, which is kept longest */
	assert_int_equal(second->points, 4);
	rest = fm_watch_slots_take(&slots, 4, 12345);
	assert_int_equal(rest->points, 3);
	assert_int_equal(rest->term, 1); /* it has the first one */
	assert_null(fm_watch_slots_take(&slots, 1, 1));
	assert_ptr_equal(fm_watch_slots_of(&slots, 1), rest);
	assert_ptr_equal(fm_watch_slots_of(&slots, 3), first);
	assert_true(fm_watch_slots_expired(rest));
	fm_watch_slots_release(rest);
	assert_int_equal(fm_watch_slots_free(&slots), 3);
	assert_null(fm_watch_slots_of(&slots, 0));
	first->term = 3;
	assert_false(fm_watch_slots_expired(first));
	assert_false(fm_watch_slots_expired(first));
	assert_true(fm_watch_slots_expired(first));
}

/* Four times as long with each, on average. */
static void terms_are_drawn(void **state)
{
	struct fm_random random;
	double sum = 0;

	(void)state;
	fm_random_seed(&random, 5);
	for (unsigned i = 0; i < 20000; i++) {
		struct fm_watch_slots slots = {0};

		sum += fm_watch_slots_take(&slots, 1, fm_random_next(&random))->term;
	}
	assert_true(sum / 20000 > 58 && sum / 20000 < 70);
}

static void regular_words_are_found(void **state)
{
	static struct fm_rhythm rhythm;
	struct fm_rhythm_choice choice;
	struct fm_random random;

	(void)state;
	fm_random_seed(&random, 9);
	fm_rhythm_begin(&rhythm);
	/* one word in 16 is looked at: so there are some that are touched every 5,000 references */
	for (uint64_t i = 0; i < 200000; i++, rhythm.references++)
		fm_rhythm_touch(&rhythm, i % 5000 < 64 ? 100 + i % 5000 : 1000000 + fm_random_below(&random, 3000));
	assert_true(fm_rhythm_choose(&rhythm, 4000, &choice));
	assert_true(choice.word >= 100 && choice.word < 164);
	assert_true(choice.gap > 4999 && choice.gap < 5001 && choice.variation < 0.01);
	/* what is touched at random is not regular */
	assert_false(fm_rhythm_choose(&rhythm, 6000, &choice));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(lines_come_back),
	    cmocka_unit_test(damaged_windows_are_refused),
	    cmocka_unit_test(survivors_are_drawn_evenly),
	    cmocka_unit_test(words_are_learnt),
	    cmocka_unit_test(watchpoints_are_given_out),
	    cmocka_unit_test(terms_are_drawn),
	    cmocka_unit_test(regular_words_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
