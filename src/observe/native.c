#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/launch.h"
#include "base/limits.h"
#include "base/schedule.h"
#include "base/statistics.h"
#include "counters/markers.h"
#include "observe/parts.h"

/* Native runs: the time of the program. */

enum { RUNS_MAX = 32, NOT_SEEN = -1 };

/* A pipe on standard input: bytes in it, and whether its other end is closed. Nothing for other files. */
struct pipe_state {
	int bytes;
	bool ended;
};

static off_t input_begin = -1;
static struct pipe_state input_state;

static struct pipe_state look_at_input(void)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	struct pipe_state state = {0};
	struct stat what;

	if (fstat(STDIN_FILENO, &what) || !(S_ISFIFO(what.st_mode) || S_ISSOCK(what.st_mode)))
		return state;
	ioctl(STDIN_FILENO, FIONREAD, &state.bytes);
	state.ended = poll(&input, 1, 0) > 0 && input.revents & POLLHUP;
	return state;
}

bool fm_input_was_read(void)
{
	const struct pipe_state *before = &input_state;
	struct pipe_state after = look_at_input();

	return after.bytes < before->bytes || (!before->bytes && !after.bytes && after.ended != before->ended);
}

void fm_input_remember(void)
{
	input_begin = lseek(STDIN_FILENO, 0, SEEK_CUR);
	input_state = look_at_input();
}

bool fm_input_rewind(void)
{
	return input_begin >= 0 && lseek(STDIN_FILENO, input_begin, SEEK_SET) == input_begin;
}

static int measured_file(void)
{
	return memfd_create("fathom-output", MFD_CLOEXEC);
}

int fm_output_divert(void)
{
	int saved, file;

	fflush(stdout);
	saved = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	file = measured_file();
	if (file >= 0) {
		dup2(file, STDOUT_FILENO);
		close(file);
	}
	return saved;
}

int64_t fm_output_restore(int saved)
{
	off_t bytes = lseek(STDOUT_FILENO, 0, SEEK_END);

	if (saved >= 0) {
		dup2(saved, STDOUT_FILENO);
		close(saved);
	}
	return bytes;
}

/* The engine has no AVX-512: libraries that choose by processor shall choose the same natively. */
static void mask_features(void)
{
#if defined(__x86_64__)
	const char *tunables = getenv("GLIBC_TUNABLES");
	char text[1024];

	if (!__builtin_cpu_supports("avx512f") || (tunables && strstr(tunables, "hwcaps")))
		return;
	snprintf(text, sizeof(text), "%s%sglibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW", tunables ? tunables : "",
	         tunables ? ":" : "");
	setenv("GLIBC_TUNABLES", text, 1);
#endif
}

/* Regions */

/* Of all runs, gathered: seconds[i][run] is that of the i-th region of the recording, which had none before. */
struct gathered {
	struct fm_recording *recording;
	size_t count, room;
	double (*seconds)[RUNS_MAX];
	uint64_t huge_faults[RUNS_MAX]; /* of all processes, during each run */
	/* threads of each run; NULL: without memory */
	struct threads {
		unsigned count;
		struct fm_scheduled threads[FM_SCHEDULED_MAX];
	} * threads;
};

/* Its index; the count if there is none. */
static size_t find_region(const struct gathered *gathered, const struct fm_marked *marked)
{
	const struct fm_recorded_native_region *regions = gathered->recording->native_regions;
	size_t at = 0;

	while (at < gathered->count &&
	       (regions[at].ordinal != marked->ordinal || strcmp(regions[at].name, marked->name) != 0))
		at++;
	return at;
}

/* At the end; without memory it is left out. */
static void add_region(struct gathered *gathered, const struct fm_marked *marked)
{
	size_t at = gathered->count;
	struct fm_recorded_native_region *region;

	if (!fm_array_grow(gathered->seconds, at, gathered->room))
		return;
	region = fm_recording_add(gathered->recording, native_regions);
	if (!region)
		return;
	for (unsigned i = 0; i < RUNS_MAX; i++)
		gathered->seconds[at][i] = NOT_SEEN;
	snprintf(region->name, sizeof(region->name), "%s", marked->name);
	region->ordinal = marked->ordinal;
	region->instances = marked->instances;
	gathered->count++;
}

static void note_difference(struct fm_recorded_native *native, const char *format, const char *name)
{
	native->differs = true;
	snprintf(native->difference, sizeof(native->difference), format, name);
}

