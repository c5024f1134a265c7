#include "engine/engine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/installed.h"
#include "base/launch.h"
#include "base/process_state.h"
#include "base/leftovers.h"
#include "base/pass_signals.h"
#include "engine/trace/engine.h"
#include "engine/program.h"
#include "engine/threads.h"
#include "engine/tuning.h"
#include "record/stream.h"

enum { PATH_LENGTH = FM_PROGRAM_PATH };

/* Finding the program */

static int find_program(const char *name, char *ret_path, struct fm_error *error)
{
	const char *folders = getenv("PATH");
	bool there = false;

	if (strchr(name, '/')) {
		if (access(name, F_OK))
			return fm_error_set(error, ENOENT, "%s: there is no such program", name);
		if (access(name, X_OK))
			return fm_error_set(error, EACCES, "%s: not executable", name);
		snprintf(ret_path, PATH_LENGTH, "%s", name);
		return 0;
	}
	while (folders && *folders) {
		size_t length = strcspn(folders, ":");

		snprintf(ret_path, PATH_LENGTH, "%.*s/%s", (int)length, length ? folders : ".", name);
		if (!access(ret_path, X_OK))
			return 0;
		there |= !access(ret_path, F_OK);
		folders += length + (folders[length] == ':');
	}
	return there ? fm_error_set(error, EACCES, "%s: not executable", name)
	             : fm_error_set(error, ENOENT, "%s: there is no such program in PATH", name);
}

static int find_plugin(char *ret_path, struct fm_error *error)
{
	if (!fm_installed_find(FM_INSTALLED_library, "libfathom-exact.so", ret_path, PATH_LENGTH))
		return 0;
	return fm_error_set(
	    error, ENOTSUP,
	    "the plugin libfathom-exact.so is missing: reinstall Fathom completely, or build it with Zydis "
	    "(libzydis-dev)");
}

/* Running */

/* Room for what every process has, and for as much again as a small program uses: the file is sparse, and the plugin
   reserves the rest of it part by part. */
static int reserve(int file, const char *folder)
{
	struct statvfs room;
	int status;

	if (ftruncate(file, sizeof(struct fm_results)))
		return errno;
	status = posix_fallocate(file, 0, offsetof(struct fm_results, cores));
	if (!status && (statvfs(folder, &room) || (uint64_t)room.f_bavail * room.f_frsize < ROOM_TO_BEGIN))
		status = ENOSPC;
	return status;
}

/* ret_file: kept open as long as the run is ours (leftovers.h). */
static int create_results(char *path, int *ret_file, struct fm_error *error)
{
	/* memory rather than a disk that would have to write all of it */
	const char *folders[] = {getenv("TMPDIR"), FM_RESULT_FOLDERS}, *refused = NULL;
	int code = ENOSPC;

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		char folder[PATH_MAX];
		int file, status;

		/* absolute: the program may go to another folder, and its children after it */
		if (!folders[i] || !*folders[i] || !realpath(folders[i], folder))
			continue;
		if (snprintf(path, PATH_LENGTH, "%s/" FM_RUN_NAME "XXXXXX", folder) >= PATH_LENGTH - 64)
			continue;
		file = fm_leftovers_create(path);
		status = file < 0 ? -file : reserve(file, folder);
		if (!status) {
			*ret_file = file;
			return 0;
		}
		if (file >= 0) {
			unlink(path);
			close(file);
		}
		refused = folders[i];
		code = status;
	}
	return fm_error_set(error, code,
	                    "no space for counts in %s/dev/shm, /tmp or /var/tmp (%s%s%s): set TMPDIR to a folder with "
	                    "at least 2 MiB",
	                    folders[0] && *folders[0] ? "TMPDIR, " : "", refused ? refused : "", refused ? ": " : "",
	                    strerror(code));
}

