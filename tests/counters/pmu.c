/* The perf back end on a real PMU: this program is the first process of an emulated arm64 machine, whose clock is the
   number of executed instructions, so that what its counters say can be computed. It prints a line for each check, then
   a summary, and switches the machine off. */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../include/fathom.h"
#include "counters/counting.h"
#include "counters/direct.h"
#include "counters/listing.h"
#include "counters/markers.h"
#include "counters/sysfs.h"

static unsigned checks, failures;

static void check(bool holds, const char *format, ...)
{
	va_list arguments;

	checks++;
	failures += !holds;
	printf("%s ", holds ? "ok" : "FAILED");
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	printf("\n");
	fflush(stdout);
}

/* Exactly two instructions per round. */
static void work(uint64_t rounds)
{
	__asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(rounds) : : "cc");
}

static int count(const char *list, bool inherit, void (*what)(void), struct fm_count *ret_counts,
                 struct fm_error *error)
{
	const struct fm_target ourselves = {.task = 0, .inherit = inherit};
	struct fm_event events[FM_EVENTS_MAX];
	struct fm_counting *counting;
	int number = fm_events_parse(list, events, FM_EVENTS_MAX, error);

	if (number < 0)
		return number;
	if (fm_counting_open(events, (unsigned)number, &ourselves, &counting, error))
		return -error->code;
	fm_counting_start(counting);
	what();
	fm_counting_stop(counting);
	fm_counting_read(counting, ret_counts);
	fm_counting_close(counting);
	return number;
}

static uint64_t rounds;

static void work_rounds(void)
{
	work(rounds);
}

static void *work_in_thread(void *unused)
{
	work(rounds);
	return unused;
}

static void work_in_two_threads(void)
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work_in_thread, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

/* Instructions between start and stop that are not the loop's are the same each time: one run calibrates them. */
static void exact_counts(void)
{
	struct fm_count one[1], two[1];
	struct fm_error error = {0};

	for (uint64_t n = 1000; n <= 10000000; n *= 100) {
		rounds = n;
		if (count("instructions:u", false, work_rounds, one, &error) != 1) {
			check(false, "instructions open: %s", error.message);
			return;
		}
		rounds = 2 * n;
		count("instructions:u", false, work_rounds, two, &error);
		check(two->value - one->value == 2 * n, "%llu more rounds are %llu more instructions",
		      (unsigned long long)n, (unsigned long long)(two->value - one->value));
		check(one->figure.available && one->figure.low == one->figure.high,
		      "a counter of its own has no interval");
	}
}

static void groups(void)
{
	struct fm_count counts[3];
	struct fm_error error = {0};

	rounds = 1000000;
	check(count("{instructions:u,cycles:u,r8:u}", false, work_rounds, counts, &error) == 3,
	      "a group of three opens %s", error.message);
	check(counts[0].enabled == counts[1].enabled && counts[0].running == counts[2].running, "and runs together");
	check(counts[0].value == counts[2].value, "instructions by name and by code agree: %llu and %llu",
	      (unsigned long long)counts[0].value, (unsigned long long)counts[2].value);
	check(counts[1].value > 0, "cycles: %llu", (unsigned long long)counts[1].value);
}

static void threads(void)
{
	struct fm_count with[1], without[1];
	struct fm_error error = {0};

	rounds = 5000000;
	count("instructions:u", true, work_in_two_threads, with, &error);
	count("instructions:u", false, work_in_two_threads, without, &error);
	check(with->value >= 4 * rounds && with->value < 4 * rounds + 200000, "two threads inherited: %llu of %llu",
	      (unsigned long long)with->value, (unsigned long long)(4 * rounds));
	check(without->value < 200000, "not inherited: %llu", (unsigned long long)without->value);
}

/* More events than counters: each is seen part of the time and scaled. */
static void shared_counters(void)
{
	struct fm_count counts[10], alone[1];
	struct fm_error error = {0};
	unsigned shared = 0, near = 0, covered = 0;
	double truth;

	rounds = 400000000;
	count("instructions:u", false, work_rounds, alone, &error);
	truth = (double)alone->value;
	if (count("r8:u,r8:u,r8:u,r8:u,r8:u,r8:u,r8:u,r8:u,r8:u,r8:u", false, work_rounds, counts, &error) != 10) {
		check(false, "ten events open: %s", error.message);
		return;
	}
	for (unsigned i = 0; i < 10; i++) {
		shared += counts[i].running < counts[i].enabled;
		near += counts[i].figure.available && counts[i].figure.value > 0.99 * truth &&
		        counts[i].figure.value < 1.01 * truth;
		covered +=
		    counts[i].figure.available && counts[i].figure.low <= truth && truth <= counts[i].figure.high;
	}
	check(shared >= 4, "%u of 10 events shared counters", shared);
	check(near == 10, "%u of 10 scaled values are within 1 %%", near);
	check(covered == 10, "%u of 10 intervals hold the truth", covered);
}

