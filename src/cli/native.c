#include "cli/native.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/statistics.h"
#include "cli/command.h"
#include "counters/markers.h"

enum { RUNS_MAX = 32, NOT_SEEN = -1 };

static off_t input_begin = -1;

void fm_input_remember(void)
{
	input_begin = lseek(STDIN_FILENO, 0, SEEK_CUR);
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

/* The engine has no AVX-512: where libraries choose by what the processor has, let them choose the same natively. */
static void mask_features(void)
{
	const char *tunables = getenv("GLIBC_TUNABLES");
	char text[1024];

	if (!__builtin_cpu_supports("avx512f") || (tunables && strstr(tunables, "hwcaps")))
		return;
	snprintf(text, sizeof(text), "%s%sglibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW", tunables ? tunables : "",
	         tunables ? ":" : "");
	setenv("GLIBC_TUNABLES", text, 1);
}

/* Like execvp, but what is no program is not given to a shell. Returns the error. */
static int execute(char *const *argv)
{
	const char *path = getenv("PATH");
	int problem = ENOENT;

	if (strchr(argv[0], '/')) {
		execv(argv[0], argv);
		return errno;
	}
	for (path = path ? path : "/usr/local/bin:/usr/bin:/bin"; *path;) {
		size_t length = strcspn(path, ":");
		char file[4096];

		if ((size_t)snprintf(file, sizeof(file), "%.*s/%s", (int)length, path, argv[0]) < sizeof(file)) {
			execv(file, argv);
			if (errno != ENOENT && errno != ENOTDIR)
				problem = errno;
		}
		path += length + (path[length] == ':');
	}
	return problem;
}

static void be_program(char *const *argv, int output, int report, const struct fm_markers *markers)
{
	int problem;

	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	if (output >= 0) {
		int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

		dup2(output, STDOUT_FILENO);
		dup2(nothing, STDERR_FILENO);
		if (!fm_input_rewind())
			dup2(nothing, STDIN_FILENO);
	}
	mask_features();
	if (markers)
		fm_markers_announce(markers);
	problem = execute(argv);
	if (write(report, &problem, sizeof(problem)) < 0)
		_exit(125);
	_exit(127);
}

/* One run. A negative error when the program could not be begun. */
static int run_once(char *const *argv, int output, const struct fm_markers *markers, double *ret_seconds,
                    double *ret_cpu, double *ret_kernel, int *ret_status, bool *ret_signalled)
{
	uint64_t begin;
	struct rusage usage;
	int report[2], problem = 0, status = 0;
	pid_t child;

	if (pipe2(report, O_CLOEXEC))
		return -errno;
	begin = fm_clock_now();
	child = fork();
	if (child < 0) {
		problem = errno;
		close(report[0]);
		close(report[1]);
		return -problem;
	}
	if (!child) {
		close(report[0]);
		be_program(argv, output, report[1], markers);
	}
	close(report[1]);
	if (read(report[0], &problem, sizeof(problem)) != sizeof(problem))
		problem = 0;
	close(report[0]);
	while (wait4(child, &status, 0, &usage) < 0 && errno == EINTR)
		if (fm_told_to_end)
			kill(child, SIGTERM);
	*ret_seconds = (double)(fm_clock_now() - begin) * 1e-9;
	*ret_cpu = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
	*ret_kernel = (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec * 1e-6;
	*ret_signalled = WIFSIGNALED(status);
	*ret_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	return -problem;
}

/* A pipe on standard input: what lies in it, and whether its other end is closed. Of anything else nothing. */
struct pipe_state {
	int bytes;
	bool ended;
};

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

/* Did the program read from it, as far as that can be seen? */
static bool was_read(const struct pipe_state *before)
{
	struct pipe_state after = look_at_input();

	return after.bytes < before->bytes || (!before->bytes && !after.bytes && after.ended != before->ended);
}

/* Regions */

/* Of all runs, gathered: seconds[i][run] is that of regions[i]. */
struct gathered {
	struct fm_native_region *regions;
	double (*seconds)[RUNS_MAX];
	unsigned count;
};

static int find_region(const struct gathered *gathered, const struct fm_marked *marked)
{
	for (unsigned i = 0; i < gathered->count; i++)
		if (gathered->regions[i].ordinal == marked->ordinal && !strcmp(gathered->regions[i].name, marked->name))
			return (int)i;
	return -1;
}

static int add_region(struct gathered *gathered, const struct fm_marked *marked)
{
	struct fm_native_region *regions =
	    realloc(gathered->regions, (gathered->count + 1) * sizeof(*gathered->regions));
	double(*seconds)[RUNS_MAX];

	if (!regions)
		return -1;
	gathered->regions = regions;
	seconds = realloc(gathered->seconds, (gathered->count + 1) * sizeof(*gathered->seconds));
	if (!seconds)
		return -1;
	gathered->seconds = seconds;
	memset(&regions[gathered->count], 0, sizeof(*regions));
	for (unsigned i = 0; i < RUNS_MAX; i++)
		seconds[gathered->count][i] = NOT_SEEN;
	snprintf(regions[gathered->count].name, sizeof(regions->name), "%s", marked->name);
	regions[gathered->count].ordinal = marked->ordinal;
	regions[gathered->count].instances = marked->instances;
	return (int)gathered->count++;
}

/* One run's regions. A program that does not pass through them as often as before does not do the same. */
static void gather(struct gathered *gathered, const struct fm_markers *markers, unsigned run, struct fm_native *native)
{
	struct fm_marked *marked;
	struct fm_error error;
	uint64_t lost;
	unsigned count;

	if (!markers || fm_markers_read(markers, &marked, &count, &lost, &error))
		return;
	for (unsigned i = 0; i < count; i++) {
		int at;

		at = find_region(gathered, &marked[i]);
		if (at < 0 && !run)
			at = add_region(gathered, &marked[i]);
		if (at < 0 || gathered->regions[at].instances != marked[i].instances) {
			native->differs = true;
			snprintf(native->difference, sizeof(native->difference),
			         "region %.60s was not passed as often in two native runs", marked[i].name);
			continue;
		}
		gathered->seconds[at][run] = marked[i].seconds;
	}
	native->regions_lost += lost;
	fm_marked_free(marked, count);
}

static void settle_regions(struct gathered *gathered, unsigned runs, struct fm_native *native)
{
	for (unsigned i = 0; i < gathered->count; i++) {
		double *seconds = gathered->seconds[i];

		fm_statistics_sort(seconds, runs);
		if (seconds[0] < 0 && !native->differs) {
			native->differs = true;
			snprintf(native->difference, sizeof(native->difference),
			         "region %.60s was not passed in all native runs", gathered->regions[i].name);
		}
		gathered->regions[i].seconds = fm_figure_make(seconds[runs / 2], seconds[0], seconds[runs - 1], "s",
		                                              FM_ORIGIN_measured, "native", runs);
	}
	free(gathered->seconds);
	native->regions = gathered->regions;
	native->region_count = gathered->count;
}

int fm_native_run(char *const *argv, const struct fm_native_options *options, struct fm_native *ret_native,
                  int64_t *ret_output_bytes, struct fm_error *error)
{
	double seconds[RUNS_MAX], cpu[RUNS_MAX], kernel[RUNS_MAX], total = 0, sorted[RUNS_MAX];
	struct pipe_state input;
	struct gathered gathered = {0};
	cpu_set_t cpus;
	unsigned runs = 0;

	memset(ret_native, 0, sizeof(*ret_native));
	if (!sched_getaffinity(0, sizeof(cpus), &cpus))
		ret_native->cpus = (unsigned)CPU_COUNT(&cpus);
	*ret_output_bytes = -1;
	fflush(stdout);
	fm_input_remember();
	input = look_at_input();
	while (runs < options->most && runs < RUNS_MAX && (runs < options->least || total < options->seconds) &&
	       !fm_interrupted) {
		int output = runs || options->silent ? measured_file() : -1, status = 0, r;
		struct fm_markers *markers = NULL;

		/* without it there is no time of regions; the rest is as good */
		if (fm_markers_create(NULL, 0, &markers, error))
			markers = NULL;
		if (markers && options->region && options->last_instance)
			fm_markers_choose(markers, options->region, options->first_instance, options->last_instance);
		r = run_once(argv, output, markers, &seconds[runs], &cpu[runs], &kernel[runs], &status,
		             &ret_native->signalled);
		if (output >= 0) {
			*ret_output_bytes = lseek(output, 0, SEEK_END);
			close(output);
		}
		if (!r)
			gather(&gathered, markers, runs, ret_native);
		fm_markers_free(markers);
		/* what is there and is no program cannot be run either */
		if (r) {
			settle_regions(&gathered, runs, ret_native);
			fm_native_free(ret_native);
			return fm_error_set(error, r == -ENOEXEC ? EACCES : -r,
			                    r == -ENOENT ? "%s: no such program" : "%s cannot be run: %s", argv[0],
			                    strerror(-r));
		}
		if (runs && status != ret_native->exit_status) {
			ret_native->differs = true;
			snprintf(ret_native->difference, sizeof(ret_native->difference),
			         "two native runs ended differently, with %d and %d", ret_native->exit_status, status);
		}
		if (!runs)
			ret_native->exit_status = status;
		total += seconds[runs++];
		/* a program that was ended is not run again */
		if (ret_native->signalled)
			break;
		if (runs == 1 && was_read(&input)) {
			ret_native->differs = true;
			snprintf(ret_native->difference, sizeof(ret_native->difference),
			         "its input came through a pipe, and can be read only once");
			break;
		}
	}
	settle_regions(&gathered, runs, ret_native);
	memcpy(sorted, seconds, runs * sizeof(*sorted));
	fm_statistics_sort(sorted, runs);
	ret_native->runs = runs;
	ret_native->seconds = runs ? fm_figure_make(sorted[runs / 2], sorted[0], sorted[runs - 1], "s",
	                                            FM_ORIGIN_measured, "native", runs)
	                           : fm_figure_unavailable("interrupted before it ran");
	for (unsigned i = 0; i < runs; i++)
		if (seconds[i] == sorted[runs / 2]) {
			ret_native->cpu_seconds = cpu[i];
			ret_native->kernel_seconds = kernel[i];
		}
	return 0;
}