/* The plugin's arguments are separated by commas; a path with one cannot be passed. */
static int plugin_arguments(char *text, size_t size, const struct fm_engine_options *options, const char *plugin,
                            const char *results, const char *machine, struct fm_error *error)
{
	size_t used;

	if (strchr(plugin, ',') || strchr(results, ',') || strchr(machine, ',') ||
	    (options->region && strchr(options->region, ',')) || (options->samples && strchr(options->samples, ',')))
		return fm_error_set(error, EINVAL, "QEMU takes no comma in a path or region name: move or rename it");
	used = (size_t)snprintf(text, size, "%s,out=%s,machine=%s,cores=%s,timing=%d,free=%d,prefetch=%d", plugin,
	                        results, machine, options->cores && *options->cores ? options->cores : "0",
	                        options->timing, options->free_running, !options->no_prefetch);
	if (options->skew)
		used += (size_t)snprintf(text + used, size - used, ",skew=%llu", (unsigned long long)options->skew);
	if (options->page_bytes)
		used +=
		    (size_t)snprintf(text + used, size - used, ",pages=%llu", (unsigned long long)options->page_bytes);
	if (options->region)
		used += (size_t)snprintf(text + used, size - used, ",region=%s", options->region);
	if (options->last_instance)
		used += (size_t)snprintf(text + used, size - used, ",instances=%llu-%llu",
		                         (unsigned long long)options->first_instance,
		                         (unsigned long long)options->last_instance);
	if (options->window_end)
		used += (size_t)snprintf(text + used, size - used, ",window=%llu-%llu",
		                         (unsigned long long)options->window_begin,
		                         (unsigned long long)options->window_end);
	if (options->samples)
		used += (size_t)snprintf(text + used, size - used, ",samples=%s,every=%llu", options->samples,
		                         (unsigned long long)(options->every ? options->every : 1));
	if (options->interval && options->timing)
		used +=
		    (size_t)snprintf(text + used, size - used, ",interval=%llu", (unsigned long long)options->interval);
	return used < size ? 0 : fm_error_set(error, ENAMETOOLONG, "the paths are too long for QEMU");
}

/* All processes of this run that live: what QEMU was started with names its result file, in forked processes too, and
   in those that executed another program. Others, which could not be followed, descend from one of them. */
struct processes {
	struct process {
		pid_t id, parent;
		bool ours;
	} * processes;
	size_t count, room;
};

static bool is_started_for(const char *process, const char *results)
{
	char path[64], text[8192];
	size_t wanted = strlen(results);
	ssize_t length;
	int file;

	snprintf(path, sizeof(path), "/proc/%.20s/cmdline", process);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return false;
	length = read(file, text, sizeof(text));
	close(file);
	for (ssize_t i = 0; i + 4 + (ssize_t)wanted <= length; i++)
		if (!memcmp(text + i, "out=", 4) && !memcmp(text + i + 4, results, wanted))
			return true;
	return false;
}

static bool add_process(struct processes *processes, const struct process *process)
{
	if (!fm_array_grow(processes->processes, processes->count, processes->room))
		return false;
	processes->processes[processes->count++] = *process;
	return true;
}

static void list_processes(pid_t child, const char *results, struct processes *ret_processes)
{
	struct processes found = {0};
	DIR *folder = opendir("/proc");
	const struct dirent *entry;
	bool more = true;

	while (folder && (entry = readdir(folder))) {
		struct process process = {.id = (pid_t)strtol(entry->d_name, NULL, 10)};
		char path[64], state;

		snprintf(path, sizeof(path), "/proc/%.20s/stat", entry->d_name);
		if (process.id <= 0 || process.id == getpid())
			continue;
		state = fm_process_state(path, &process.parent);
		if (!state || state == 'Z')
			continue;
		process.ours = process.id == child || is_started_for(entry->d_name, results);
		if (!add_process(&found, &process))
			break;
	}
	if (folder)
		closedir(folder);
	while (more) {
		more = false;
		for (size_t i = 0; i < found.count; i++) {
			struct process *process = &found.processes[i];

			for (size_t k = 0; k < found.count && !process->ours; k++)
				if (found.processes[k].ours && process->parent == found.processes[k].id)
					process->ours = more = true;
		}
	}
	*ret_processes = found;
}

/* To all that are left. How many that were. */
static unsigned signal_all(pid_t child, const char *results, int number)
{
	struct processes processes;
	unsigned count = 0;

	list_processes(child, results, &processes);
	for (size_t i = 0; i < processes.count; i++)
		if (processes.processes[i].ours)
			count += !kill(processes.processes[i].id, number);
	free(processes.processes);
	return count;
}

