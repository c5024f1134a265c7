/* What a pair of markers costs, begin and end: idle, with time, with time and counters. The modes are interleaved.
   Usage: bench_markers [TRIALS] (15 by default). The marked program is this one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../include/fathom.h"
#include "base/clock.h"
#include "base/statistics.h"
#include "counters/markers.h"

enum { PAIRS = 20000, MODES_MAX = 8 };

static const struct {
	const char *words;
	const char *events; /* NULL: nobody listens */
} modes[] = {
    {"idle", NULL},
    {"time", ""},
    {"time and 1 counter", "task-clock"},
    {"time and 2 counters", "task-clock,page-faults"},
    {"time and 4 counters", "task-clock,page-faults,context-switches,cpu-migrations"},
};

static int be_marked(int file)
{
	uint64_t begin;
	double ns;

	fathom_region_begin("warm");
	fathom_region_end("warm");
	begin = fm_clock_now();
	for (int i = 0; i < PAIRS; i++) {
		fathom_region_begin("region");
		fathom_region_end("region");
	}
	ns = (double)(fm_clock_now() - begin) / PAIRS;
	return write(file, &ns, sizeof(ns)) == sizeof(ns) ? 0 : 1;
}

static double cost(const char *self, const char *list)
{
	struct fm_event events[FM_EVENTS_MAX];
	struct fm_markers *markers = NULL;
	struct fm_error error;
	int count = list && *list ? fm_events_parse(list, events, FM_EVENTS_MAX, &error) : 0, ends[2], status;
	double ns = -1;
	pid_t child;

	if (count < 0 || pipe(ends) || (list && fm_markers_create(events, (unsigned)count, &markers, &error)))
		return -1;
	child = fork();
	if (!child) {
		char file[16];

		if (markers)
			fm_markers_announce(markers);
		snprintf(file, sizeof(file), "%d", ends[1]);
		execl(self, self, "--marked", file, NULL);
		_exit(127);
	}
	close(ends[1]);
	if (read(ends[0], &ns, sizeof(ns)) != sizeof(ns))
		ns = -1;
	close(ends[0]);
	waitpid(child, &status, 0);
	fm_markers_free(markers);
	return ns;
}

int main(int argc, char **argv)
{
	struct fm_sample samples[sizeof(modes) / sizeof(modes[0])] = {{0}};
	int trials = argc == 2 ? atoi(argv[1]) : 15;
	char self[4096] = "";

	if (argc > 2 && !strcmp(argv[1], "--marked"))
		return be_marked(atoi(argv[2]));
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return 1;
	for (int trial = 0; trial < trials; trial++)
		for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
			double ns = cost(self, modes[i].events);

			if (ns >= 0)
				fm_sample_add(&samples[i], ns);
		}
	printf("A pair of markers, begin and end, ns (median of %d runs of %d pairs):\n", trials, PAIRS);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		struct fm_location location;

		if (fm_statistics_median(samples[i].values, samples[i].count, &location))
			printf("%-24s n/a\n", modes[i].words);
		else
			printf("%-24s %8.1f [%.1f, %.1f]\n", modes[i].words, location.value, location.low,
			       location.high);
		fm_sample_free(&samples[i]);
	}
	return 0;
}