static void refusals(void)
{
	struct fm_count counts[40];
	struct fm_error error = {0};
	struct fm_listing listing;
	int status = count("LLC-load-misses", false, work_rounds, counts, &error);

	check(status == -ENOTSUP && strstr(error.message, "hardware counters for it"), "no cache event here: %s",
	      error.message);
	status = count("{r8,r8,r8,r8,r8,r8,r8,r8,r8,r8,r8,r8}", false, work_rounds, counts, &error);
	check(status == -ENOTSUP && strstr(error.message, "group"), "a group that is too large: %s", error.message);
	/* a code that is not implemented opens, and must not be taken for a count */
	rounds = 1000000;
	status = count("r3f:u", false, work_rounds, counts, &error);
	check(status == 1 && counts[0].value == 0, "an event that is not implemented opens and stays at zero");
	check(!fm_listing_create("instructions", true, &listing) && listing.count >= 1 &&
	          listing.events[0].counts == FM_ANSWER_YES,
	      "the list says that instructions count");
	fm_listing_free(&listing);
	check(!fm_listing_create("LLC-load-misses", true, &listing) && listing.count == 1 &&
	          listing.events[0].opens == FM_ANSWER_NO,
	      "and that cache misses do not open");
	fm_listing_free(&listing);
}

static void names(void)
{
	struct fm_count counts[2];
	struct fm_error error = {0};
	int status;

	rounds = 1000000;
	status = count("inst_retired:u,cpu_cycles:u", false, work_rounds, counts, &error);
	check(status == 2 && counts[0].value > 0, "names the PMU gives in sysfs: %s",
	      status < 0 ? error.message : "count");
}

/* Without a system call, and with the same result. */
static void direct_reads(void)
{
	FILE *allow = fopen("/proc/sys/kernel/perf_user_access", "w");
	struct fm_event event;
	struct fm_direct direct;
	struct fm_error error = {0};
	uint64_t before, after, again;

	if (allow) {
		fputs("1", allow);
		fclose(allow);
	}
	if (fm_event_resolve("instructions:u", &event, &error) || fm_direct_open(&event, &direct, &error)) {
		check(false, "direct: %s", error.message);
		return;
	}
	check(fm_direct_is_direct(&direct), "the counter can be read without a system call");
	fm_direct_read(&direct, &before);
	work(1000000);
	fm_direct_read(&direct, &after);
	fm_direct_read(&direct, &again);
	check(after - before >= 2000000 && after - before < 2000200, "direct: %llu instructions for 2000000",
	      (unsigned long long)(after - before));
	check(again - after < 200, "one direct read costs %llu instructions", (unsigned long long)(again - after));
	fm_direct_close(&direct);
}

static void *mark(void *unused)
{
	(void)unused;
	for (int i = 0; i < 3; i++) {
		fathom_region_begin("outer");
		work(100000);
		fathom_region_begin("inner");
		work(50000);
		fathom_region_end("inner");
		fathom_region_end("outer");
	}
	return NULL;
}

/* Marked regions with hardware counters of their own thread, in one group. */
static void regions(void)
{
	struct fm_event events[FM_EVENTS_MAX];
	struct fm_markers *markers;
	struct fm_marked *marked;
	struct fm_error error = {0};
	int number = fm_events_parse("instructions:u,cycles:u", events, FM_EVENTS_MAX, &error), status = 0;
	unsigned count = 0;
	uint64_t lost = 0;
	pid_t child;

	if (number != 2 || fm_markers_create(events, 2, &markers, &error)) {
		check(false, "markers: %s", error.message);
		return;
	}
	child = fork();
	if (!child) {
		pthread_t other;

		fm_markers_announce(markers);
		/* no program is executed here that would ask when it begins */
		fathom_listening_ = 0;
		pthread_create(&other, NULL, mark, NULL);
		mark(NULL);
		pthread_join(other, NULL);
		_exit(0);
	}
	waitpid(child, &status, 0);
	fm_markers_read(markers, &marked, &count, &lost, &error);
	check(count == 4 && !lost && !status, "two regions in two threads: %u", count);
	for (unsigned i = 0; i < count; i++) {
		uint64_t truth = strcmp(marked[i].name, "inner") ? 900000 : 300000, seen = marked[i].counts[0].value;

		check(seen >= truth && seen < truth + 6000, "%s, thread %u: %llu instructions of %llu", marked[i].name,
		      marked[i].ordinal, (unsigned long long)seen, (unsigned long long)truth);
		check(marked[i].counts[1].value > 0 && marked[i].counts[1].enabled == marked[i].counts[0].enabled,
		      "counted in one group: %llu cycles", (unsigned long long)marked[i].counts[1].value);
	}
	fm_marked_free(marked, count);
	fm_markers_free(markers);
}

int main(void)
{
	mkdir("/tmp", 0755);
	mkdir("/proc", 0755);
	mkdir("/sys", 0755);
	mount("proc", "/proc", "proc", 0, NULL);
	mount("sys", "/sys", "sysfs", 0, NULL);
	exact_counts();
	groups();
	threads();
	shared_counters();
	names();
	refusals();
	direct_reads();
	regions();
	printf("RESULT %u checks, %u failed\n", checks, failures);
	fflush(stdout);
	sync();
	reboot(RB_POWER_OFF);
	return 0;
}
