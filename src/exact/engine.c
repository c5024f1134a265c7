#include "exact/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "exact/numbers.h"
#include "exact/program.h"

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
	static const char *const places[] = {"libfathom-exact.so", "../lib/fathom/libfathom-exact.so",
	                                     "../libfathom-exact.so" /* from a test in the build tree */};
	char executable[512];
	ssize_t length = readlink("/proc/self/exe", executable, sizeof(executable) - 1);
	char *slash;

	if (length > 0) {
		executable[length] = 0;
		slash = strrchr(executable, '/');
		if (slash)
			*slash = 0;
		for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
			snprintf(ret_path, PATH_LENGTH, "%s/%s", executable, places[i]);
			if (!access(ret_path, R_OK))
				return 0;
		}
	}
	return fm_error_set(
	    error, ENOTSUP,
	    "the plugin libfathom-exact.so is not installed: Fathom was built without Zydis (apt-get install "
	    "libzydis-dev, then build again)");
}

/* Running */

/* Is there room for all of it? The file is sparse, and a program must not end because a folder is full. */
static bool has_room(const char *folder)
{
	struct statvfs room;

	return !access(folder, W_OK) && !statvfs(folder, &room) &&
	       (uint64_t)room.f_bavail * room.f_frsize > sizeof(struct fm_results) + (1 << 20);
}

static int create_results(char *path, struct fm_error *error)
{
	/* memory rather than a disk that would have to write all of it */
	const char *folders[] = {getenv("TMPDIR"), "/dev/shm", "/tmp", "/var/tmp"}, *folder = NULL;
	int file;

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]) && !folder; i++)
		if (folders[i] && *folders[i] && has_room(folders[i]))
			folder = folders[i];
	if (!folder)
		return fm_error_set(error, ENOSPC, "there is no room for %zu MiB of counts in %s: set TMPDIR",
		                    sizeof(struct fm_results) >> 20,
		                    folders[0] && *folders[0] ? folders[0] : "/dev/shm, /tmp or /var/tmp");
	snprintf(path, PATH_LENGTH, "%s/fathom-exact-XXXXXX", folder);
	file = mkstemp(path);
	if (file < 0)
		return fm_error_set(error, EIO, "cannot make a file in %s: %s", folder, strerror(errno));
	/* sparse: what is not used takes no room */
	if (ftruncate(file, sizeof(struct fm_results))) {
		int code = errno;

		close(file);
		unlink(path);
		return fm_error_set(error, code, "cannot make a file of %zu MiB: %s", sizeof(struct fm_results) >> 20,
		                    strerror(code));
	}
	close(file);
	return 0;
}

/* The plugin's arguments are separated by commas; a path with one cannot be passed. */
static int plugin_arguments(char *text, size_t size, const struct fm_engine_options *options, const char *plugin,
                            const char *results, const char *machine, struct fm_error *error)
{
	size_t used;

	if (strchr(plugin, ',') || strchr(results, ',') || strchr(machine, ',') ||
	    (options->region && strchr(options->region, ',')))
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
	if (options->interval && options->timing)
		used +=
		    (size_t)snprintf(text + used, size - used, ",interval=%llu", (unsigned long long)options->interval);
	return used < size ? 0 : fm_error_set(error, ENAMETOOLONG, "the paths are too long for QEMU");
}

/* Who is asked to end, asks the program; what it did until then is wanted all the same. */
static volatile pid_t running;

static void pass_signal(int number)
{
	if (running > 0)
		kill(running, number);
}

static int run_child(char *const *arguments, struct fm_engine_run *run, struct fm_error *error)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, pass = {.sa_handler = pass_signal, .sa_flags = SA_RESTART},
	                 before_int, before_quit, before_term;
	uint64_t begin = fm_clock_now();
	int status = 0, failure[2], code = 0;
	pid_t child;

	if (pipe2(failure, O_CLOEXEC))
		return fm_error_set(error, errno, "cannot make a pipe: %s", strerror(errno));
	/* Ctrl-C is for the program; what it did until then is wanted all the same */
	sigaction(SIGINT, &ignore, &before_int);
	sigaction(SIGQUIT, &ignore, &before_quit);
	sigaction(SIGTERM, &pass, &before_term);
	child = fork();
	running = child;
	if (!child) {
		sigaction(SIGINT, &before_int, NULL);
		sigaction(SIGQUIT, &before_quit, NULL);
		signal(SIGTERM, SIG_DFL);
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody would collect what it counts */
		signal(SIGPIPE, SIG_DFL);
		setenv("FATHOM_ENGINE", "exact", 1);
		execvp(arguments[0], arguments);
		code = errno;
		if (write(failure[1], &code, sizeof(code)) < 0)
			_exit(126);
		_exit(127);
	}
	close(failure[1]);
	if (child < 0) {
		code = errno;
	} else {
		if (read(failure[0], &code, sizeof(code)) != sizeof(code))
			code = 0;
		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
	}
	close(failure[0]);
	sigaction(SIGINT, &before_int, NULL);
	sigaction(SIGQUIT, &before_quit, NULL);
	sigaction(SIGTERM, &before_term, NULL);
	running = 0;
	if (code == ENOENT)
		return fm_error_set(
		    error, ENOTSUP,
		    "%s is not installed, and the exact engine runs programs in it. As root: apt-get install "
		    "qemu-user (not qemu-user-static, which has no plugins)",
		    arguments[0]);
	if (code)
		return fm_error_set(error, code, "cannot run %s: %s", arguments[0], strerror(code));
	run->seconds = (double)(fm_clock_now() - begin) / 1e9;
	run->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	run->exit_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	return 0;
}

