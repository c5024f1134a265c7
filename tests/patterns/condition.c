/* Conditions for scripts, and the comparison of two runs, on invented pictures. */
#include "check.h"

#include <errno.h>
#include <string.h>

#include "patterns/condition.h"

static struct fm_recording recordings[2];
static struct fm_analysis *analyses[2];

static struct fm_figure share(double value, double half)
{
	return fm_figure_make(value, value - half, value + half, "", FM_ORIGIN_combined, "test", 9);
}

/* One thread that waits for memory in this part of its time, and calculates in the rest. */
static void make(unsigned which, double seconds, double waiting, double half)
{
	static const char *const names[] = {"L1", "L2", "memory"};
	struct fm_picture *picture = &analyses[which]->whole.picture;

	recordings[which].native = (struct fm_recorded_native){
	    .runs = 1, .seconds = share(seconds, seconds / 20), .cpu_seconds = seconds, .share_seconds = seconds};
	analyses[which]->recording = picture->recording = &recordings[which];
	picture->threads = 1;
	picture->level_count = 3;
	picture->active = share(100, 0);
	picture->memory_bound = share(100 * waiting, 100 * half);
	picture->signs.translation = picture->signs.supply = picture->signs.remote = share(0, 0);
	picture->off = picture->fault_seconds = picture->laboratory.waiting = fm_figure_unavailable("none");
	for (unsigned i = 0; i < 3; i++) {
		strcpy(picture->levels[i].name, names[i]);
		picture->levels[i].bandwidth_share = picture->levels[i].latency_share = share(0, 0);
		picture->levels[i].utilisation = share(0, 0);
		picture->levels[i].moved_bytes = share(1000 * (which + 1.0), 10);
	}
	picture->levels[2].latency_share = share(waiting, half);
}

static int begin(void **unused)
{
	(void)unused;
	for (unsigned i = 0; i < 2; i++) {
		memset(&recordings[i], 0, sizeof(recordings[i]));
		analyses[i] = calloc(1, sizeof(*analyses[i]));
		assert_non_null(analyses[i]);
	}
	make(0, 2, 0.8, 0.05);
	make(1, 1, 0.3, 0.1);
	return 0;
}

static int end(void **unused)
{
	(void)unused;
	free(analyses[0]);
	free(analyses[1]);
	return 0;
}

static enum fm_condition_state test(const char *text, unsigned which)
{
	struct fm_condition condition;
	struct fm_figure ignored;
	struct fm_error error;

	assert_int_equal(fm_condition_parse(text, &condition, &error), 0);
	return fm_condition_test(&condition, analyses[which], &ignored);
}

static void texts(void **unused)
{
	static const char *const wrong[] = {
	    "",           "latency",     "latency>",     ">5",         "latency>x",   "latency>5%%",
	    "latency>-1", "latencies>5", "compute:L2>5", "latency>5 ", "latency>nan", "latency>1e9"};
	struct fm_condition condition;
	struct fm_error error;

	(void)unused;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(fm_condition_parse(wrong[i], &condition, &error), -EINVAL);
	assert_int_equal(fm_condition_parse("latency:memory>12.5%", &condition, &error), 0);
	assert_string_equal(condition.name, "latency:memory");
	assert_near(condition.percent, 12.5, 1e-9);
}

static void one_run(void **unused)
{
	(void)unused;
	assert_int_equal(test("latency:memory>70", 0), FM_CONDITION_TRUE);
	assert_int_equal(test("latency>70", 0), FM_CONDITION_TRUE);
	assert_int_equal(test("latency>80", 0), FM_CONDITION_OPEN);
	assert_int_equal(test("latency>90", 0), FM_CONDITION_FALSE);
	assert_int_equal(test("latency:L2>1", 0), FM_CONDITION_FALSE);
	assert_int_equal(test("imbalance>1", 0), FM_CONDITION_OPEN); /* nothing is known of threads */
}

static void two_runs(void **unused)
{
	struct fm_condition condition;
	struct fm_figure ignored;
	struct fm_error error;
	struct fm_runs runs;
	bool found = false;

	(void)unused;
	fm_runs_compare(analyses[0], analyses[1], &runs);
	assert_int_equal(runs.time.change, FM_CHANGE_LESS);
	assert_near(runs.time.ratio.value, 0.5, 1e-9);
	assert_int_equal(runs.level_count, 3);
	assert_int_equal(runs.levels[1].bytes.change, FM_CHANGE_MORE);
	for (unsigned i = 0; i < runs.cause_count; i++)
		if (!strcmp(runs.causes[i].name, "latency:memory")) {
			found = true;
			assert_int_equal(runs.causes[i].share.change, FM_CHANGE_LESS);
			assert_near(runs.causes[i].share.difference.value, -0.5, 1e-9);
		}
	assert_true(found);
	assert_int_equal(fm_condition_parse("time>5", &condition, &error), 0);
	assert_int_equal(fm_condition_test_runs(&condition, &runs, &ignored), FM_CONDITION_FALSE);
	fm_runs_compare(analyses[1], analyses[0], &runs);
	assert_int_equal(fm_condition_test_runs(&condition, &runs, &ignored), FM_CONDITION_TRUE);
	make(1, 2, 0.8, 0.05);
	fm_runs_compare(analyses[0], analyses[1], &runs);
	assert_int_equal(runs.time.change, FM_CHANGE_NONE);
	assert_int_equal(fm_condition_test_runs(&condition, &runs, &ignored), FM_CONDITION_OPEN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(texts, begin, end),
	                                   cmocka_unit_test_setup_teardown(one_run, begin, end),
	                                   cmocka_unit_test_setup_teardown(two_runs, begin, end)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
