#include "cli/count_session.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/statistics.h"

enum { THREADS_MAX = 4096 };

int fm_count_session_refuse(const struct fm_count_session *session, const struct fm_error *error)
{
	bool hardware = !session->event_count; /* a PMU that is not here has no event yet */

	for (unsigned i = 0; i < session->event_count; i++)
		hardware |= fm_event_needs_pmu(&session->events[i]);
	fprintf(stderr, "fathom: %s\n", error->message);
	if (hardware && error->code == ENOTSUP && session->request->program && !session->request->process &&
	    !session->request->system_wide)
		fprintf(stderr,
		        "fathom: without counters there is the exact engine: fathom stat --machine host -- %s\n",
		        session->request->program[0]);
	return error->code == ENOTSUP ? 124 : error->code == EINVAL ? FM_EXIT_USAGE : 125;
}

/* The program, held until its counters are there. */
struct child {
	pid_t process;
	int go;     /* written to when it may begin */
	int failed; /* gives the errno when it could not */
};

static int launch(char **program, const struct fm_markers *markers, struct child *ret_child, struct fm_error *error)
{
	int go[2], failed[2];

	if (pipe2(go, O_CLOEXEC))
		return fm_error_set(error, errno, "cannot make a pipe: %s", strerror(errno));
	if (pipe2(failed, O_CLOEXEC)) {
		close(go[0]);
		close(go[1]);
		return fm_error_set(error, errno, "cannot make a pipe: %s", strerror(errno));
	}
	ret_child->process = fork();
	if (!ret_child->process) {
		char byte;
		int code;

		close(go[1]);
		if (read(go[0], &byte, 1) != 1)
			_exit(125);
		signal(SIGPIPE, SIG_DFL);
		if (markers)
			fm_markers_announce(markers);
		execvp(program[0], program);
		code = errno;
		if (write(failed[1], &code, sizeof(code)) < 0)
			_exit(125);
		_exit(127);
	}
	close(go[0]);
	close(failed[1]);
	ret_child->go = go[1];
	ret_child->failed = failed[0];
	if (ret_child->process < 0) {
		close(go[1]);
		close(failed[0]);
		return fm_error_set(error, errno, "cannot make a process: %s", strerror(errno));
	}
	return 0;
}

static void abandon(struct child *child)
{
	int status;

	close(child->go);
	close(child->failed);
	waitpid(child->process, &status, 0);
}

static int release(struct child *child, const char *name, struct fm_error *error)
{
	int code = 0, status;

	if (write(child->go, "", 1) != 1)
		code = errno;
	close(child->go);
	if (!code && read(child->failed, &code, sizeof(code)) != sizeof(code))
		code = 0;
	close(child->failed);
	if (!code)
		return 0;
	waitpid(child->process, &status, 0);
	return code == ENOENT ? fm_error_set(error, ENOENT, "%s: there is no such program", name)
	                      : fm_error_set(error, EACCES, "%s: cannot be run: %s", name, strerror(code));
}

/* Parts */

static int add_part(struct fm_count_session *session, pid_t thread, const struct fm_target *target,
                    struct fm_error *error)
{
	struct fm_counted_part *larger = realloc(session->parts, (session->part_count + 1) * sizeof(*larger));
	struct fm_counted_part *part;
	int status;

	if (!larger)
		return fm_error_set(error, ENOMEM, "out of memory");
	session->parts = larger;
	part = &larger[session->part_count];
	*part = (struct fm_counted_part){.thread = thread};
	part->counts = calloc(session->event_count, sizeof(*part->counts));
	part->before = calloc(session->event_count, sizeof(*part->before));
	status = part->counts && part->before
	             ? fm_counting_open(session->events, session->event_count, target, &part->counting, error)
	             : fm_error_set(error, ENOMEM, "out of memory");
	if (status) {
		free(part->counts);
		free(part->before);
		return status;
	}
	session->part_count++;
	return 0;
}

static void free_parts(struct fm_count_session *session)
{
	for (unsigned i = 0; i < session->part_count; i++) {
		fm_counting_close(session->parts[i].counting);
		free(session->parts[i].counts);
		free(session->parts[i].before);
	}
	free(session->parts);
	session->parts = NULL;
	session->part_count = 0;
}

