#include "engine/trace/followed.h"
#include "engine/trace/engine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/random.h"
#include "base/clock.h"
#include "base/installed.h"
#include "base/array.h"
#include "base/namespaces.h"
#include "base/own_limits.h"
#include "base/pass_signals.h"
#include "base/preloadable.h"
#include "base/processor.h"
#include "base/schedule.h"
#include "engine/trace/consumer.h"
#include "engine/trace/large.h"
#include "engine/trace/map.h"
#include "engine/trace/programs_beside.h"
#include "engine/trace/tuning.h"
#include "engine/tuning.h"

enum {
	PATH_LENGTH = 1024,
	POLL_MS = 20,
};

static const char library_name[] = "libfathom-trace.so";

/* A process of the program, and ours that reads its trace. */
struct traced {
	char name[64]; /* of its file */
	struct fm_trace_file *trace;
	uint64_t since; /* ns */
	pid_t consumer; /* 0: not begun, or over */
	int process;    /* descriptor */
	bool first, over;
	uint64_t read, read_since;
	struct fm_schedule *schedule; /* of its threads; NULL: it is over */
};

struct fm_tracing {
	const struct fm_engine_options *options;
	char results[PATH_LENGTH], folder[PATH_LENGTH], library[PATH_LENGTH];
	struct fm_trace_session *session;
	int watch, lock;
	pid_t program;
	bool has_first, first_failed;
	unsigned lost;
	struct traced *traced;
	unsigned count, room;
	struct fm_programs_beside *neighbours; /* programs beside it; NULL: none */
	struct fm_scheduled *scheduled;        /* threads of processes that are over */
	unsigned scheduled_count;
};

int fm_tracing_check(const struct fm_engine_options *options, const char *program, struct fm_error *error)
{
	/* the simulated caches and the tables of code; the trace with its large rings, which is sparse; the analysis */
	static const struct fm_own_needs needs = {
	    .memory = 600 << 20, .file = sizeof(struct fm_trace_file) + sizeof(struct fm_trace_large), .cpu = 10};
	char path[PATH_LENGTH];

	if (fm_own_limits_check(&needs, error))
		return -ENOTSUP;
	if (access("/proc/self/maps", R_OK))
		return fm_error_set(
		    error, ENOTSUP,
		    "/proc is missing, and the native engine needs it to find code: mount -t proc proc /proc");

	if (options->samples)
		return fm_error_set(error, ENOTSUP, "the native engine does not take samples");
	if (options->window_end)
		return fm_error_set(error, ENOTSUP, "the native engine has no --window: use --engine qemu");
	if (options->beside_count &&
	    (options->windows.on || options->timing_sampled || options->curve || options->region))
		return fm_error_set(
		    error, ENOTSUP,
		    "--beside needs all references: omit windows, sampled core timing, curve and region");
	if (fm_installed_find(FM_INSTALLED_library, library_name, path, sizeof(path)))
		return fm_error_set(error, ENOTSUP, "the library %s is not installed", library_name);
	/* the dynamic linker takes blanks and colons for separators */
	if (strpbrk(path, " :"))
		return fm_error_set(
		    error, ENOTSUP,
		    "%s cannot be preloaded, since its path has a blank or a colon: install Fathom elsewhere", path);
	return fm_preloadable_check(program, "stat --engine qemu", error);
}

static uint64_t ticks_per_second(void)
{
	uint64_t begun = fm_clock_now(), ticks = fm_ticks(), now;

	do
		now = fm_clock_now();
	while (now - begun < 2000000);
	return (uint64_t)((double)(fm_ticks() - ticks) * 1e9 / (double)(now - begun));
}

static uint64_t random_number(void)
{
	struct fm_random random;

	fm_random_seed(&random, fm_clock_now() ^ (uint64_t)getpid() << 32);
	return fm_random_next(&random);
}