/* One run's regions. A program that does not pass through them as often as before does not do the same. */
static void gather(struct gathered *gathered, const struct fm_markers *markers, unsigned run)
{
	struct fm_recorded_native *native = &gathered->recording->native;
	struct fm_marked *marked;
	struct fm_error error;
	uint64_t lost;
	unsigned count;

	if (!markers || fm_markers_read(markers, &marked, &count, &lost, &error))
		return;
	for (unsigned i = 0; i < count; i++) {
		size_t at = find_region(gathered, &marked[i]);

		if (at == gathered->count && !run)
			add_region(gathered, &marked[i]);
		if (at >= gathered->count || gathered->recording->native_regions[at].instances != marked[i].instances) {
			note_difference(native, "region %.60s was not passed as often in two native runs",
			                marked[i].name);
			continue;
		}
		gathered->seconds[at][run] = marked[i].seconds;
	}
	native->regions_lost += lost;
	fm_marked_free(marked, count);
}

static void settle_regions(struct gathered *gathered, unsigned runs)
{
	struct fm_recorded_native *native = &gathered->recording->native;

	for (size_t i = 0; runs && i < gathered->count; i++) {
		struct fm_recorded_native_region *region = &gathered->recording->native_regions[i];
		double *seconds = gathered->seconds[i];

		fm_statistics_sort(seconds, runs);
		if (seconds[0] < 0 && !native->differs)
			note_difference(native, "region %.60s was not passed in all native runs", region->name);
		region->seconds = fm_figure_make(seconds[runs / 2], seconds[0], seconds[runs - 1], "s",
		                                 FM_ORIGIN_measured, "native", runs);
	}
	free(gathered->seconds);
}

/* One run */

static void prepare(void *context)
{
	mask_features();
	if (context)
		fm_markers_announce(context);
}

static int run_once(const struct fm_observation *wanted, bool measured, struct gathered *gathered, unsigned run,
                    struct fm_launch_end *ret_end, struct fm_error *error)
{
	struct fm_recorded_native *native = &gathered->recording->native;
	int nothing = measured && !fm_input_rewind() ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
	struct fm_launch launch = {
	    .program = wanted->program, .output = -1, .input = nothing, .outlives = !measured, .prepare = prepare};
	struct fm_markers *markers = NULL;
	struct fm_schedule *schedule;
	struct fm_launched launched;
	struct fm_error ignored;
	int r;

	/* without it there is no time of regions; the rest is as good */
	if (fm_markers_create(NULL, 0, &markers, &ignored))
		markers = NULL;
	if (markers && wanted->region && wanted->last_instance)
		fm_markers_choose(markers, wanted->region, wanted->first_instance, wanted->last_instance);
	launch.context = markers;
	if (measured)
		launch.output = measured_file();
	gathered->huge_faults[run] = fm_memory_huge_faults();
	r = fm_launch_begin(&launch, &launched, error);
	if (!r)
		r = fm_launch_release(&launched, wanted->program[0], error);
	if (!r) {
		schedule = gathered->threads ? fm_schedule_begin(launched.process) : NULL;
		fm_launch_wait(&launched, true, ret_end);
		if (schedule)
			gathered->threads[run].count = fm_schedule_busiest(
			    gathered->threads[run].threads, fm_schedule_end(schedule, gathered->threads[run].threads));
		gathered->huge_faults[run] = fm_memory_huge_faults() - gathered->huge_faults[run];
		gather(gathered, markers, run);
	}
	if (launch.output >= 0) {
		native->output_bytes = lseek(launch.output, 0, SEEK_END);
		close(launch.output);
	}
	if (nothing >= 0)
		close(nothing);
	fm_markers_free(markers);
	return r;
}

/* Threads of one of the runs. */
static int keep_threads(const struct threads *threads, struct fm_recording *recording)
{
	for (unsigned i = 0; i < threads->count; i++) {
		struct fm_recorded_native_thread *row = fm_recording_add(recording, native_threads);

		if (!row)
			return -ENOMEM;
		*row = (struct fm_recorded_native_thread){.ordinal = i,
		                                          .ran = threads->threads[i].ran,
		                                          .delayed = threads->threads[i].delayed,
		                                          .lived = threads->threads[i].lived};
	}
	return 0;
}

