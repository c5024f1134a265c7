/* What counting costs: start, stop and read of a group; a read without a system call where there is such; and the whole
   of 'fathom stat' against 'perf stat' on a short program. Usage: bench_counters TOOL [PAIRS] (20 by default). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/statistics.h"
#include "counters/counting.h"
#include "counters/direct.h"

static double seconds(const char *command)
{
	uint64_t begin = fm_clock_now();

	return system(command) ? 0 : (double)(fm_clock_now() - begin) / 1e9;
}

static void report(const char *what, struct fm_sample *sample, const char *unit, double scale)
{
	struct fm_location location;

	if (fm_statistics_median(sample->values, sample->count, &location))
		printf("%-52s failed\n", what);
	else
		printf("%-52s %8.2f %s [%.2f, %.2f]\n", what, location.value * scale, unit, location.low * scale,
		       location.high * scale);
	fm_sample_free(sample);
}

static void group(const char *list)
{
	const struct fm_target ourselves = {.task = 0};
	struct fm_sample control = {0}, reading = {0};
	struct fm_event events[FM_EVENTS_MAX];
	struct fm_counting *counting;
	struct fm_error error;
	struct fm_count counts[FM_EVENTS_MAX];
	int count = fm_events_parse(list, events, FM_EVENTS_MAX, &error);
	enum { TIMES = 1000, TRIALS = 21 };

	if (count < 0 || fm_counting_open(events, (unsigned)count, &ourselves, &counting, &error)) {
		printf("%s: %s\n", list, error.message);
		return;
	}
	for (int trial = 0; trial < TRIALS; trial++) {
		uint64_t begin = fm_clock_now();

		for (int i = 0; i < TIMES; i++) {
			fm_counting_start(counting);
			fm_counting_stop(counting);
		}
		fm_sample_add(&control, (double)(fm_clock_now() - begin) / TIMES);
		begin = fm_clock_now();
		for (int i = 0; i < TIMES; i++)
			fm_counting_read(counting, counts);
		fm_sample_add(&reading, (double)(fm_clock_now() - begin) / TIMES);
	}
	fm_counting_close(counting);
	printf("%s\n", list);
	report("  start and stop", &control, "µs", 1e-3);
	report("  read, by system call", &reading, "µs", 1e-3);
}

static void direct(const char *name)
{
	struct fm_sample reading = {0};
	struct fm_direct counter;
	struct fm_event event;
	struct fm_error error;
	uint64_t value;
	enum { TIMES = 1000, TRIALS = 21 };

	if (fm_event_resolve(name, &event, &error) || fm_direct_open(&event, &counter, &error)) {
		printf("%s: %s\n", name, error.message);
		return;
	}
	for (int trial = 0; trial < TRIALS; trial++) {
		uint64_t begin = fm_clock_now();

		for (int i = 0; i < TIMES; i++)
			fm_direct_read(&counter, &value);
		fm_sample_add(&reading, (double)(fm_clock_now() - begin) / TIMES);
	}
	printf("%s, one event, %s\n", name, fm_direct_is_direct(&counter) ? "without a system call" : "by system call");
	report("  read", &reading, "µs", 1e-3);
	fm_direct_close(&counter);
}

int main(int argc, char **argv)
{
	unsigned pairs = argc > 2 ? (unsigned)atoi(argv[2]) : 20;
	struct fm_sample ours = {0}, theirs = {0}, alone = {0}, ratios = {0};
	char command[512];

	if (argc < 2) {
		fprintf(stderr, "usage: bench_counters TOOL [PAIRS]\n");
		return 2;
	}
	group("{task-clock,page-faults,context-switches}");
	group("{instructions,cycles}");
	direct("instructions");
	direct("task-clock");
	snprintf(command, sizeof(command), "'%s' stat -e task-clock,page-faults,context-switches -o /dev/null -- true",
	         argv[1]);
	for (unsigned i = 0; i < pairs; i++) {
		double own = seconds(command),
		       other = seconds("perf stat -e task-clock,page-faults,context-switches -o /dev/null -- true"),
		       bare = seconds("true");

		if (!(own > 0) || !(other > 0))
			continue;
		fm_sample_add(&ours, own);
		fm_sample_add(&theirs, other);
		fm_sample_add(&alone, bare);
		fm_sample_add(&ratios, own / other);
	}
	printf("a short program (true), %u interleaved runs\n", pairs);
	report("  alone", &alone, "ms", 1e3);
	report("  under fathom stat -e", &ours, "ms", 1e3);
	report("  under perf stat", &theirs, "ms", 1e3);
	report("  ratio", &ratios, "", 1);
	return 0;
}