/* The threads a process has now; those it makes later are inherited. */
static int add_process(struct fm_count_session *session, long process, struct fm_error *error)
{
	char path[64];
	DIR *folder;
	int status = 0;
	unsigned found = 0;

	snprintf(path, sizeof(path), "/proc/%ld/task", process);
	folder = opendir(path);
	if (!folder)
		return fm_error_set(error, EINVAL, "there is no process %ld", process);
	for (struct dirent *entry; (entry = readdir(folder)) && !status && found < THREADS_MAX;) {
		struct fm_target target = {.inherit = true};

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		target.task = (pid_t)strtol(entry->d_name, NULL, 10);
		if (session->request->per_thread || !session->part_count)
			status = add_part(session, session->request->per_thread ? target.task : 0, &target, error);
		else
			status = fm_counting_add(session->parts[0].counting, &target, error);
		/* threads come and go */
		if (status == -ESRCH)
			status = 0;
		found++;
	}
	closedir(folder);
	return status;
}

static int add_processes(struct fm_count_session *session, struct fm_error *error)
{
	for (const char *at = session->request->process; *at;) {
		char *end;
		long process = strtol(at, &end, 10);
		int status;

		if (end == at || process <= 0 || (*end && *end != ','))
			return fm_error_set(error, EINVAL, "-p takes numbers of processes, not \"%s\"",
			                    session->request->process);
		status = add_process(session, process, error);
		if (status)
			return status;
		at = end + (*end == ',');
	}
	return session->part_count ? 0 : fm_error_set(error, EINVAL, "-p names no process that is there");
}

static void read_parts(struct fm_count_session *session)
{
	for (unsigned i = 0; i < session->part_count; i++)
		fm_counting_read(session->parts[i].counting, session->parts[i].counts);
}

static bool any_alive(const char *processes)
{
	while (*processes) {
		char path[64], *end;

		snprintf(path, sizeof(path), "/proc/%ld", strtol(processes, &end, 10));
		if (!access(path, F_OK))
			return true;
		processes = end + (*end == ',');
	}
	return false;
}

