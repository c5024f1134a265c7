#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/statistics.h"
#include "kernels/kernel.h"
#include "measure/host_load.h"
#include "measure/tuning.h"

enum {
	PAUSE_NS = 12000000,
	STEPS = 64 * FM_CORE_STEPS, /* less than a microsecond */
	SLICES = 12,
	WARM = 4, /* of these: the code has to come, and the thread to arrive */
	LOOKS_MAX = 4096,
	LEAST_LOOKS = 8,
};

struct fm_core_watch {
	pthread_t thread;
	atomic_bool ends;
	double best;
	cpu_set_t cpus;
	unsigned count;
	double rates[LOOKS_MAX];
};

/* Instructions per ns. What takes much longer than the quickest slice was interrupted. */
static double look(void)
{
	static _Alignas(64) char line[64];
	double times[SLICES], least = INFINITY, sum = 0;
	unsigned used = 0;

	for (unsigned i = 0; i < SLICES; i++) {
		struct fm_kernel_arguments arguments = {.count = STEPS, .stream = {line}};
		uint64_t begin = fm_clock_now();

		fm_core_kernels[FM_CORE_KERNEL_mixture].function(&arguments);
		times[i] = (double)(fm_clock_now() - begin);
		if (i >= WARM)
			least = fmin(least, times[i]);
	}
	for (unsigned i = WARM; i < SLICES; i++)
		if (times[i] < SLICE_INTERRUPTED * least) {
			sum += times[i];
			used++;
		}
	return sum > 0 ? used * (double)STEPS / sum : NAN;
}

/* It allocates nothing: the tool forks meanwhile. */
static void *watch_cores(void *context)
{
	struct fm_core_watch *watch = context;
	int cpu = -1;

	while (!atomic_load(&watch->ends) && watch->count < LOOKS_MAX) {
		struct timespec pause = {.tv_nsec = PAUSE_NS};
		cpu_set_t one;
		double rate;

		nanosleep(&pause, NULL);
		do
			cpu = (cpu + 1) % CPU_SETSIZE;
		while (!CPU_ISSET(cpu, &watch->cpus));
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		if (sched_setaffinity(0, sizeof(one), &one))
			return NULL;
		rate = look();
		if (!isnan(rate))
			watch->rates[watch->count++] = rate;
	}
	return NULL;
}

struct fm_core_watch *fm_core_watch_begin(double best)
{
	struct fm_core_watch *watch = best > 0 && !fm_kernels_check(NULL) ? calloc(1, sizeof(*watch)) : NULL;

	if (!watch)
		return NULL;
	watch->best = best;
	if (sched_getaffinity(0, sizeof(watch->cpus), &watch->cpus) || !CPU_COUNT(&watch->cpus) ||
	    pthread_create(&watch->thread, NULL, watch_cores, watch)) {
		free(watch);
		return NULL;
	}
	return watch;
}

/* Of the time that the same instructions take: the mean of their times, not of their rates. */
struct fm_figure fm_core_watch_end(struct fm_core_watch *watch)
{
	double mean = 0, squares = 0, half;
	struct fm_figure share;
	unsigned count;

	if (!watch)
		return fm_figure_unavailable("the full speed of the core is unknown");
	atomic_store(&watch->ends, true);
	pthread_join(watch->thread, NULL);
	count = watch->count;
	for (unsigned i = 0; i < count; i++)
		mean += watch->best / watch->rates[i] / count;
	for (unsigned i = 0; i < count; i++)
		squares += pow(watch->best / watch->rates[i] - mean, 2);
	if (count < LEAST_LOOKS) {
		share = fm_figure_unavailable("the measurement was too short");
	} else {
		half = fm_statistics_student(count - 1) * sqrt(squares / (count - 1) / count);
		share = fm_figure_make(fmin(1, 1 / mean), fmin(1, 1 / (mean + half)), fmin(1, 1 / fmax(mean - half, 1)),
		                       "", FM_ORIGIN_measured, "kernels", count);
	}
	free(watch);
	return share;
}