enum { POLL_MS = 100, SHORT_MS = 5 };

/* A little while, or until the program has ended. */
static void wait_a_little(int process)
{
	struct pollfd end = {.fd = process, .events = POLLIN};

	poll(&end, 1, process >= 0 ? POLL_MS : SHORT_MS);
}

/* Nobody sees what a silent run does: asked to end, it gets a moment; then everything of it is ended. Any other takes
   the time it takes. */
static int wait_for_end(pid_t child, const char *results, bool silent, bool *ret_killed)
{
	int process = (int)syscall(SYS_pidfd_open, child, 0), status = 0;
	uint64_t since = 0;
	bool ended = false, others_asked = false;

	*ret_killed = false;
	for (;;) {
		pid_t waited = ended ? 0 : waitpid(child, &status, WNOHANG);
		int asked = silent ? fm_pass_signals_asked() : 0;

		ended |= waited == child || (waited < 0 && errno == ECHILD);
		if (asked && !since)
			since = fm_clock_now();
		if (ended && !asked)
			break;
		/* what it forked was not asked yet, unless a terminal did */
		if (ended && !others_asked) {
			others_asked = true;
			if (!signal_all(0, results, asked))
				break;
		}
		if (since && fm_clock_now() - since > GRACE_MS * 1000000ull) {
			for (unsigned i = 0; i < KILLS && signal_all(ended ? 0 : child, results, SIGKILL); i++) {
				*ret_killed = true;
				poll(NULL, 0, SHORT_MS);
			}
			if (!ended)
				waitpid(child, &status, 0);
			break;
		}
		if (ended && !signal_all(0, results, 0))
			break;
		wait_a_little(ended ? -1 : process);
	}
	if (process >= 0)
		close(process);
	return status;
}

/* The library that is loaded into the program, after it what the program is started with anyway, as a variable for
   QEMU's option -E; false when there is none, or it cannot be said there. */
static bool preload_text(const struct fm_engine_options *options, const struct fm_program *how, char *text, size_t size)
{
	const char *others = getenv("LD_PRELOAD");
	char path[PATH_LENGTH];

	return options->samples && !strcmp(how->emulator, "qemu-x86_64") &&
	       !fm_installed_find(FM_INSTALLED_library, "libfathom-record.so", path, sizeof(path)) &&
	       (size_t)snprintf(text, size, "LD_PRELOAD=%s%s%s", path, others && *others ? ":" : "",
	                        others ? others : "") < size &&
	       !strchr(text, ',');
}

/* In the new process, before it becomes QEMU. */
static void prepare(void *context)
{
	const bool *preloads = context;

	if (*preloads)
		unsetenv("LD_PRELOAD"); /* it is for the program */
	setenv("FATHOM_ENGINE", "exact", 1);
}

/* Run it and wait for its end. The native engine's, or, if that is NULL, in QEMU. */
static int run_child(char *const *arguments, const char *results, const struct fm_engine_options *options,
                     bool preloads, struct fm_tracing *native, struct fm_engine_run *run, struct fm_error *error)
{
	const struct fm_launch launch = {.program = arguments,
	                                 .output = -1,
	                                 .input = -1,
	                                 .quiet = options->silent,
	                                 .outlives = !options->silent,
	                                 .prepare = native ? fm_tracing_prepare : prepare,
	                                 .context = native ? (void *)native : &preloads};
	struct fm_launched launched;
	uint64_t ended = 0;
	int r = fm_launch_begin(&launch, &launched, error), status = 0;

	if (r)
		return r;
	r = native ? fm_tracing_begin_beside(native, error) : 0;
	if (r) {
		fm_launch_abandon(&launched);
		return r;
	}
	r = fm_launch_release(&launched, arguments[0], error);
	if (!r && native)
		status = fm_tracing_wait(native, launched.process, &run->killed, &ended, &run->used);
	else if (!r)
		status = wait_for_end(launched.process, results, options->silent, &run->killed);
	fm_pass_signals_to(0);
	if (r == -ENOENT && !native)
		return fm_error_set(
		    error, ENOTSUP,
		    "the emulator needs %s, which is not installed. As root: apt-get install qemu-user (not "
		    "qemu-user-static, which has no plugins)",
		    arguments[0]);
	if (r)
		return r;
	run->seconds = (double)((ended ? ended : fm_clock_now()) - launched.begun) / 1e9;
	run->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	run->exit_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	return 0;
}

