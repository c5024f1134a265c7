/* What tracking allocations costs for a pair of malloc and free of mixed small sizes, beyond what it costs without.
   Usage: bench_allocations [TRIALS [LIBRARY]] (15 by default). LIBRARY is preloaded: the stand-in of the tests, with
   FATHOM_DOUBLE_INTERVAL, unless another is named. Runs with and without are interleaved. The instructions, counted by
   callgrind, repeat exactly. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/statistics.h"

enum { PAIRS = 2000000, LIVE = 1024, TRIALS_MAX = 101, COUNTED = 200000 };

/* Some live on while others come and go, as in a program. */
static void make_pairs(unsigned long pairs)
{
	static void *live[LIVE];
	uint32_t random = 1;

	for (unsigned long i = 0; i < pairs; i++) {
		unsigned place;

		random = random * 1664525 + 1013904223;
		place = random >> 22;
		free(live[place]);
		live[place] = malloc(16 + (random >> 12) % 1000);
		if (!live[place])
			exit(1);
	}
	for (unsigned i = 0; i < LIVE; i++) {
		free(live[i]);
		live[i] = NULL;
	}
}

static int be_program(unsigned long pairs)
{
	struct timespec begin, end;

	make_pairs(LIVE);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	make_pairs(pairs);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	printf("%.3f\n",
	       ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) / (double)pairs);
	return 0;
}

/* The number that a command prints. */
static double number_of(const char *command)
{
	FILE *stream = popen(command, "r");
	double value = -1;

	if (!stream)
		return -1;
	if (fscanf(stream, "%lf", &value) != 1)
		value = -1;
	pclose(stream);
	return value;
}

static double time_pair(const char *self, const char *library)
{
	char command[4096];

	snprintf(command, sizeof(command), "LD_PRELOAD='%s' '%s' run %d", library, self, PAIRS);
	return number_of(command);
}

/* Of as many pairs again: what a program does once falls out. */
static double count_instructions(const char *self, const char *library)
{
	char command[4096];
	double total[2];

	for (int i = 0; i < 2; i++) {
		snprintf(command, sizeof(command),
		         "LD_PRELOAD='%s' valgrind --tool=callgrind --callgrind-out-file=/dev/null '%s' run %d 2>&1 "
		         ">/dev/null | sed -n 's/.*Collected : //p'",
		         library, self, COUNTED * (i + 1));
		total[i] = number_of(command);
		if (total[i] < 0)
			return -1;
	}
	return (total[1] - total[0]) / COUNTED;
}

static void print(const char *words, const double *values, int count)
{
	struct fm_location location;

	if (fm_statistics_median(values, (unsigned)count, &location))
		printf("%-8s    n/a\n", words);
	else
		printf("%-8s %6.2f [%.2f, %.2f]\n", words, location.value, location.low, location.high);
}

int main(int count, char **arguments)
{
	double with[TRIALS_MAX], without[TRIALS_MAX], more[TRIALS_MAX], instructions[2];
	int trials = count > 1 ? atoi(arguments[1]) : 15;
	const char *library = count > 2 ? arguments[2] : LIBRARY;
	char self[1024];
	ssize_t length;

	if (count == 3 && !strcmp(arguments[1], "run"))
		return be_program(strtoul(arguments[2], NULL, 10));
	length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (trials < 1 || trials > TRIALS_MAX || length < 0) {
		fprintf(stderr, "usage: bench_allocations [TRIALS [LIBRARY]]\n");
		return 2;
	}
	self[length] = 0;
	for (int i = 0; i < trials; i++) {
		without[i] = time_pair(self, "");
		with[i] = time_pair(self, library);
		if (without[i] < 0 || with[i] < 0) {
			fprintf(stderr, "bench_allocations: a run failed\n");
			return 1;
		}
		more[i] = with[i] - without[i];
	}
	printf("A pair of malloc and free, ns of processor time (median of %d runs of %d pairs):\n", trials, PAIRS);
	print("without", without, trials);
	print("with", with, trials);
	print("more", more, trials);
	instructions[0] = count_instructions(self, "");
	instructions[1] = count_instructions(self, library);
	if (instructions[0] < 0 || instructions[1] < 0)
		printf("instructions: n/a (needs valgrind)\n");
	else
		printf("instructions: %.1f without, %.1f with, %.1f more\n", instructions[0], instructions[1],
		       instructions[1] - instructions[0]);
	return 0;
}
