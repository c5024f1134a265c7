/* The time of kernels and examples predicted from exact counts and the machine profile alone, beside the time they
   take. Usage: bench_predict KERNEL EXAMPLES: fathom-kernel, and the folder of the examples. Needs a profile ('fathom
   machine'). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/statistics.h"
#include "engine/engine.h"
#include "kernels/kernel.h"
#include "profile/simulated_host.h"
#include "profile/profile.h"

enum { TRIALS = 9, CASES_MAX = 64 };

static struct fm_machine_description machine;
static double errors[CASES_MAX];
static unsigned cases;

/* Nanoseconds the program prints, or with `whole` those it takes: the median of several runs. */
static double native_ns(char *const *argv, bool whole)
{
	double values[TRIALS];
	unsigned count = 0;

	for (unsigned i = 0; i < TRIALS; i++) {
		uint64_t begin = fm_clock_now();
		char text[64] = "";
		int ends[2], status;
		pid_t child;
		ssize_t got;

		if (pipe(ends))
			return NAN;
		child = fork();
		if (!child) {
			dup2(ends[1], STDOUT_FILENO);
			close(ends[0]);
			close(ends[1]);
			execv(argv[0], argv);
			_exit(127);
		}
		close(ends[1]);
		got = read(ends[0], text, sizeof(text) - 1);
		close(ends[0]);
		waitpid(child, &status, 0);
		if (got > 0 && !status)
			values[count++] = whole ? (double)(fm_clock_now() - begin) : strtod(text, NULL);
	}
	fm_statistics_sort(values, count);
	return count ? values[count / 2] : NAN;
}

static double predicted_ns(char *const *argv, bool whole)
{
	const struct fm_engine_options options = {.machine = &machine,
	                                          .cores = machine.cores > 1 ? "0-1" : "0",
	                                          .timing = true,
	                                          .page_bytes = whole ? 0 : 2 << 20};
	struct fm_machine_description large = machine;
	struct fm_engine_options own = options;
	struct fm_engine_run run;
	struct fm_error error;
	double cycles = 0;
	int saved = dup(STDOUT_FILENO);

	if (!whole)
		large.page_bytes = 2 << 20;
	own.machine = &large;
	fflush(stdout);
	if (!freopen("/dev/null", "w", stdout))
		return NAN;
	if (fm_engine_execute(&own, argv, &run, &error)) {
		cycles = NAN;
	} else {
		for (unsigned i = 0; !whole && i < run.results->region_count; i++)
			cycles += (double)run.results->regions[i].timing.cycles;
		for (unsigned i = 0; whole && i < run.results->thread_count; i++)
			cycles = fmax(cycles, (double)run.results->threads[i].clock);
		fm_engine_run_free(&run);
	}
	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	return cycles / machine.frequency_ghz;
}

static void compare(const char *name, const char *level, char *const *argv, bool whole)
{
	double predicted = predicted_ns(argv, whole), measured = native_ns(argv, whole),
	       error = predicted / measured - 1;

	printf("%-14s %-8s %12.0f %12.0f  %+6.1f %%\n", name, level, measured, predicted, 100 * error);
	fflush(stdout);
	if (isfinite(error) && cases < CASES_MAX)
		errors[cases++] = fabs(error);
}

int main(int argc, char **argv)
{
	static const char *const examples[] = {"stream", "chase", "compute", "sharing"};
	struct fm_machine *profile;
	struct fm_error error;
	char *path, program[512], isa[8], size[32], passes[32];
	size_t sizes[3];
	static const char *const levels[] = {"L1", "L2", "memory"};

	if (argc < 3 || fm_profile_default_path(&path, &error) || fm_profile_load(path, &profile, &error) ||
	    fm_description_from_profile(profile, &machine, &error)) {
		fprintf(stderr, "%s\n", argc < 3 ? "bench_predict KERNEL EXAMPLES" : error.message);
		return 1;
	}
	sizes[0] = machine.caches[0].bytes / 2;
	sizes[1] = machine.caches[1].bytes / 2;
	sizes[2] = 4 * machine.caches[machine.cache_count - 1].bytes;
	if (sizes[2] < 64 << 20)
		sizes[2] = 64 << 20;
	snprintf(program, sizeof(program), "%s", argv[1]);
	snprintf(isa, sizeof(isa), "%d", fm_isa_available(FM_ISA_avx2) ? FM_ISA_avx2 : FM_ISA_sse);
	printf("Time in ns, measured (median of %d) and predicted from exact counts and the profile of %s\n", TRIALS,
	       profile->taken);
	printf("%-14s %-8s %12s %12s  %8s\n", "kernel", "data in", "measured", "predicted", "error");
	for (unsigned level = 0; level < 3; level++) {
		for (unsigned kernel = 0; kernel < FM_STREAM_COUNT; kernel++) {
			const char *name = fm_streams[kernel].name;

			snprintf(size, sizeof(size), "%zu", sizes[level]);
			snprintf(passes, sizeof(passes), "%zu", level < 2 ? (4u << 20) / sizes[level] : 1);
			if (level == 2 || !strstr(name, "_nt"))
				compare(name, levels[level], (char *[]){program, (char *)name, isa, size, passes, NULL},
				        false);
		}
		snprintf(passes, sizeof(passes), "%d", level < 2 ? 65536 : 32768);
		compare("chase", levels[level], (char *[]){program, "chase", "0", size, passes, NULL}, false);
	}
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		char example[512];

		snprintf(example, sizeof(example), "%s/%s", argv[2], examples[i]);
		compare(examples[i], "example", (char *[]){example, NULL}, true);
	}
	fm_statistics_sort(errors, cases);
	printf("%u cases: median error %.1f %%, nine tenths within %.1f %%\n", cases,
	       100 * fm_statistics_quantile_sorted(errors, cases, 0.5),
	       100 * fm_statistics_quantile_sorted(errors, cases, 0.9));
	fm_machine_free(profile);
	free(path);
	return 0;
}