/* Reading results. They are copied, not mapped: a file may become shorter, and even to read a page that was never
   written needs room in a file system that lives in memory. */

static bool is_zero(const char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (bytes[i])
			return false;
	return true;
}

static bool copy_parts(int file, char *target, size_t size)
{
	enum { PART = 4096 };
	char part[PART];
	off_t at = 0;

	while (at < (off_t)size) {
		off_t data = lseek(file, at, SEEK_DATA), hole;

		if (data < 0)
			/* nothing more; or a file system that does not know, then it is all data */
			data = errno == ENXIO ? (off_t)size : at;
		hole = data < (off_t)size ? lseek(file, data, SEEK_HOLE) : data;
		if (hole < 0 || hole > (off_t)size)
			hole = (off_t)size;
		for (at = data; at < hole;) {
			size_t wanted = hole - at < PART ? (size_t)(hole - at) : PART;
			ssize_t got = pread(file, part, wanted, at);

			if (got <= 0)
				return false;
			/* pages that were never written take no memory here either */
			if (!is_zero(part, (size_t)got))
				memcpy(target + at, part, (size_t)got);
			at += got;
		}
	}
	return true;
}

/* The results of a plugin; NULL when the file is not ours or damaged. */
static struct fm_results *load(const char *path)
{
	int file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat information;
	struct fm_results *results = MAP_FAILED;

	if (file < 0)
		return NULL;
	if (!fstat(file, &information) && S_ISREG(information.st_mode) && information.st_uid == geteuid() &&
	    information.st_size >= (off_t)sizeof(*results))
		results = mmap(NULL, sizeof(*results), PROT_READ | PROT_WRITE,
		               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (results == MAP_FAILED) {
		close(file);
		return NULL;
	}
	if (copy_parts(file, (char *)results, sizeof(*results)) && results->magic == FM_RESULT_MAGIC &&
	    results->thread_count <= FM_RESULT_THREADS_MAX && results->late_count <= FM_RESULT_LATE_MAX &&
	    results->region_count <= FM_RESULT_REGIONS_MAX && results->module_count <= FM_RESULT_MODULES_MAX &&
	    results->exec_count <= FM_RESULT_EXECS_MAX && results->line_count <= FM_RESULT_LINES_MAX &&
	    results->moment_count <= FM_RESULT_MOMENTS_MAX && results->window_count <= FM_RESULT_WINDOWS_MAX &&
	    results->site_count <= FM_RESULT_SITES_MAX && memchr(results->program, 0, sizeof(results->program)) &&
	    results->object_count <= FM_RESULT_OBJECTS_MAX && results->beside_count <= FM_RESULT_BESIDE_MAX &&
	    results->core_count <= FM_SIMULATED_CORES_MAX) {
		/* threads that lived at a violent end and have no record of their own */
		for (unsigned i = 0; i < results->late_count; i++)
			if (results->late[i].host_thread)
				fm_result_fold(results, &results->late[i]);
		results->late_count = 0;
		close(file);
		return results;
	}
	close(file);
	munmap(results, sizeof(*results));
	return NULL;
}

static void add_forked(struct fm_engine_run *run, const char *path, uint64_t *lost)
{
	const struct fm_results **more = realloc(run->forked, (run->forked_count + 1) * sizeof(*more));
	const struct fm_results *results = more ? load(path) : NULL;

	if (more)
		run->forked = more;
	if (results)
		run->forked[run->forked_count++] = results;
	else
		(*lost)++;
	unlink(path);
}

/* In the folder of the first, or where they found room. */
static void collect_forked(const char *path, struct fm_engine_run *run, uint64_t *lost)
{
	char own[PATH_LENGTH];
	const char *name = strrchr(path, '/') + 1, *folders[] = {own, FM_RESULT_FOLDERS};
	size_t length = strlen(name);

	snprintf(own, sizeof(own), "%.*s", (int)(name - path), path);
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		struct dirent **entries;
		int count = scandir(folders[i], &entries, NULL, alphasort);

		for (int k = 0; k < count; k++) {
			char found[PATH_LENGTH + 256];

			if (!strncmp(entries[k]->d_name, name, length) && entries[k]->d_name[length] == '.') {
				snprintf(found, sizeof(found), "%s/%s", folders[i], entries[k]->d_name);
				add_forked(run, found, lost);
			}
			free(entries[k]);
		}
		if (count >= 0)
			free(entries);
	}
}