static int make_session(struct fm_tracing *native, struct fm_error *error)
{
	const struct fm_engine_options *options = native->options;
	struct fm_trace_session *session;
	char path[PATH_LENGTH + 16];
	int file, status;

	snprintf(path, sizeof(path), "%s/session", native->folder);
	file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	status = file < 0 ? errno : posix_fallocate(file, 0, sizeof(*session));
	/* held while the trace is read: the library checks it */
	if (!status && flock(file, LOCK_EX | LOCK_NB))
		status = errno;
	session = status ? MAP_FAILED : mmap(NULL, sizeof(*session), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (!status && session == MAP_FAILED)
		status = errno;
	native->lock = file;
	if (status)
		return fm_error_set(error, status, "cannot make %s: %s", path, strerror(status));
	session->version = FM_TRACE_VERSION;
	session->mode = options->windows.on ? FM_TRACE_WINDOWS : FM_TRACE_EXACT;
	session->log_pieces = 1; /* which thread, region and window executed what */
	session->children = 1;
	session->ticks_per_second = ticks_per_second();
	session->window_references = options->windows.references ? options->windows.references : WINDOW_REFERENCES;
	session->window_warm = options->windows.references ? options->windows.warm : WINDOW_WARM;
	/* the rest is what the code cache costs, and lines that are followed; and windows cost that too */
	session->slowdown = 1 + ((options->windows.slowdown > 1 ? options->windows.slowdown : SLOWDOWN) - 1) / 6;
	session->pace = options->windows.on && options->windows.pace;
	/* curves and regions need all followed lines; programs beside it would run on in the rests */
	if (session->pace && !options->curve && !options->region && !options->beside_count)
		session->overhead = options->windows.overhead > 0 ? options->windows.overhead : OVERHEAD;
	session->objects = options->windows.on;
	session->laboratory = session->pace && !options->windows.no_laboratory ? LABORATORY : 0;
	session->busy_least = options->windows.overhead > 0 ? 1 : BUSY_LEAST;
	session->run_in_ns = RUN_IN_MS * 1000000ull;
	if (options->windows.on)
		fm_followed_choose(options->machine, random_number(), session);
	/* windows are everywhere: what the region is of the whole is not known otherwise */
	if (options->region && !options->windows.on)
		snprintf(session->region, sizeof(session->region), "%s", options->region);
	session->magic = FM_TRACE_MAGIC;
	native->session = session;
	return 0;
}

int fm_tracing_begin(const struct fm_engine_options *options, const char *results, struct fm_tracing **ret_native,
                     struct fm_error *error)
{
	struct fm_tracing *native = calloc(1, sizeof(*native));
	int status = 0;

	if (!native)
		return fm_error_set(error, ENOMEM, "out of memory");
	native->options = options;
	native->watch = native->lock = -1;
	snprintf(native->results, sizeof(native->results), "%s", results);
	if (fm_installed_find(FM_INSTALLED_library, library_name, native->library, sizeof(native->library))) {
		free(native);
		return fm_error_set(error, ENOTSUP, "the library %s is not installed", library_name);
	}
	snprintf(native->folder, sizeof(native->folder), "%s-native", results);
	if (mkdir(native->folder, 0700)) {
		status = fm_error_set(error, errno, "cannot make %s: %s", native->folder, strerror(errno));
		free(native);
		return status;
	}
	native->watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (native->watch >= 0)
		inotify_add_watch(native->watch, native->folder, IN_CREATE);
	status = make_session(native, error);
	if (!status && options->beside_count)
		status = fm_programs_beside_create(options, fm_tracing_prepare, native, &native->neighbours, error);
	if (status)
		fm_tracing_end(native);
	else
		*ret_native = native;
	return status;
}

void fm_tracing_prepare(void *context)
{
	const struct fm_tracing *native = context;
	const char *others = getenv("LD_PRELOAD");
	char text[4 * PATH_LENGTH];

	snprintf(text, sizeof(text), "%s%s%s", native->library, others && *others ? ":" : "", others ? others : "");
	setenv("LD_PRELOAD", text, 1);
	setenv(FM_TRACE_VARIABLE, native->folder, 1);
}

/* Consumers */

static struct traced *add_traced(struct fm_tracing *native, const char *name)
{
	struct traced *traced;

	for (unsigned i = 0; i < native->count; i++)
		if (!strcmp(native->traced[i].name, name))
			return NULL;
	if (!fm_array_grow(native->traced, native->count, native->room))
		return NULL;
	traced = &native->traced[native->count++];
	*traced = (struct traced){.since = fm_clock_now(), .process = -1};
	snprintf(traced->name, sizeof(traced->name), "%s", name);
	return traced;
}

static void look_for_new(struct fm_tracing *native)
{
	DIR *folder = opendir(native->folder);
	const struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		size_t length = strlen(entry->d_name);

		if (length > 6 && length < sizeof(native->traced->name) &&
		    !strcmp(entry->d_name + length - 6, ".trace"))
			add_traced(native, entry->d_name);
	}
	if (folder)
		closedir(folder);
}