/* Wait for the child, or for an interruption when there is none; report intervals on the way. */
static void wait_for_end(struct fm_count_session *session, pid_t process, uint64_t begin, double *ret_seconds)
{
	uint64_t interval = session->request->interval_ms, next = interval;
	int status = 0;

	for (;;) {
		uint64_t now = (fm_clock_now() - begin) / 1000000;

		pid_t ended = process ? waitpid(process, &status, interval ? WNOHANG : 0) : 0;

		if (process && (ended == process || (ended < 0 && errno != EINTR)))
			break;
		if (process && ended < 0 && fm_told_to_end)
			kill(process, SIGTERM);
		if (!process && fm_interrupted)
			break;
		if (!process && session->request->process && !any_alive(session->request->process))
			break;
		if (interval && now >= next) {
			read_parts(session);
			if (session->on_interval)
				session->on_interval(session, (double)now / 1e3);
			next += interval;
		}
		if (interval || !process)
			poll(NULL, 0, interval && next > now && next - now < 10 ? (int)(next - now) : 10);
	}
	*ret_seconds = (double)(fm_clock_now() - begin) / 1e9;
	if (process)
		session->exit_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Running */

static int count_run(struct fm_count_session *session, const struct fm_markers *markers, double *ret_seconds,
                     struct fm_error *error)
{
	const struct fm_stat_request *request = session->request;
	struct child child = {0};
	struct fm_target target = {.task = -1, .every_cpu = true};
	uint64_t begin;
	int status = 0;

	if (request->program) {
		status = launch(request->program, markers, &child, error);
		if (status)
			return status;
	}
	if (request->process) {
		status = add_processes(session, error);
	} else {
		if (!request->system_wide)
			target = (struct fm_target){.task = child.process, .inherit = true, .enable_on_exec = true};
		status = add_part(session, 0, &target, error);
	}
	if (status) {
		if (request->program)
			abandon(&child);
		return status;
	}
	/* what counts the program alone begins with its first instruction; what is per CPU cannot wait for that */
	for (unsigned i = 0; i < session->part_count; i++) {
		bool per_cpu = request->process || request->system_wide;

		for (unsigned k = 0; k < session->event_count; k++)
			per_cpu |= session->events[k].cpu >= 0;
		if (per_cpu)
			fm_counting_start(session->parts[i].counting);
	}
	begin = fm_clock_now();
	if (request->program)
		status = release(&child, request->program[0], error);
	if (status)
		return status;
	wait_for_end(session, request->program ? child.process : 0, begin, ret_seconds);
	for (unsigned i = 0; i < session->part_count; i++)
		fm_counting_stop(session->parts[i].counting);
	read_parts(session);
	/* what is left of the last interval */
	if (request->interval_ms && session->on_interval)
		session->on_interval(session, *ret_seconds);
	return 0;
}

/* With regions, when it is a program of our own. */
static int run_once(struct fm_count_session *session, double *ret_seconds, struct fm_error *error)
{
	struct fm_markers *markers = NULL;
	struct fm_error ignored;
	int status;

	if (session->request->program && !session->request->process && !session->request->system_wide &&
	    fm_markers_create(session->events, session->event_count, &markers, &ignored))
		markers = NULL;
	status = count_run(session, markers, ret_seconds, error);
	fm_marked_free(session->marked, session->marked_count);
	session->marked = NULL;
	session->marked_count = 0;
	if (markers && !status &&
	    fm_markers_read(markers, &session->marked, &session->marked_count, &session->marked_lost, &ignored))
		session->marked_count = 0;
	fm_markers_free(markers);
	return status;
}

/* Several runs: the median and its interval. An event that was not counted in one of them was not counted. */
int fm_count_session_run(struct fm_count_session *session, struct fm_error *error)
{
	unsigned runs = session->request->repeats ? (unsigned)session->request->repeats : 1;
	struct fm_sample samples[FM_EVENTS_MAX] = {{0}}, times = {0};
	struct fm_location location;
	double seconds = 0;
	int status = 0;

	for (unsigned i = 0; i < runs && !status && !fm_interrupted; i++) {
		if (i)
			free_parts(session);
		status = run_once(session, &seconds, error);
		fm_sample_add(&times, seconds);
		for (unsigned k = 0; !status && runs > 1 && k < session->event_count; k++)
			if (session->parts[0].counts[k].figure.available)
				fm_sample_add(&samples[k], session->parts[0].counts[k].figure.value);
	}
	session->figures =
	    status ? NULL : calloc(session->part_count * session->event_count, sizeof(*session->figures));
	if (!status && !session->figures)
		status = fm_error_set(error, ENOMEM, "out of memory");
	for (unsigned i = 0; !status && i < session->part_count; i++)
		for (unsigned k = 0; k < session->event_count; k++) {
			struct fm_figure *figure = &session->figures[i * session->event_count + k];

			*figure = session->parts[i].counts[k].figure;
			if (runs == 1 || !figure->available)
				continue;
			if (samples[k].count < runs ||
			    fm_statistics_median(samples[k].values, samples[k].count, &location))
				*figure = fm_figure_unavailable("it was counted in %u of %u runs only",
				                                samples[k].count, runs);
			else
				*figure = fm_figure_make(location.value, location.low, location.high, figure->unit,
				                         FM_ORIGIN_counted, "perf", samples[k].count);
		}
	if (times.count < 2 || fm_statistics_median(times.values, times.count, &location))
		location = (struct fm_location){.value = seconds, .low = seconds, .high = seconds};
	session->elapsed =
	    fm_figure_make(location.value, location.low, location.high, "s", FM_ORIGIN_measured, "native", times.count);
	fm_sample_free(&times);
	for (unsigned k = 0; k < FM_EVENTS_MAX; k++)
		fm_sample_free(&samples[k]);
	return status;
}

struct fm_figure fm_count_session_spent(struct fm_count_session *session, unsigned part, unsigned event)
{
	struct fm_counted_part *which = &session->parts[part];
	struct fm_count spent;

	fm_count_difference(&session->events[event], &which->counts[event], &which->before[event], &spent);
	which->before[event] = which->counts[event];
	return spent.figure;
}

void fm_count_session_free(struct fm_count_session *session)
{
	free_parts(session);
	free(session->figures);
	fm_marked_free(session->marked, session->marked_count);
	free(session);
}
