/* What samples cost in the emulator: processor time with one of every N references against none, interleaved.
   Usage: bench_samples MACHINE N PAIRS PROGRAM [ARGUMENT …] */
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/statistics.h"
#include "engine/engine.h"

enum { PAIRS_MAX = 64 };

static double processor_seconds(const struct fm_engine_options *options, char **program)
{
	struct fm_engine_run run;
	struct rusage before, after;
	struct fm_error error;

	getrusage(RUSAGE_CHILDREN, &before);
	if (fm_engine_execute(options, program, &run, &error)) {
		fprintf(stderr, "%s\n", error.message);
		exit(1);
	}
	fm_engine_run_free(&run);
	getrusage(RUSAGE_CHILDREN, &after);
	return (double)(after.ru_utime.tv_sec - before.ru_utime.tv_sec) +
	       1e-6 * (double)(after.ru_utime.tv_usec - before.ru_utime.tv_usec);
}

static int compare(const void *a, const void *b)
{
	return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

int main(int argc, char **argv)
{
	struct fm_machine_description machine;
	struct fm_engine_options options = {.machine = &machine};
	char folder[32], command[64];
	double ratios[PAIRS_MAX], least = HUGE_VAL, least_sampled = HUGE_VAL;
	struct fm_error error;
	unsigned pairs;
	cpu_set_t one;

	if (argc < 5) {
		fprintf(stderr, "usage: bench_samples MACHINE N PAIRS PROGRAM [ARGUMENT ...]\n");
		return 2;
	}
	if (fm_description_find(argv[1], &machine, &error)) {
		fprintf(stderr, "%s\n", error.message);
		return 1;
	}
	pairs = (unsigned)atoi(argv[3]) < PAIRS_MAX ? (unsigned)atoi(argv[3]) : PAIRS_MAX;
	options.every = strtoull(argv[2], NULL, 10);
	/* on one processor: with two the engine's threads wait for each other busily, which is no work */
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	for (unsigned i = 0; i < pairs; i++) {
		double plain, sampled;

		snprintf(folder, sizeof(folder), "/tmp/fathom-samples-XXXXXX");
		if (!mkdtemp(folder))
			return 1;
		options.samples = NULL;
		plain = processor_seconds(&options, argv + 4);
		options.samples = folder;
		sampled = processor_seconds(&options, argv + 4);
		ratios[i] = sampled / plain;
		least = fmin(least, plain);
		least_sampled = fmin(least_sampled, sampled);
		snprintf(command, sizeof(command), "rm -rf %s", folder);
		if (system(command))
			return 1;
	}
	qsort(ratios, pairs, sizeof(ratios[0]), compare);
	/* others only ever add time: the least of each is the best estimate */
	printf("one of %s: %.3f times the processor time (least of %u runs each; pairs %.3f to %.3f, median %.3f), "
	       "%.2f s without\n",
	       argv[2], least_sampled / least, pairs, ratios[0], ratios[pairs - 1],
	       fm_statistics_quantile_sorted(ratios, pairs, 0.5), least);
	return 0;
}
