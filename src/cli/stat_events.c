#include "cli/stat_events.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/statistics.h"
#include "base/text.h"
#include "counters/counting.h"
#include "exact/simulated.h"
#include "json/figure.h"
#include "report/table.h"

enum { THREADS_MAX = 4096 };

/* One thing that is counted on its own: everything together, or one thread. */
struct part {
	pid_t thread; /* 0: all together */
	struct fm_counting *counting;
	struct fm_count *counts; /* the last reading */
	struct fm_count *before; /* the one at the last interval */
};

struct session {
	const struct fm_stat_request *request;
	struct fm_event events[FM_EVENTS_MAX];
	unsigned event_count;
	struct part *parts;
	unsigned part_count;
	struct fm_figure *figures; /* [part][event], final */
	double seconds;
	int exit_status;
	json_t *intervals;
	FILE *output;
};

static int refuse_hardware(const struct session *session, const struct fm_error *error)
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

static int launch(char **program, struct child *ret_child, struct fm_error *error)
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

static int add_part(struct session *session, pid_t thread, const struct fm_target *target, struct fm_error *error)
{
	struct part *larger = realloc(session->parts, (session->part_count + 1) * sizeof(*larger));
	struct part *part;
	int status;

	if (!larger)
		return fm_error_set(error, ENOMEM, "out of memory");
	session->parts = larger;
	part = &larger[session->part_count];
	*part = (struct part){.thread = thread};
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

static void free_parts(struct session *session)
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
static int add_process(struct session *session, long process, struct fm_error *error)
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

static int add_processes(struct session *session, struct fm_error *error)
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

static void read_parts(struct session *session)
{
	for (unsigned i = 0; i < session->part_count; i++)
		fm_counting_read(session->parts[i].counting, session->parts[i].counts);
}

/* Intervals */

static void report_interval(struct session *session, double at)
{
	const char *separator = session->request->common->separator;

	read_parts(session);
	for (unsigned i = 0; i < session->part_count; i++) {
		struct part *part = &session->parts[i];

		for (unsigned k = 0; k < session->event_count; k++) {
			struct fm_count spent;
			char text[64];

			fm_count_difference(&session->events[k], &part->counts[k], &part->before[k], &spent);
			part->before[k] = part->counts[k];
			if (session->request->common->json) {
				json_t *entry = json_pack("{s:f, s:s}", "seconds", at, "name", session->events[k].name);

				if (part->thread)
					json_object_set_new(entry, "thread", json_integer(part->thread));
				fm_json_set_figure(entry, "count", &spent.figure);
				json_array_append_new(session->intervals, entry);
				continue;
			}
			fm_figure_text_bare(text, sizeof(text), &spent.figure);
			if (separator)
				fprintf(session->output, "%.3f%s%s%s%.0f%s%s\n", at, separator, session->events[k].name,
				        separator, spent.figure.available ? spent.figure.value : 0, separator,
				        spent.figure.available ? "" : spent.figure.why);
			else
				fprintf(session->output, "%10.3f s  %20s  %s\n", at, text, session->events[k].name);
		}
	}
	fflush(session->output);
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
static void wait_for_end(struct session *session, pid_t process, uint64_t begin)
{
	uint64_t interval = session->request->interval_ms, next = interval;
	int status = 0;

	for (;;) {
		uint64_t now = (fm_clock_now() - begin) / 1000000;

		pid_t ended = process ? waitpid(process, &status, interval ? WNOHANG : 0) : 0;

		if (process && (ended == process || (ended < 0 && errno != EINTR)))
			break;
		if (!process && fm_interrupted)
			break;
		if (!process && session->request->process && !any_alive(session->request->process))
			break;
		if (interval && now >= next) {
			report_interval(session, (double)now / 1e3);
			next += interval;
		}
		if (interval || !process)
			poll(NULL, 0, interval && next > now && next - now < 10 ? (int)(next - now) : 10);
	}
	session->seconds = (double)(fm_clock_now() - begin) / 1e9;
	if (process)
		session->exit_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Running */

static int run_once(struct session *session, struct fm_error *error)
{
	const struct fm_stat_request *request = session->request;
	struct child child = {0};
	struct fm_target target = {.task = -1, .every_cpu = true};
	uint64_t begin;
	int status = 0;

	if (request->program) {
		status = launch(request->program, &child, error);
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
	wait_for_end(session, request->program ? child.process : 0, begin);
	for (unsigned i = 0; i < session->part_count; i++)
		fm_counting_stop(session->parts[i].counting);
	read_parts(session);
	return 0;
}

/* Several runs: the median and its interval. An event that was not counted in one of them was not counted. */
static int run_all(struct session *session, struct fm_error *error)
{
	unsigned runs = session->request->repeats ? (unsigned)session->request->repeats : 1;
	struct fm_sample samples[FM_EVENTS_MAX] = {{0}};
	int status = 0;

	for (unsigned i = 0; i < runs && !status && !fm_interrupted; i++) {
		if (i)
			free_parts(session);
		status = run_once(session, error);
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
			struct fm_location location;

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
	for (unsigned k = 0; k < FM_EVENTS_MAX; k++)
		fm_sample_free(&samples[k]);
	return status;
}

/* Output */

static const char *grouped(char *buffer, size_t size, double value)
{
	return fm_text_grouped(buffer, size, (uint64_t)(value + 0.5));
}

static void print_text(const struct session *session)
{
	const struct fm_stat_request *request = session->request;
	struct fm_table *table = fm_table_create(session->part_count > 1 ? "rrlll" : "rlll");
	FILE *output = session->output;

	fprintf(output, "\n%s, counted by this machine's kernel%s\n",
	        request->program       ? request->program[0]
	        : request->system_wide ? "the whole machine"
	                               : request->process,
	        request->repeats > 1 ? ", medians with their intervals" : "");
	if (session->part_count > 1)
		fm_table_cell(table, "thread");
	fm_table_cell(table, "count");
	fm_table_cell(table, "event");
	fm_table_cell(table, "between");
	fm_table_cell(table, "remarks");
	for (unsigned i = 0; i < session->part_count; i++)
		for (unsigned k = 0; k < session->event_count; k++) {
			const struct fm_figure *figure = &session->figures[i * session->event_count + k];
			const struct fm_count *count = &session->parts[i].counts[k];
			char value[48], low[48], high[48], remarks[240];
			size_t used = 0;

			if (session->part_count > 1)
				fm_table_cell(table, "%d", session->parts[i].thread);
			fm_table_cell(table, "%s%s%s",
			              figure->available ? grouped(value, sizeof(value), figure->value) : "n/a",
			              *session->events[k].unit ? " " : "", session->events[k].unit);
			fm_table_cell(table, "%s%s", session->events[k].name, count->user_only ? ":u" : "");
			if (figure->available && figure->high > figure->low)
				fm_table_cell(table, "%s … %s", grouped(low, sizeof(low), figure->low),
				              grouped(high, sizeof(high), figure->high));
			else
				fm_table_cell(table, "%s", "");
			*remarks = 0;
			if (!figure->available)
				used = (size_t)snprintf(remarks, sizeof(remarks), "%s", figure->why);
			else if (count->running < count->enabled)
				used = (size_t)snprintf(remarks, sizeof(remarks),
				                        "shared its counter: seen %.1f %% of the time",
				                        100 * (double)count->running / (double)count->enabled);
			/* an unimplemented code opens and stays at zero: not to be taken for a count */
			if (figure->available && !count->value && fm_event_needs_pmu(&session->events[k]))
				used = (size_t)snprintf(
				    remarks, sizeof(remarks),
				    "stayed at zero: nothing happened, or it is not counted here ('fathom events')");
			if (count->user_only && used < sizeof(remarks))
				snprintf(remarks + used, sizeof(remarks) - used, "%swithout the kernel (not permitted)",
				         used ? "; " : "");
			fm_table_cell(table, "%s", remarks);
		}
	fm_table_print(table, output, 2, 140);
	fm_table_free(table);
	fprintf(output, "\n%.6f seconds\n", session->seconds);
}

static void print_separated(const struct session *session)
{
	const char *separator = session->request->common->separator;

	fprintf(session->output, "thread%sevent%scount%slow%shigh%sunit%srunning%swhy\n", separator, separator,
	        separator, separator, separator, separator, separator);
	for (unsigned i = 0; i < session->part_count; i++)
		for (unsigned k = 0; k < session->event_count; k++) {
			const struct fm_figure *figure = &session->figures[i * session->event_count + k];
			const struct fm_count *count = &session->parts[i].counts[k];

			fprintf(session->output, "%d%s%s%s", session->parts[i].thread, separator,
			        session->events[k].name, separator);
			if (figure->available)
				fprintf(session->output, "%.0f%s%.0f%s%.0f", figure->value, separator, figure->low,
				        separator, figure->high);
			else
				fprintf(session->output, "%s%s", separator, separator);
			fprintf(session->output, "%s%s%s%.4f%s%s\n", separator, session->events[k].unit, separator,
			        count->enabled ? (double)count->running / (double)count->enabled : 0, separator,
			        figure->available ? "" : figure->why);
		}
}

/* Metrics of a group from the counts of its events, all threads together. */
static void print_metrics(const struct fm_group *group, const double *counts, double seconds, double frequency,
                          FILE *output)
{
	struct fm_table *table = fm_table_create("rll");

	for (unsigned i = 0; i < group->metric_count; i++) {
		struct fm_error error;
		double value;
		int r = fm_group_metric(group, i, counts, seconds, frequency, &value, &error);

		fm_table_cell(table, r || !isfinite(value) ? "n/a" : "%.4g", value);
		fm_table_cell(table, "%s", group->metrics[i].name);
		fm_table_cell(table, "%s", r ? error.message : "");
	}
	fprintf(output, "\n%s\n", *group->title ? group->title : "Metrics");
	fm_table_print(table, output, 2, 100);
	fm_table_free(table);
}

static json_t *metrics_json(const struct fm_group *group, const double *counts, double seconds, double frequency)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < group->metric_count; i++) {
		struct fm_error error;
		double value;
		int r = fm_group_metric(group, i, counts, seconds, frequency, &value, &error);
		json_t *entry =
		    json_pack("{s:s, s:s}", "name", group->metrics[i].name, "formula", group->metrics[i].formula);

		json_object_set_new(entry, "value", r || !isfinite(value) ? json_null() : json_real(value));
		if (r || !isfinite(value))
			json_object_set_new(entry, "value_why", json_string(r ? error.message : "divided by nothing"));
		json_array_append_new(array, entry);
	}
	return array;
}

/* Of a session: the first part is the whole. */
static void session_counts(const struct session *session, double *ret_counts)
{
	for (unsigned k = 0; k < session->event_count; k++)
		ret_counts[k] = session->figures[k].available ? session->figures[k].value : NAN;
}

static json_t *event_json(const struct fm_event *event, const struct fm_figure *figure)
{
	json_t *entry = json_pack("{s:s, s:s}", "name", event->name, "pmu", event->pmu);

	fm_json_set_figure(entry, "count", figure);
	return entry;
}

static void print_json(const struct session *session)
{
	const struct fm_stat_request *request = session->request;
	json_t *root = fm_json_document("stat"), *array = json_array();

	json_object_set_new(root, "machine", json_null());
	json_object_set_new(root, "machine_why", json_string("the one Fathom runs on"));
	json_object_set_new(root, "disturbance", json_null());
	json_object_set_new(root, "disturbance_why", json_string("counts of the program itself, not times"));
	json_object_set_new(root, "program", request->program ? json_string(request->program[0]) : json_null());
	json_object_set_new(root, "exit_status", json_integer(session->exit_status));
	json_object_set_new(root, "seconds", json_real(session->seconds));
	for (unsigned i = 0; i < session->part_count; i++)
		for (unsigned k = 0; k < session->event_count; k++) {
			const struct fm_count *count = &session->parts[i].counts[k];
			json_t *entry =
			    event_json(&session->events[k], &session->figures[i * session->event_count + k]);

			if (session->parts[i].thread)
				json_object_set_new(entry, "thread", json_integer(session->parts[i].thread));
			json_object_set_new(entry, "user_only", json_boolean(count->user_only));
			json_object_set_new(entry, "enabled_ns", json_integer((json_int_t)count->enabled));
			json_object_set_new(entry, "running_ns", json_integer((json_int_t)count->running));
			json_array_append_new(array, entry);
		}
	json_object_set_new(root, "events", array);
	if (request->group) {
		double counts[FM_EVENTS_MAX];

		session_counts(session, counts);
		json_object_set_new(root, "metrics", metrics_json(request->group, counts, session->seconds, NAN));
	}
	if (session->intervals)
		json_object_set(root, "intervals", session->intervals);
	json_dumpf(root, session->output, JSON_INDENT(1));
	fputc('\n', session->output);
	json_decref(root);
}

int fm_stat_count(const struct fm_stat_request *request)
{
	struct session *session = calloc(1, sizeof(*session));
	struct fm_error error;
	int count, code;

	if (!session)
		return 125;
	session->request = request;
	count = fm_events_parse(request->events, session->events, FM_EVENTS_MAX, &error);
	if (count < 0) {
		code = refuse_hardware(session, &error);
		free(session);
		return code;
	}
	session->event_count = (unsigned)count;
	session->output = fm_common_open(request->common);
	if (!session->output) {
		free(session);
		return 125;
	}
	if (request->common->json && request->interval_ms)
		session->intervals = json_array();
	fflush(NULL);
	fm_interrupt_install();
	signal(SIGCHLD, SIG_DFL);
	if (run_all(session, &error)) {
		code = error.code == ENOTSUP ? refuse_hardware(session, &error) : fm_report_error_of_run(&error);
		fm_common_close(request->common, session->output);
	} else {
		if (request->common->json)
			print_json(session);
		else if (request->common->separator)
			print_separated(session);
		else
			print_text(session);
		if (request->group && !request->common->json && !request->common->separator) {
			double counts[FM_EVENTS_MAX];

			session_counts(session, counts);
			print_metrics(request->group, counts, session->seconds, NAN, session->output);
		}
		code = fm_common_close(request->common, session->output) ? 125 : session->exit_status;
	}
	free_parts(session);
	free(session->figures);
	json_decref(session->intervals);
	free(session);
	return code;
}

/* Simulated events, after the run of the exact engine. */
int fm_stat_count_simulated(const struct fm_stat_request *request, const char *machine, const struct fm_stat *stat)
{
	const struct fm_common *common = request->common;
	struct fm_simulated_events *events;
	struct fm_error error;
	unsigned chosen[FM_EVENTS_MAX], count = 0;
	double values[FM_EVENTS_MAX], seconds = NAN;
	char list[4096], *saved = NULL;
	FILE *output;
	json_t *root = NULL, *array = NULL;

	if (fm_simulated_load(machine, &events, &error))
		return fm_report_error_of_run(&error);
	snprintf(list, sizeof(list), "%s", request->events);
	for (char *name = strtok_r(list, ",{}", &saved); name; name = strtok_r(NULL, ",{}", &saved)) {
		if (count == FM_EVENTS_MAX || fm_simulated_find(events, name, &chosen[count], &error)) {
			fm_simulated_free(events);
			return count == FM_EVENTS_MAX ? FM_EXIT_USAGE : fm_report_error_of_run(&error);
		}
		count++;
	}
	output = fm_common_open(common);
	if (!output) {
		fm_simulated_free(events);
		return 125;
	}
	if (common->json) {
		root = fm_json_document("stat");
		array = json_array();
	} else if (!common->separator) {
		fprintf(output, "\n%s on the simulated %s: what its counters would say\n", stat->program,
		        stat->machine->name);
	}
	for (unsigned i = 0; i <= stat->run->results->thread_count; i++) {
		struct fm_core_counts counts = stat->total;
		struct fm_timing_counts timing = stat->timing;
		const struct fm_work *work = &stat->work;
		bool smt = false;

		for (unsigned k = 0; k < stat->run->results->thread_count; k++)
			smt |= stat->run->results->threads[k].shares_core;
		/* all together, and each thread when there are several */
		if (i) {
			if (stat->run->results->thread_count < 2)
				break;
			fm_result_thread_counts(stat->run->results, i - 1, &counts, &timing);
			work = &stat->run->results->threads[i - 1].work;
		}
		for (unsigned k = 0; !i && k < count; k++) {
			struct fm_figure figure = fm_simulated_value(
			    events, chosen[k],
			    &(struct fm_truth){.work = work, .counts = &counts, .timing = &timing, .smt = smt});

			/* an event that a group asks of several boxes is counted in each: here they share what there is
			 */
			unsigned boxes = 0;

			for (unsigned j = 0; j < count; j++)
				boxes += chosen[j] == chosen[k];
			values[k] = figure.available ? figure.value / boxes : NAN;
		}
		for (unsigned k = 0; k < count; k++) {
			const struct fm_truth truth = {.work = work, .counts = &counts, .timing = &timing, .smt = smt};
			struct fm_figure figure = fm_simulated_value(events, chosen[k], &truth);
			const char *name = fm_simulated_name(events, chosen[k]);
			char value[48], thread[32] = "";

			if (i)
				snprintf(thread, sizeof(thread), "thread %u", i - 1);
			if (common->json) {
				json_t *entry = json_pack("{s:s, s:s}", "name", name, "pmu", stat->machine->name);

				fm_json_set_figure(entry, "count", &figure);
				if (i)
					json_object_set_new(entry, "thread", json_integer(i - 1));
				json_array_append_new(array, entry);
			} else if (common->separator) {
				fprintf(output, "%s%s%s%s%.0f%s%s\n", i ? thread : "total", common->separator, name,
				        common->separator, figure.available ? figure.value : 0, common->separator,
				        figure.available ? "" : figure.why);
			} else {
				fprintf(output, "  %20s  %s%s%s%s%s\n",
				        figure.available ? grouped(value, sizeof(value), figure.value) : "n/a", name,
				        i ? "  " : "", thread, figure.available ? "" : "  ",
				        figure.available ? "" : figure.why);
			}
		}
	}
	/* the longest thread's cycles are the time */
	for (unsigned i = 0; i < stat->run->results->thread_count; i++) {
		struct fm_core_counts counts;
		struct fm_timing_counts timing;

		fm_result_thread_counts(stat->run->results, i, &counts, &timing);
		if (timing.cycles && !((double)timing.cycles / stat->machine->frequency_ghz * 1e-9 < seconds))
			seconds = (double)timing.cycles / stat->machine->frequency_ghz * 1e-9;
	}
	if (request->group && !common->json && !common->separator)
		print_metrics(request->group, values, seconds, stat->machine->frequency_ghz * 1e9, output);
	if (common->json && request->group)
		json_object_set_new(root, "metrics",
		                    metrics_json(request->group, values, seconds, stat->machine->frequency_ghz * 1e9));
	if (common->json) {
		json_object_set_new(root, "machine",
		                    json_pack("{s:s, s:s, s:b}", "name", stat->machine->name, "title",
		                              stat->machine->title, "simulated", 1));
		json_object_set_new(root, "disturbance", json_null());
		json_object_set_new(root, "disturbance_why",
		                    json_string("simulated counts do not depend on the moment"));
		json_object_set_new(root, "program", json_string(stat->program));
		json_object_set_new(root, "exit_status", json_integer(stat->run->exit_status));
		json_object_set_new(root, "events", array);
		json_dumpf(root, output, JSON_INDENT(1));
		fputc('\n', output);
		json_decref(root);
	}
	fm_simulated_free(events);
	return fm_common_close(common, output) ? 125 : 0;
}

int fm_stat_check_group(const struct fm_group *group, const char *machine, struct fm_error *error)
{
	struct fm_simulated_events *events;
	char missing[300] = "";
	size_t used = 0;
	int r = fm_simulated_load(machine, &events, error);

	if (r)
		return r;
	for (unsigned i = 0; i < group->event_count; i++) {
		struct fm_error ignored;
		unsigned index;

		if (fm_simulated_find(events, group->events[i].name, &index, &ignored) && used < sizeof(missing))
			used += (size_t)snprintf(missing + used, sizeof(missing) - used, "%s%s", used ? ", " : "",
			                         group->events[i].likwid);
	}
	fm_simulated_free(events);
	return used ? fm_error_set(error, ENOTSUP, "%s does not have these events of the group: %s", machine, missing)
	            : 0;
}
