/* What folding costs: time and peak memory of N samples in marked regions, twice, of N and of 4 N.
   Usage: bench_fold N */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "fold/fold.h"
#include "fold/synthetic.h"

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static double peak_mib(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)usage.ru_maxrss / 1024;
}

static int measure(double samples, double *ret_seconds)
{
	struct folded_recipe recipe = {.samples = 500, .length = 0.02, .jitter = 0.01, .seed = 1, .simulated = true};
	struct fm_recording *recording;
	struct fm_samples *tables;
	struct fm_fold *fold;
	struct fm_error error;
	double begun, told, before;

	recipe.instances = (unsigned)(samples / recipe.samples);
	recording = folded_recording(&recipe);
	if (!recording)
		return 1;
	before = peak_mib();
	begun = now();
	if (fm_samples_analyse(recording, NULL, &tables, &error))
		return 1;
	told = now();
	if (fm_fold_make(tables, &fold, &error) || fm_fold_tell_rates(fold, &error))
		return 1;
	*ret_seconds = now() - told;
	printf("%.0f samples: tables %.2f s, fold %.2f s; peak %.0f MiB, of which the recording %.0f MiB\n", samples,
	       told - begun, *ret_seconds, peak_mib(), before);
	fm_fold_free(fold);
	fm_samples_free(tables);
	fm_recording_free(recording);
	return 0;
}

int main(int argc, char **argv)
{
	double count = argc > 1 ? atof(argv[1]) : 1e6, first, second;

	if (measure(count, &first) || measure(4 * count, &second))
		return 1;
	printf("four times the samples: %.2f times the time\n", second / first);
	return 0;
}