/* What a plugin wrote; NULL when it is not ours or damaged. */
static const struct fm_results *map(const char *path)
{
	int file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct stat information;
	const struct fm_results *results;

	if (file < 0)
		return NULL;
	if (fstat(file, &information) || information.st_size < (off_t)sizeof(*results)) {
		close(file);
		return NULL;
	}
	results = mmap(NULL, sizeof(*results), PROT_READ, MAP_PRIVATE, file, 0);
	close(file);
	if (results == MAP_FAILED)
		return NULL;
	if (results->magic == FM_RESULT_MAGIC && results->thread_count <= FM_RESULT_THREADS_MAX &&
	    results->region_count <= FM_RESULT_REGIONS_MAX && results->module_count <= FM_RESULT_MODULES_MAX &&
	    results->exec_count <= FM_RESULT_EXECS_MAX && results->line_count <= FM_RESULT_LINES_MAX &&
	    results->site_count <= FM_RESULT_SITES_MAX && memchr(results->program, 0, sizeof(results->program)) &&
	    results->object_count <= FM_RESULT_OBJECTS_MAX && results->core_count <= FM_SIMULATED_CORES_MAX)
		return results;
	munmap((void *)results, sizeof(*results));
	return NULL;
}

static void collect_forked(const char *path, struct fm_engine_run *run)
{
	char pattern[PATH_LENGTH + 8];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s.*", path);
	if (glob(pattern, 0, NULL, &found))
		return;
	run->forked = calloc(found.gl_pathc, sizeof(*run->forked));
	for (size_t i = 0; i < found.gl_pathc; i++) {
		const struct fm_results *results = run->forked ? map(found.gl_pathv[i]) : NULL;

		if (results)
			run->forked[run->forked_count++] = results;
		unlink(found.gl_pathv[i]);
	}
	globfree(&found);
}

int fm_engine_execute(const struct fm_engine_options *options, char *const *argv, struct fm_engine_run *ret_run,
                      struct fm_error *error)
{
	char program[PATH_LENGTH], plugin[PATH_LENGTH], results[PATH_LENGTH], machine[PATH_LENGTH + 16],
	    text[5 * PATH_LENGTH];
	struct fm_program how;
	struct fm_engine_run run = {0};
	char **arguments;
	unsigned count = 0, own = 0;
	int status = find_program(argv[0], program, error);

	while (argv[own])
		own++;
	arguments = calloc(own + 2 * FM_PROGRAM_INTERPRETERS + 10, sizeof(*arguments));
	if (!arguments)
		return fm_error_set(error, ENOMEM, "out of memory");
	if (!status)
		status = fm_program_inspect(program, &how, error);
	if (!status)
		status = find_plugin(plugin, error);
	if (!status)
		status = create_results(results, error);
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
	/* innermost interpreter first */
	for (unsigned i = how.interpreters; i-- > 0;) {
		arguments[count++] = how.interpreter[i];
		if (*how.argument[i])
			arguments[count++] = how.argument[i];
	}
	arguments[count++] = program;
	for (unsigned i = 1; i < own; i++)
		arguments[count++] = argv[i];
	status = run_child(arguments, &run, error);
	if (!status) {
		run.results = map(results);
		run.mapping = (void *)run.results;
		if (!run.results)
			status =
			    fm_error_set(error, ENOTSUP,
			                 "QEMU did not run the program with our plugin: see the messages above, and "
			                 "'fathom doctor'");
		unlink(machine);
		collect_forked(results, &run);
	}
	if (!status)
		*ret_run = run;
	else
		fm_engine_run_free(&run);
out_file:
	unlink(machine);
	unlink(results);
out:
	free(arguments);
	return status;
}

void fm_engine_run_free(struct fm_engine_run *run)
{
	if (run->mapping)
		munmap(run->mapping, sizeof(struct fm_results));
	for (unsigned i = 0; i < run->forked_count; i++)
		munmap((void *)run->forked[i], sizeof(struct fm_results));
	free(run->forked);
	memset(run, 0, sizeof(*run));
}

void fm_result_thread_counts(const struct fm_results *results, unsigned index, struct fm_core_counts *ret_counts,
                             struct fm_timing_counts *ret_timing)
{
	const struct fm_result_thread *thread = &results->threads[index];
	unsigned core = thread->core < FM_SIMULATED_CORES_MAX ? thread->core : 0;

	*ret_counts = thread->before_moves;
	*ret_timing = thread->timing_before_moves;
	if (thread->away && !thread->ended)
		return;
	fm_numbers_add(ret_counts, thread->ended ? &thread->at_end : &results->cores[core].counts, sizeof(*ret_counts));
	fm_numbers_add(ret_timing, thread->ended ? &thread->timing_at_end : &results->timings[core],
	               sizeof(*ret_timing));
	fm_numbers_subtract(ret_counts, &thread->at_begin, sizeof(*ret_counts));
	fm_numbers_subtract(ret_timing, &thread->timing_at_begin, sizeof(*ret_timing));
}
