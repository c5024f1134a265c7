#include "trust/combination.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/installed.h"
#include "base/statistics.h"
#include "kernels/kernel.h"
#include "profile/simulated_host.h"
#include "model/picture.h"
#include "observe/parts.h"
#include "trust/judging.h"

enum { CASES_MAX = 32, PATH_LENGTH = 4096, LARGE_PAGE = 2 << 20 };

static const enum fm_stream_kernel_index kernels[] = {FM_STREAM_stream_triad, FM_STREAM_load, FM_STREAM_store};

/* One kernel with its data in one level. */
struct checked {
	const struct fm_stream_kernel *kernel; /* NULL: a chase */
	unsigned level;                        /* of the description; memory is the last */
	uint64_t bytes;                        /* of data */
	uint64_t passes;                       /* or steps of the chase */
};

/* Bytes that the kernel moves at its level, by its declaration. */
static double declared_bytes(const struct checked *checked)
{
	const struct fm_stream_kernel *kernel = checked->kernel;
	uint64_t steps = checked->passes / 16 * 16, blocks;

	if (!kernel)
		return (double)steps * (checked->level ? 64 : 8);
	blocks = checked->bytes / kernel->streams / FM_BLOCK_BYTES;
	return (double)blocks * FM_BLOCK_BYTES / 8 * (double)checked->passes *
	       (kernel->loaded_bytes + kernel->stored_bytes + (checked->level ? kernel->write_allocate_bytes : 0));
}

/* Native runs, and a run in the engine. */
static int observe(const struct fm_observation *wanted, const struct fm_machine_description *machine,
                   struct fm_recording *recording, struct fm_error *error)
{
	const struct fm_native_wishes wishes = {
	    .least = FM_CHECK_RUNS, .most = FM_CHECK_RUNS_MOST, .seconds = FM_CHECK_SECONDS, .silent = true};
	int r = fm_native_observe(wanted, &wishes, recording, error), saved;

	if (r)
		return r;
	saved = fm_output_divert();
	r = fm_engine_observe(wanted, machine, recording, error);
	/* the kernel prints how long it took, and that need not be the same */
	fm_output_restore(saved);
	recording->asked.question = FM_QUESTION_COMBINED;
	snprintf(recording->asked.machine, sizeof(recording->asked.machine), "host");
	return r ? r : fm_recording_settle(recording, error);
}

static int check_one(const char *program, const struct checked *checked, const struct fm_machine_description *machine,
                     double *ret_count, double *ret_time, const struct fm_check_options *options,
                     struct fm_error *error)
{
	char isa[8], bytes[32], passes[32],
	    *arguments[] = {
	        (char *)program, (char *)(checked->kernel ? checked->kernel->name : "chase"), isa, bytes, passes, NULL};
	const struct fm_observation wanted = {
	    .program = arguments, .cores = "0", .timing = true, .page_bytes = LARGE_PAGE, .seen = true};
	struct fm_recording *recording = fm_recording_create();
	struct fm_picture *picture = malloc(sizeof(*picture));
	int r;

	if (!picture || !recording) {
		free(picture);
		fm_recording_free(recording);
		return fm_error_set(error, ENOMEM, "out of memory");
	}
	snprintf(isa, sizeof(isa), "%d", fm_isa_available(FM_ISA_avx2) ? FM_ISA_avx2 : FM_ISA_sse);
	snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)checked->bytes);
	snprintf(passes, sizeof(passes), "%llu", (unsigned long long)checked->passes);
	r = observe(&wanted, machine, recording, error);
	if (!r) {
		const struct fm_picture_level *level = &picture->levels[checked->level];
		struct fm_checked_case gave = {.kernel = arguments[1]};

		fm_picture_build(recording, &(struct fm_part){.region = "work", .thread = -1}, picture);
		/* a chase writes nothing: write-backs come from linking its chain */
		*ret_count = (level->read_bytes.value + level->allocate_bytes.value +
		              (checked->kernel ? level->write_bytes.value : 0)) /
		                 declared_bytes(checked) -
		             1;
		*ret_time =
		    picture->seconds.available ? picture->predicted_seconds.value / picture->seconds.value - 1 : NAN;
		snprintf(gave.level, sizeof(gave.level), "%s", level->name);
		gave.count_error = *ret_count;
		gave.time_error = *ret_time;
		gave.seconds = picture->seconds.value;
		gave.predicted_seconds = picture->predicted_seconds.value;
		if (options->each)
			options->each(options->each_context, &gave);
		fm_picture_free(picture);
	}
	fm_recording_free(recording);
	free(picture);
	return r;
}

static unsigned plan(const struct fm_machine_description *machine, bool quick, struct checked *ret_cases)
{
	/* the levels that a kernel's data can be put into: the shared last cache belongs to neighbours too */
	const unsigned levels[] = {0, 1, machine->cache_count};
	unsigned count = 0, streams = quick ? 1 : sizeof(kernels) / sizeof(kernels[0]);

	for (unsigned i = quick; i < 3; i++) {
		uint64_t bytes = levels[i] < machine->cache_count
		                     ? fm_cache_available(&machine->caches[levels[i]]) / 2
		                     : 3 * fm_cache_available(&machine->caches[machine->cache_count - 1]);

		if (i == 2 && bytes < 64 << 20)
			bytes =
			    64
			    << 20; /* real caches keep more than the oldest lines, and may be larger than they seem */
		if (i == 1 && machine->cache_count < 3)
			continue;
		for (unsigned k = 0; k < streams && count < CASES_MAX; k++)
			ret_cases[count++] = (struct checked){&fm_streams[kernels[k]], levels[i], bytes,
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
	if (fm_installed_find(FM_INSTALLED_program, "fathom-kernel", program, sizeof(program)))
		return fm_error_set(error, ENOTSUP, "fathom-kernel is not installed beside fathom");
	machine.page_bytes = LARGE_PAGE;
	count = plan(&machine, options->quick, cases);
	for (unsigned i = 0; i < count; i++) {
		double spent = (double)(fm_clock_now() - begin) * 1e-9;

		if (fm_watcher_stops(&options->watcher))
			return fm_error_set(error, EINTR, "interrupted");
		fm_watcher_tell(&options->watcher, "checking the engine", (double)i / count,
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
	                                               .count_most = quantile(counts, done, FM_CHECK_QUANTILE),
	                                               .time_median = quantile(times, done, 0.5),
	                                               .time_most = quantile(times, done, FM_CHECK_QUANTILE)};
	return 0;
}
