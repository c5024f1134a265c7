/* Counting for real, as far as a machine without a PMU goes, and every way in which it can be refused. */
#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "counters/counting.h"
#include "counters/listing.h"

static struct fm_count count_one(const char *name, void (*work)(void), bool inherit)
{
	const struct fm_target ourselves = {.task = 0, .inherit = inherit};
	struct fm_counting *counting = NULL;
	struct fm_event event;
	struct fm_error error;
	struct fm_count count;

	if (fm_event_resolve(name, &event, &error) || fm_counting_open(&event, 1, &ourselves, &counting, &error)) {
		print_message("%s\n", error.message);
		skip();
	}
	assert_int_equal(fm_counting_start(counting), 0);
	work();
	assert_int_equal(fm_counting_stop(counting), 0);
	fm_counting_read(counting, &count);
	fm_counting_close(counting);
	return count;
}

/* what else faults meanwhile; a sanitizer has pages of its own for those of the program */
enum { PAGES = 1000, EXTRA = SANITIZED ? 250 : 20 };

static void touch_pages(void)
{
	volatile char *pages = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(pages != MAP_FAILED);
	madvise((void *)pages, PAGES * 4096, MADV_NOHUGEPAGE);
	for (unsigned i = 0; i < PAGES; i++)
		pages[i * 4096] = 1;
	munmap((void *)pages, PAGES * 4096);
}

static void *in_thread(void *unused)
{
	touch_pages();
	return unused;
}

static void touch_in_two_threads(void)
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, in_thread, NULL), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

static void software_events_count(void **state)
{
	struct fm_count count = count_one("page-faults", touch_pages, false);

	(void)state;
	assert_true(count.figure.available);
	assert_in_range(count.value, PAGES, PAGES + EXTRA);
	assert_true(count.figure.low == count.figure.high);
	/* threads are followed when asked for, and only then */
	count = count_one("page-faults", touch_in_two_threads, true);
	assert_in_range(count.value, 2 * PAGES, 2 * PAGES + 3 * EXTRA);
	count = count_one("page-faults", touch_in_two_threads, false);
	assert_in_range(count.value, 0, 3 * EXTRA);
}

static volatile uint64_t watched;

static void write_watched(void)
{
	for (unsigned i = 0; i < 1234; i++)
		watched = i;
}

static void breakpoints_count(void **state)
{
	struct fm_count count;
	char name[64];

	(void)state;
	snprintf(name, sizeof(name), "mem:0x%llx/8:w", (unsigned long long)(uintptr_t)&watched);
	count = count_one(name, write_watched, false);
	assert_int_equal(count.value, 1234);
}

static void sleep_often(void)
{
	for (int i = 0; i < 20; i++)
		usleep(100);
}

static void tracepoints_count(void **state)
{
	struct fm_count count = count_one("sched:sched_switch", sleep_often, false);

	(void)state;
	assert_true(count.value >= 20 && count.value < 1000);
}

static void groups_count_together(void **state)
{
	const struct fm_target ourselves = {.task = 0};
	struct fm_counting *counting = NULL;
	struct fm_event events[3];
	struct fm_error error;
	struct fm_count counts[3];

	(void)state;
	assert_int_equal(fm_events_parse("{page-faults,minor-faults,task-clock}", events, 3, &error), 3);
	if (fm_counting_open(events, 3, &ourselves, &counting, &error))
		skip();
	fm_counting_start(counting);
	touch_pages();
	fm_counting_stop(counting);
	fm_counting_read(counting, counts);
	fm_counting_close(counting);
	assert_int_equal(counts[0].value, counts[1].value);
	assert_int_equal(counts[0].enabled, counts[1].enabled);
	assert_true(counts[2].value > 0);
	assert_string_equal(counts[2].figure.unit, "ns");
}

/* Every refusal has its own words and a remedy, and none ends as a zero. */
static void refusals_are_told_apart(void **state)
{
	static const struct {
		const char *fault, *words;
	} cases[] = {
	    {"ENOENT", "provides no hardware counters|supports no hardware counters"},
	    {"EACCES", "not permitted (perf_event_paranoid is"},
	    {"ENOSYS", "missing or filtered"},
	    {"EBUSY", "already in use"},
	    {"EMFILE", "too many open files"},
	    {"EINVAL", "does not accept hardware counters"},
	};
	const struct fm_target ourselves = {.task = 0};
	struct fm_counting *counting = NULL;
	struct fm_event event;
	struct fm_error error;
	char messages[6][480];

	(void)state;
	assert_int_equal(fm_event_resolve("instructions", &event, &error), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char words[128], *other;

		setenv("FATHOM_FAULTS", cases[i].fault, 1);
		assert_int_equal(fm_counting_open(&event, 1, &ourselves, &counting, &error), -ENOTSUP);
		snprintf(words, sizeof(words), "%s", cases[i].words);
		other = strchr(words, '|');
		if (other)
			*other++ = 0;
		if (!strstr(error.message, words) && !(other && strstr(error.message, other)))
			fail_msg("%s: %s", cases[i].fault, error.message);
		snprintf(messages[i], sizeof(messages[i]), "%s", error.message);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(messages[i], messages[k]);
	}
	unsetenv("FATHOM_FAULTS");
}

static void what_did_not_count_is_not_zero(void **state)
{
	struct fm_listing listing;
	struct fm_count count;

	(void)state;
	setenv("FATHOM_FAULTS", "never", 1);
	count = count_one("page-faults", touch_pages, false);
	assert_false(count.figure.available);
	assert_non_null(strstr(count.figure.why, "never gave it a counter"));
	/* one that opens and stays at zero while what it counts happens does not count */
	setenv("FATHOM_FAULTS", "zero", 1);
	assert_int_equal(fm_listing_create("page-faults", true, &listing), 0);
	assert_int_equal(listing.count, 1);
	assert_int_equal(listing.events[0].opens, FM_ANSWER_YES);
	assert_int_equal(listing.events[0].counts, FM_ANSWER_NO);
	assert_non_null(strstr(listing.events[0].why, "stays at zero"));
	fm_listing_free(&listing);
	unsetenv("FATHOM_FAULTS");
}

/* Shared counters: scaled, and with an interval that grows with what was not seen. */
static void shares_widen_the_interval(void **state)
{
	struct fm_event event = {.name = "x", .pmu = "cpu", .scale = 1};
	struct fm_count zero = {0}, count = {.value = 1000000, .enabled = 4000000000ull, .running = 1000000000ull}, got;
	double narrow;

	(void)state;
	fm_count_difference(&event, &count, &zero, &got);
	assert_near(got.figure.value, 4e6, 1);
	/* 250 slices of 4 ms, three quarters unseen: 1.96 sqrt(0.75 / 250) = 10.7 % */
	assert_near(got.figure.high / got.figure.value, 1.1074, 0.001);
	assert_true(got.figure.low >= 1e6);
	narrow = got.figure.high;
	count.enabled = 1001000000ull;
	fm_count_difference(&event, &count, &zero, &got);
	assert_true(got.figure.high < narrow && got.figure.high > got.figure.value);
	count.enabled = count.running;
	fm_count_difference(&event, &count, &zero, &got);
	assert_true(got.figure.low == got.figure.high && got.figure.value == 1e6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(software_events_count),     cmocka_unit_test(breakpoints_count),
	    cmocka_unit_test(tracepoints_count),         cmocka_unit_test(groups_count_together),
	    cmocka_unit_test(refusals_are_told_apart),   cmocka_unit_test(what_did_not_count_is_not_zero),
	    cmocka_unit_test(shares_widen_the_interval),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
