/* What folding costs: processor time and peak memory of so many samples, in marked regions, and of a program that
   nobody marked and that does not repeat; the exponent that time grows with. Usage: bench_fold SAMPLES ... */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fold/fold.h"
#include "fold/synthetic.h"

struct cost {
	double tables, fold;    /* seconds */
	double peak, recording; /* MiB */
};

/* Processor time: others may use the machine. */
static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static double peak_mib(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)usage.ru_maxrss / 1024;
}

static int measure(double samples, bool marked, struct cost *ret_cost)
{
	struct folded_recipe recipe = {
	    .samples = 500, .length = 0.02, .jitter = 0.01, .seed = 1, .simulated = true, .unmarked = !marked};
	struct fm_recording *recording;
	struct fm_samples *tables;
	struct fm_fold *fold;
	struct fm_error error;
	double begun, told;

	if (!marked) {
		recipe.length *= samples / recipe.samples;
		recipe.samples = samples;
	}
	recipe.instances = (unsigned)(samples / recipe.samples);
	recording = folded_recording(&recipe);
	if (!recording)
		return 1;
	ret_cost->recording = peak_mib();
	begun = now();
	if (fm_samples_analyse(recording, NULL, &tables, &error))
		return 1;
	told = now();
	if (fm_fold_make(tables, &fold, &error) || fm_fold_add_rates(fold, &error))
		return 1;
	ret_cost->fold = now() - told;
	ret_cost->tables = told - begun;
	ret_cost->peak = peak_mib();
	fm_fold_free(fold);
	fm_samples_free(tables);
	fm_recording_free(recording);
	return 0;
}

/* In a process of its own, since peaks do not go down. */
static int measure_apart(double samples, bool marked, struct cost *ret_cost)
{
	int ends[2], status = 1;
	bool whole;
	pid_t child;

	if (pipe(ends))
		return 1;
	child = fork();
	if (!child) {
		struct cost cost;

		_exit(measure(samples, marked, &cost) || write(ends[1], &cost, sizeof(cost)) != sizeof(cost));
	}
	close(ends[1]);
	whole = read(ends[0], ret_cost, sizeof(*ret_cost)) == sizeof(*ret_cost);
	close(ends[0]);
	return child < 0 || waitpid(child, &status, 0) < 0 || status || !whole;
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"marked regions", "not marked, once"};

	if (argc < 2) {
		fprintf(stderr, "usage: bench_fold SAMPLES ...\n");
		return 2;
	}
	for (int kind = 0; kind < 2; kind++) {
		double first = 0, last = 0;

		printf("%s\n%10s %10s %10s %10s %22s\n", names[kind], "samples", "tables, s", "fold, s", "peak, MiB",
		       "of it the recording");
		for (int i = 1; i < argc; i++) {
			struct cost cost;

			if (measure_apart(atof(argv[i]), !kind, &cost))
				return 1;
			last = cost.tables + cost.fold;
			first = i == 1 ? last : first;
			printf("%10.0f %10.2f %10.2f %10.0f %22.0f\n", atof(argv[i]), cost.tables, cost.fold, cost.peak,
			       cost.recording);
			fflush(stdout);
		}
		if (argc > 2)
			printf("time grows with samples to the power of %.2f\n",
			       log(last / first) / log(atof(argv[argc - 1]) / atof(argv[1])));
	}
	return 0;
}
