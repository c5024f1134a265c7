#include "cli/check.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/statistics.h"
#include "cli/native.h"
#include "exact/engine.h"
#include "exact/host.h"
#include "kernels/kernel.h"
#include "model/picture.h"

enum { CASES_MAX = 32, PATH_LENGTH = 4096, LARGE_PAGE = 2 << 20 };

static const enum fm_stream_kernel_index kernels[] = {FM_STREAM_stream_triad, FM_STREAM_load, FM_STREAM_store};

/* One kernel with its data in one level. */
struct checked {
	const struct fm_stream_kernel *kernel; /* NULL: a chase */
	unsigned level;                        /* of the description; memory is the last */
	uint64_t bytes;                        /* of data */
	uint64_t passes;                       /* or steps of the chase */
};

/* What the kernel moves at its level, as it declares. */
static double declared_bytes(const struct checked *checked)
{
	const struct fm_stream_kernel *kernel = checked->kernel;
	double elements;

	if (!kernel)
		return (double)(checked->passes / 16 * 16) * (checked->level ? 64 : 8);
	elements = (double)(checked->bytes / kernel->streams / FM_BLOCK_BYTES * FM_BLOCK_BYTES) / 8;
	return elements * (double)checked->passes *
	       (kernel->loaded_bytes + kernel->stored_bytes + (checked->level ? kernel->write_allocate_bytes : 0));
}

static bool find_kernel(char *path, size_t size)
{
	static const char *const places[] = {"fathom-kernel", "../lib/fathom/fathom-kernel"};
	ssize_t length = readlink("/proc/self/exe", path, size - 1);
	char folder[PATH_LENGTH], *slash;

	if (length <= 0)
		return false;
	path[length] = '\0';
	slash = strrchr(path, '/');
	snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path, size, "%s/%s", folder, places[i]);
		if (!access(path, X_OK))
			return true;
	}
	return false;
}

static int check_one(const char *program, const struct checked *checked, const struct fm_machine_description *machine,
                     double *ret_count, double *ret_time, const struct fm_check_options *options,
                     struct fm_error *error)
{
	const struct fm_native_options wishes = {.least = 3, .most = 7, .seconds = 0.3, .silent = true};
	const struct fm_part part = {.region = "work", .thread = -1};
	struct fm_engine_options engine = {.machine = machine, .cores = "0", .timing = true, .page_bytes = LARGE_PAGE};
	char isa[8], bytes[32], passes[32],
	    *arguments[] = {
	        (char *)program, (char *)(checked->kernel ? checked->kernel->name : "chase"), isa, bytes, passes, NULL};
	struct fm_picture *picture = malloc(sizeof(*picture));
	const struct fm_picture_level *level;
	struct fm_native native = {0};
	struct fm_engine_run run;
	int64_t output;
	int saved, r;

	if (!picture)
		return fm_error_set(error, ENOMEM, "out of memory");
	snprintf(isa, sizeof(isa), "%d", fm_isa_available(FM_ISA_avx2) ? FM_ISA_avx2 : FM_ISA_sse);
	snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)checked->bytes);
	snprintf(passes, sizeof(passes), "%llu", (unsigned long long)checked->passes);
	r = fm_native_run(arguments, &wishes, &native, &output, error);
	if (!r) {
		saved = fm_output_divert();
		r = fm_engine_execute(&engine, arguments, &run, error);
		fm_output_restore(saved);
	}
	if (!r) {
		fm_picture_build(&(struct fm_picture_source){.machine = machine, .run = &run, .native = &native}, &part,
		                 picture);
		level = &picture->levels[checked->level];
		/* a chase writes nothing: what is written back meanwhile is from linking its chain */
		*ret_count = (level->read_bytes.value + level->allocate_bytes.value +
		              (checked->kernel ? level->write_bytes.value : 0)) /
		                 declared_bytes(checked) -
		             1;
		*ret_time =
		    picture->seconds.available ? picture->predicted_seconds.value / picture->seconds.value - 1 : NAN;
		if (options->report)
			fprintf(options->report,
			        "  %-13s %-7s bytes %+6.1f %%   time %9.3g s, predicted %9.3g s, %+6.1f %%\n",
			        arguments[1], level->name, 100 * *ret_count, picture->seconds.value,
			        picture->predicted_seconds.value, 100 * *ret_time);
		fm_engine_run_free(&run);
	}
	fm_native_free(&native);
	free(picture);
	return r;
}

static unsigned plan(const struct fm_machine_description *machine, bool quick, struct checked *ret_cases)
{
	/* the levels that a kernel's data can be put into: the shared last cache belongs to neighbours too */
	const unsigned levels[] = {0, 1, machine->cache_count};
	unsigned count = 0, streams = quick ? 1 : sizeof(kernels) / sizeof(kernels[0]);

	for (unsigned i = quick; i < 3; i++) {
		uint64_t bytes = levels[i] < machine->cache_count ? machine->caches[levels[i]].bytes / 2
		                                                  : 3 * machine->caches[machine->cache_count - 1].bytes;

		if (i == 2 && bytes < 64 << 20)
			bytes =
			    64
			    << 20; /* real caches keep more than the oldest lines, and may be larger than they seem */
		if (i == 1 && machine->cache_count < 3)
			continue;
		for (unsigned k = 0; k < streams && count < CASES_MAX; k++)
			ret_cases[count++] = (struct checked){&fm_stream_kernels[kernels[k]], levels[i], bytes,
			                                      i < 2 ? 1 + (4 << 20) / bytes : 1};
		if (count < CASES_MAX)
			ret_cases[count++] = (struct checked){NULL, levels[i], bytes, i < 2 ? 65536 : 32768};
	}
	return count;
}

static double quantile(double *values, unsigned count, double share)
{
	fm_statistics_sort(values, count);
	return fm_statistics_quantile_sorted(values, count, share);
}

int fm_check_combination(struct fm_machine *profile, const struct fm_check_options *options, struct fm_error *error)
{
	struct checked cases[CASES_MAX];
	double counts[CASES_MAX], times[CASES_MAX];
	struct fm_machine_description machine;
	char program[PATH_LENGTH];
	uint64_t begin = fm_clock_now();
	unsigned count, done = 0;
	int r = fm_description_from_profile(profile, &machine, error);

	if (r)
		return r;
	if (!find_kernel(program, sizeof(program)))
		return fm_error_set(error, ENOTSUP, "fathom-kernel is not installed beside fathom");
	machine.page_bytes = LARGE_PAGE;
	count = plan(&machine, options->quick, cases);
	for (unsigned i = 0; i < count; i++) {
		double spent = (double)(fm_clock_now() - begin) * 1e-9;

		if (options->interrupted && *options->interrupted)
			return fm_error_set(error, EINTR, "interrupted");
		if (options->progress)
			options->progress(options->progress_context, "checking the engine", (double)i / count,
			                  i ? spent / i * (count - i) : 10);
		r = check_one(program, &cases[i], &machine, &counts[done], &times[done], options, error);
		if (r)
			return r;
		counts[done] = fabs(counts[done]);
		times[done] = fabs(times[done]);
		done += isfinite(counts[done]) && isfinite(times[done]);
	}
	if (!done)
		return fm_error_set(error, ENOTSUP, "no kernel could be timed");
	profile->combination = (struct fm_combination){.cases = done,
	                                               .count_median = quantile(counts, done, 0.5),
	                                               .count_most = quantile(counts, done, 0.9),
	                                               .time_median = quantile(times, done, 0.5),
	                                               .time_most = quantile(times, done, 0.9)};
	return 0;
}