/* Returns the run with the median time. */
static unsigned conclude(struct fm_recorded_native *native, const struct fm_launch_end *ends,
                         const uint64_t *huge_faults, unsigned runs)
{
	double sorted[RUNS_MAX], kernel = 0;
	unsigned median = 0;

	native->runs = runs;
	native->huge_always = fm_memory_huge_always();
	for (unsigned i = 0; i < runs; i++) {
		sorted[i] = ends[i].seconds;
		kernel += ends[i].kernel_seconds;
		native->share_seconds += ends[i].cpu_seconds;
		if (ends[i].cpu_seconds > native->busiest * ends[i].seconds) {
			native->busiest = ends[i].cpu_seconds / ends[i].seconds;
			native->preemptions = ends[i].preemptions;
			native->switches = ends[i].switches;
		}
	}
	if (native->share_seconds > 0)
		native->kernel_share = kernel / native->share_seconds;
	fm_statistics_sort(sorted, runs);
	native->seconds = runs ? fm_figure_make(sorted[runs / 2], sorted[0], sorted[runs - 1], "s", FM_ORIGIN_measured,
	                                        "native", runs)
	                       : fm_figure_unavailable("interrupted before it ran");
	for (unsigned i = 0; i < runs; i++)
		if (ends[i].seconds == sorted[runs / 2]) {
			native->cpu_seconds = ends[i].cpu_seconds;
			native->kernel_seconds = ends[i].kernel_seconds;
			native->faults = ends[i].faults;
			native->major_faults = ends[i].major_faults;
			native->huge_faults = huge_faults[i] < ends[i].faults ? huge_faults[i] : ends[i].faults;
			median = i;
		}
	return median;
}

/* The first run has our output, the others write into a file that is only measured. Standard input is rewound for each
   when that is possible; otherwise the later ones find it empty. */
int fm_native_observe(const struct fm_observation *wanted, const struct fm_native_wishes *wishes,
                      struct fm_recording *recording, struct fm_error *error)
{
	struct fm_recorded_native *native = &recording->native;
	struct gathered gathered = {.recording = recording, .threads = calloc(RUNS_MAX, sizeof(struct threads))};
	struct fm_launch_end ends[RUNS_MAX];
	double total = 0;
	cpu_set_t cpus;
	unsigned runs = 0;
	int r = 0;

	if (!sched_getaffinity(0, sizeof(cpus), &cpus))
		native->cpus = (uint32_t)CPU_COUNT(&cpus);
	native->output_bytes = -1;
	fflush(stdout);
	fm_input_remember();
	while (runs < wishes->most && runs < RUNS_MAX && (runs < wishes->least || total < wishes->seconds) &&
	       !(wanted->interrupted && *wanted->interrupted)) {
		r = run_once(wanted, runs || wishes->silent, &gathered, runs, &ends[runs], error);
		if (r)
			break;
		if (runs && ends[runs].status != ends[0].status) {
			native->differs = true;
			snprintf(native->difference, sizeof(native->difference),
			         "two native runs ended differently, with %d and %d", ends[0].status,
			         ends[runs].status);
		}
		native->signalled = ends[runs].signal != 0;
		total += ends[runs++].seconds;
		/* a program that was ended is not run again */
		if (native->signalled)
			break;
		if (runs == 1 && fm_input_was_read()) {
			note_difference(native, "%s", "its input came through a pipe, and can be read only once");
			break;
		}
	}
	settle_regions(&gathered, runs);
	if (!r) {
		unsigned median;

		if (runs)
			native->exit_status = ends[0].status;
		median = conclude(native, ends, gathered.huge_faults, runs);
		if (runs && gathered.threads && keep_threads(&gathered.threads[median], recording))
			r = fm_error_set(error, ENOMEM, "out of memory");
	}
	free(gathered.threads);
	return r;
}

static int probe(const struct fm_observation *wanted, struct fm_recording *recording, struct fm_error *why)
{
	(void)recording;
	return wanted->program ? 0 : fm_error_set(why, ENOTSUP, "there is no program to run");
}

static int run(const struct fm_observation *wanted, struct fm_recording *recording, struct fm_error *error)
{
	unsigned repeats = wanted->repeats ? (unsigned)wanted->repeats : 1;

	return fm_native_observe(wanted,
	                         &(struct fm_native_wishes){.least = repeats, .most = repeats, .silent = wanted->seen},
	                         recording, error);
}

const struct fm_observer fm_observer_native = {
    .name = "native", .kind = FM_OBSERVER_NATIVE, .priority = 0, .probe = probe, .run = run};