/* In the new process. */
static void __attribute__((noreturn))
be_consumer(const struct fm_tracing *native, const struct traced *traced, pid_t tool)
{
	char path[PATH_LENGTH + 80];
	struct fm_consumer_task task = {.options = native->options,
	                                .session = native->session,
	                                .trace = traced->trace,
	                                .results = native->results,
	                                .first = traced->first,
	                                .folder = native->folder};
	struct fm_error error;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != tool)
		_exit(1);
	/* what ends the program does not end what counts it */
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	prctl(PR_SET_NAME, "fathom-simulate");
	snprintf(path, sizeof(path), "%s/%s", native->folder, traced->name);
	task.large = fm_large_map(path);
	if (native->neighbours && traced->first)
		task.roster = fm_programs_beside_roster(native->neighbours);
	_exit(fm_consumer_run(&task, &error) ? 1 : 0);
}

static void give_up(struct fm_tracing *native, struct traced *traced)
{
	traced->over = true;
	native->lost++;
	native->first_failed |= traced->first;
	/* no consumer reads this trace: the process must not wait for one */
	__atomic_store_n(&native->session->stop, 1, __ATOMIC_SEQ_CST);
	for (unsigned i = 0; traced->trace && i < FM_TRACE_THREADS; i++)
		syscall(SYS_futex, (uint32_t *)&traced->trace->threads[i].read, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* Its number here. The number in the trace may be that of another process, which no signal of ours must reach. */
static void find_process(const struct traced *traced)
{
	struct fm_trace_head *head = &traced->trace->head;
	pid_t process;

	if (head->process_space == fm_namespace_of_processes())
		return;
	process = fm_namespace_find(traced->name);
	/* a number that no process has */
	head->known_as = process > 0 ? (uint32_t)process : FM_TRACE_UNKNOWN;
}

static void begin_consumer(struct fm_tracing *native, struct traced *traced)
{
	pid_t tool = getpid();

	if (!traced->trace)
		traced->trace = fm_trace_map(native->folder, traced->name);
	if (!traced->trace || __atomic_load_n(&traced->trace->head.magic, __ATOMIC_ACQUIRE) != FM_TRACE_MAGIC) {
		if (fm_clock_now() - traced->since > ANNOUNCED_MS * 1000000ull)
			traced->over = true;
		return;
	}
	if (traced->trace->head.version != FM_TRACE_VERSION) {
		give_up(native, traced);
		return;
	}
	find_process(traced);
	traced->process = (int)syscall(SYS_pidfd_open, fm_trace_process(&traced->trace->head), 0);
	if (native->neighbours && fm_programs_beside_take(native->neighbours, traced->name, traced->trace->head.process,
	                                                  traced->trace->head.parent, traced->process)) {
		traced->over = true;
		return;
	}
	if (!native->has_first && traced->trace->head.process == (uint32_t)native->program)
		native->has_first = traced->first = true;
	traced->schedule = fm_schedule_create((pid_t)fm_trace_process(&traced->trace->head));
	traced->consumer = fork();
	if (!traced->consumer)
		be_consumer(native, traced, tool);
	traced->read_since = fm_clock_now();
	if (traced->consumer < 0) {
		traced->consumer = 0;
		give_up(native, traced);
	}
}

static uint64_t entries_read(const struct fm_trace_file *trace)
{
	uint64_t read = trace->head.beats;

	for (unsigned i = 0; i < FM_TRACE_THREADS; i++)
		read += trace->threads[i].read;
	return read;
}

/* Has it come to its end? Or will it never? */
static void look_after(struct fm_tracing *native, struct traced *traced, bool last)
{
	uint64_t read;
	int status;

	if (waitpid(traced->consumer, &status, WNOHANG) == traced->consumer) {
		traced->consumer = 0;
		traced->over = true;
		if (!WIFEXITED(status) || WEXITSTATUS(status))
			give_up(native, traced);
		return;
	}
	read = entries_read(traced->trace);
	if (read != traced->read || !last) {
		traced->read = read;
		traced->read_since = fm_clock_now();
	} else if (fm_clock_now() - traced->read_since > PROGRESS_MS * 1000000ull) {
		kill(traced->consumer, SIGKILL);
		waitpid(traced->consumer, &status, 0);
		traced->consumer = 0;
		give_up(native, traced);
	}
}

/* The scheduler's account of the process. Without memory, nothing. */
static void keep_schedule(struct fm_tracing *native, struct traced *traced)
{
	static struct fm_scheduled threads[FM_SCHEDULED_MAX];
	unsigned count = fm_schedule_end(traced->schedule, threads);
	struct fm_scheduled *all =
	    count ? realloc(native->scheduled, (native->scheduled_count + count) * sizeof(*all)) : NULL;

	traced->schedule = NULL;
	if (!all)
		return;
	memcpy(all + native->scheduled_count, threads, count * sizeof(*all));
	native->scheduled = all;
	native->scheduled_count += count;
}

/* The number of processes that are not at their end. */
static unsigned look_after_all(struct fm_tracing *native, bool last)
{
	unsigned left = 0;

	look_for_new(native);
	for (unsigned i = 0; i < native->count; i++) {
		struct traced *traced = &native->traced[i];

		if (!traced->over && !traced->consumer)
			begin_consumer(native, traced);
		else if (!traced->over)
			look_after(native, traced, last);
		/* a dead process has no threads, and its number may be another's: after an exec it is */
		if (traced->schedule && (traced->over || traced->trace->head.ended || last))
			keep_schedule(native, traced);
		else if (traced->schedule)
			fm_schedule_look(traced->schedule, (double)traced->trace->head.waited_ticks /
			                                       (double)native->session->ticks_per_second);
		if (traced->over && traced->trace) {
			munmap(traced->trace, sizeof(*traced->trace));
			traced->trace = NULL;
			if (traced->process >= 0)
				close(traced->process);
			traced->process = -1;
		}
		left += !traced->over;
	}
	return left;
}

/* To all processes of the program that live. */
static bool signal_all(const struct fm_tracing *native, int number)
{
	bool some = false;

	for (unsigned i = 0; i < native->count; i++)
		if (native->traced[i].process >= 0)
			some |= !syscall(SYS_pidfd_send_signal, native->traced[i].process, number, NULL, 0);
	return some;
}

static void wait_a_little(const struct fm_tracing *native, int program)
{
	struct pollfd events[2] = {{.fd = native->watch, .events = POLLIN}, {.fd = program, .events = POLLIN}};
	char text[4096];

	if (poll(events, 2, POLL_MS) > 0 && events[0].revents & POLLIN)
		while (read(native->watch, text, sizeof(text)) > 0)
			;
}

/* Is the trace of the program itself read to its end, or never begun? */
static bool is_first_over(const struct fm_tracing *native)
{
	for (unsigned i = 0; i < native->count; i++)
		if (native->traced[i].first)
			return native->traced[i].over;
	return true;
}

int fm_tracing_begin_beside(struct fm_tracing *native, struct fm_error *error)
{
	uint64_t since = fm_clock_now();
	int status;

	if (!native->neighbours)
		return 0;
	status = fm_programs_beside_begin(native->neighbours, error);
	while (!status && !fm_programs_beside_exist(native->neighbours) &&
	       fm_clock_now() - since < BEGIN_MS * 1000000ull) {
		look_after_all(native, false);
		fm_programs_beside_look_after(native->neighbours, false);
		wait_a_little(native, -1);
	}
	return status;
}

void fm_tracing_report_beside(const struct fm_tracing *native, struct fm_engine_program_beside *ret_neighbours)
{
	if (native->neighbours)
		fm_programs_beside_report(native->neighbours, ret_neighbours);
}

/* Lets the consumers read the rest, within the time limit. */
static void finish(struct fm_tracing *native, uint64_t since, uint64_t took)
{
	const struct fm_engine_options *options = native->options;
	bool reported = false;

	while (look_after_all(native, true)) {
		uint64_t now = fm_clock_now();

		if (!reported && options->waiting && now - since > SILENT_MS * 1000000ull) {
			options->waiting(options->waiting_context);
			reported = true;
		}
		if (now - since > AFTER_MS * 1000000ull + took)
			__atomic_store_n(&native->session->hurry, 1, __ATOMIC_RELAXED);
		wait_a_little(native, -1);
	}
}

int fm_tracing_wait(struct fm_tracing *native, pid_t program, bool *ret_killed, uint64_t *ret_ended,
                    struct rusage *ret_used)
{
	bool silent = native->options->silent;
	int process = (int)syscall(SYS_pidfd_open, program, 0), status = 0;
	uint64_t since = 0, begun = fm_clock_now();
	bool ended = false, killed = false;

	native->program = program;
	while (!ended) {
		pid_t waited;

		look_after_all(native, false);
		if (native->neighbours)
			fm_programs_beside_look_after(native->neighbours, true);
		waited = wait4(program, &status, WNOHANG, ret_used);
		ended = waited == program || (waited < 0 && errno == ECHILD);
		if (silent && fm_pass_signals_asked() && !since)
			since = fm_clock_now();
		if (!ended && since && fm_clock_now() - since > GRACE_MS * 1000000ull) {
			kill(program, SIGKILL);
			killed = true;
		}
		if (!ended)
			wait_a_little(native, process);
	}
	*ret_ended = fm_clock_now();
	/* what it forked goes on without us, unless it was asked to end */
	if (silent && fm_pass_signals_asked() && signal_all(native, fm_pass_signals_asked())) {
		poll(NULL, 0, GRACE_MS / 10);
		killed |= signal_all(native, SIGKILL);
	}
	look_for_new(native);
	/* what the program did last is beside what they do; then they are ended */
	while (native->neighbours && (look_after_all(native, true), !is_first_over(native))) {
		fm_programs_beside_look_after(native->neighbours, true);
		wait_a_little(native, -1);
	}
	__atomic_store_n(&native->session->stop, 1, __ATOMIC_SEQ_CST);
	if (native->neighbours)
		fm_programs_beside_end(native->neighbours);
	finish(native, *ret_ended, *ret_ended - begun);
	if (process >= 0)
		close(process);
	*ret_killed = killed;
	return status;
}

int fm_tracing_status(const struct fm_tracing *native, struct fm_error *error)
{
	if (!native->has_first)
		return fm_error_set(error, ENOTSUP, "nothing was recorded: %s",
		                    native->session->foreign[FM_FOREIGN_TRACED]
		                        ? "a debugger or tracer watched the program"
		                    : native->session->foreign[FM_FOREIGN_EMULATED] ? "the program ran under Valgrind"
		                    : native->session->lost_processes               ? "no memory for its trace"
		                                                      : "the program did not load the library");
	if (native->first_failed)
		return fm_error_set(error, EIO, "the simulation failed: the trace of the program is damaged");
	return 0;
}

unsigned fm_tracing_scheduled(struct fm_tracing *native, struct fm_scheduled **ret_threads)
{
	unsigned count = native->scheduled_count;

	*ret_threads = native->scheduled;
	native->scheduled = NULL;
	native->scheduled_count = 0;
	return count;
}

void fm_tracing_foreign(const struct fm_tracing *native, uint32_t ret_foreign[FM_FOREIGN_KINDS])
{
	memcpy(ret_foreign, native->session->foreign, sizeof(native->session->foreign));
}

unsigned fm_tracing_lost_processes(const struct fm_tracing *native)
{
	return native->lost + native->session->lost_processes;
}

static void remove_folder(const char *path)
{
	DIR *folder = opendir(path);
	const struct dirent *entry;

	while (folder && (entry = readdir(folder)))
		unlinkat(dirfd(folder), entry->d_name, 0);
	if (folder)
		closedir(folder);
	rmdir(path);
}

void fm_tracing_end(struct fm_tracing *native)
{
	int status;

	if (native->session)
		native->session->stop = 1;
	for (unsigned i = 0; i < native->count; i++) {
		struct traced *traced = &native->traced[i];

		if (traced->consumer > 0) {
			kill(traced->consumer, SIGKILL);
			waitpid(traced->consumer, &status, 0);
		}
		if (traced->trace)
			munmap(traced->trace, sizeof(*traced->trace));
		if (traced->process >= 0)
			close(traced->process);
		if (traced->schedule)
			keep_schedule(native, traced);
	}
	free(native->traced);
	free(native->scheduled);
	fm_programs_beside_destroy(native->neighbours);
	if (native->session)
		munmap(native->session, sizeof(*native->session));
	if (native->watch >= 0)
		close(native->watch);
	remove_folder(native->folder);
	if (native->lock >= 0)
		close(native->lock);
	free(native);
}