/* Shells, nice, env and the like do little but execute the program. What was executed and did most of all is it. */
static void put_program_first(struct fm_engine_run *run, struct fm_results *first)
{
	double all = (double)first->all_work.instructions;
	unsigned program = run->forked_count;

	for (unsigned i = 0; i < run->forked_count; i++) {
		const struct fm_results *other = run->forked[i];

		all += (double)other->all_work.instructions;
		if (other->executed && (program == run->forked_count ||
		                        other->all_work.instructions > run->forked[program]->all_work.instructions))
			program = i;
	}
	if (program == run->forked_count ||
	    (double)run->forked[program]->all_work.instructions < fmax(MAIN_PROGRAM_LEAST, MAIN_PROGRAM_SHARE * all))
		return;
	run->mapping = (void *)run->forked[program];
	run->results = run->mapping;
	run->forked[program] = first;
	/* these are counted in the first one's */
	((struct fm_results *)run->mapping)->lost_processes = first->lost_processes;
	first->lost_processes = 0;
}

static int execute_natively(const struct fm_engine_options *options, char *const *argv, struct fm_engine_run *ret_run,
                            struct fm_error *error)
{
	struct fm_engine_run run = {.kind = FM_ENGINE_NATIVE};
	char program[PATH_LENGTH], results[PATH_LENGTH];
	struct fm_tracing *native = NULL;
	struct fm_results *first = NULL;
	int file = -1, status = find_program(argv[0], program, error);

	if (!status)
		status = fm_tracing_check(options, program, error);
	for (unsigned i = 0; i < options->beside_count && !status; i++) {
		status = find_program(options->beside[i][0], program, error);
		if (!status)
			status = fm_tracing_check(options, program, error);
	}
	if (!status)
		status = create_results(results, &file, error);
	if (status)
		return status;
	status = fm_tracing_begin(options, results, &native, error);
	if (!status)
		status = run_child(argv, results, options, false, native, &run, error);
	if (!status) {
		status = fm_tracing_status(native, error);
		if (!status && !(run.results = run.mapping = first = load(results)))
			status = fm_error_set(error, EIO, "the program left no results");
		run.unseen = status != 0;
	}
	if (native) {
		collect_forked(results, &run, first ? &first->lost_processes : &(uint64_t){0});
		if (first)
			first->lost_processes += fm_tracing_lost_processes(native);
		for (unsigned i = 0; first && i < run.forked_count; i++)
			first->forks += !run.forked[i]->executed && run.forked[i]->parent == first->process;
		run.scheduled_count = fm_tracing_scheduled(native, &run.scheduled);
		fm_tracing_foreign(native, run.foreign);
		fm_tracing_report_beside(native, run.beside);
		fm_tracing_end(native);
	}
	unlink(results);
	close(file);
	if (!status && !options->beside_count)
		put_program_first(&run, first);
	if (status)
		fm_engine_run_free(&run);
	*ret_run = run;
	return status;
}

static int execute_in_qemu(const struct fm_engine_options *options, char *const *argv, struct fm_engine_run *ret_run,
                           struct fm_error *error)
{
	char program[PATH_LENGTH], plugin[PATH_LENGTH], results[PATH_LENGTH], machine[PATH_LENGTH + 16],
	    text[6 * PATH_LENGTH], preload[4 * PATH_LENGTH], folder[PATH_LENGTH];
	bool preloads = false;
	struct fm_program how;
	struct fm_engine_run run = {.kind = FM_ENGINE_QEMU};
	char **arguments;
	unsigned count = 0, own = 0;
	int file = -1, status = find_program(argv[0], program, error);

	while (argv[own])
		own++;
	arguments = calloc(own + 2 * FM_PROGRAM_INTERPRETERS + 14, sizeof(*arguments));
	if (!arguments)
		return fm_error_set(error, ENOMEM, "out of memory");
	if (!status)
		status = fm_program_inspect(program, &how, error);
	if (!status)
		status = find_plugin(plugin, error);
	if (!status)
		status = create_results(results, &file, error);
	if (status)
		goto out;
	/* as it is now, whatever the file it came from has become since */
	snprintf(machine, sizeof(machine), "%s.machine", results);
	status = fm_description_write(options->machine, machine, error);
	if (!status)
		status = plugin_arguments(text, sizeof(text), options, plugin, results, machine, error);
	if (status)
		goto out_file;
	arguments[count++] = (char *)how.emulator;
	/* all it can emulate, or programs would take narrower paths than they do elsewhere */
	arguments[count++] = "-cpu";
	arguments[count++] = "max";
	arguments[count++] = "-plugin";
	arguments[count++] = text;
	preloads = preload_text(options, &how, preload, sizeof(preload));
	if (preloads) {
		snprintf(folder, sizeof(folder), FM_RECORD_VARIABLE "=%s", options->samples);
		arguments[count++] = "-E";
		arguments[count++] = preload;
		arguments[count++] = "-E";
		arguments[count++] = folder;
	}
	/* innermost interpreter first */
	for (unsigned i = how.interpreters; i-- > 0;) {
		arguments[count++] = how.interpreter[i];
		if (*how.argument[i])
			arguments[count++] = how.argument[i];
	}
	arguments[count++] = program;
	for (unsigned i = 1; i < own; i++)
		arguments[count++] = argv[i];
	status = run_child(arguments, results, options, preloads, NULL, &run, error);
	if (!status) {
		struct fm_results *first = load(results);

		run.results = run.mapping = first;
		run.unseen = !first;
		if (!first)
			status =
			    fm_error_set(error, ENOTSUP,
			                 "QEMU did not run the program with Fathom's plugin: see the messages above, "
			                 "and 'fathom doctor'");
		unlink(machine);
		collect_forked(results, &run, first ? &first->lost_processes : &(uint64_t){0});
	}
	if (status)
		fm_engine_run_free(&run);
	*ret_run = run;
out_file:
	unlink(machine);
	unlink(results);
	close(file);
out:
	free(arguments);
	return status;
}

int fm_engine_check_tracing(const struct fm_engine_options *options, const char *name, struct fm_error *error)
{
	char program[PATH_LENGTH];
	int status = find_program(name, program, error);

	return status ? status : fm_tracing_check(options, program, error);
}

int fm_engine_execute(const struct fm_engine_options *options, char *const *argv, struct fm_engine_run *ret_run,
                      struct fm_error *error)
{
	*ret_run = (struct fm_engine_run){.kind = options->kind};
	if (options->kind == FM_ENGINE_NATIVE)
		return execute_natively(options, argv, ret_run, error);
	if (options->windows.on)
		return fm_error_set(error, ENOTSUP, "only the native engine simulates in windows");
	if (options->beside_count)
		return fm_error_set(error, ENOTSUP, "only the native engine supports --beside");
	return execute_in_qemu(options, argv, ret_run, error);
}

void fm_engine_run_free(struct fm_engine_run *run)
{
	if (run->mapping)
		munmap(run->mapping, sizeof(struct fm_results));
	for (unsigned i = 0; i < run->forked_count; i++)
		munmap((void *)run->forked[i], sizeof(struct fm_results));
	free(run->forked);
	free(run->scheduled);
	run->mapping = NULL;
	run->results = NULL;
	run->forked = NULL;
	run->scheduled = NULL;
	run->forked_count = run->scheduled_count = 0;
}

void fm_result_thread_counts(const struct fm_results *results, unsigned index, struct fm_core_counts *ret_counts,
                             struct fm_timing_counts *ret_timing)
{
	fm_result_sum(results, &results->threads[index], ret_counts, ret_timing);
}
