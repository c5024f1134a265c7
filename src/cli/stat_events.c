#include "cli/stat_events.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>

#include "base/text.h"
#include "cli/count_session.h"
#include "json/figure.h"
#include "report/group_text.h"
#include "report/table.h"

struct output {
	FILE *file;
	json_t *intervals;
};

static void report_interval(struct fm_count_session *session, double at)
{
	const char *separator = session->request->common->separator;
	struct output *output = session->context;

	for (unsigned i = 0; i < session->part_count; i++) {
		const struct fm_counted_part *part = &session->parts[i];

		for (unsigned k = 0; k < session->event_count; k++) {
			struct fm_figure spent = fm_count_session_spent(session, i, k);
			char text[64];

			if (session->request->common->json) {
				json_t *entry = json_pack("{s:f, s:s}", "seconds", at, "name", session->events[k].name);

				if (part->thread)
					json_object_set_new(entry, "thread", json_integer(part->thread));
				fm_json_set_figure(entry, "count", &spent);
				json_array_append_new(output->intervals, entry);
				continue;
			}
			fm_figure_text_bare(text, sizeof(text), &spent);
			if (separator)
				fprintf(output->file, "%.3f%s%s%s%.0f%s%s\n", at, separator, session->events[k].name,
				        separator, spent.available ? spent.value : 0, separator,
				        spent.available ? "" : spent.why);
			else
				fprintf(output->file, "%10.3f s  %20s  %s\n", at, text, session->events[k].name);
		}
	}
	fflush(output->file);
}

static const char *grouped(char *buffer, size_t size, double value)
{
	return fm_text_grouped(buffer, size, (uint64_t)(value + 0.5));
}

/* Marked regions, each thread that ran them by itself. */
static void print_regions(const struct fm_count_session *session, FILE *output)
{
	struct fm_table *table;

	if (!session->marked_count)
		return;
	table = fm_table_create("lrrrrl");
	fm_table_cell(table, "Region");
	fm_table_cell(table, "thread");
	fm_table_cell(table, "times");
	fm_table_cell(table, "seconds");
	fm_table_cell(table, "count");
	fm_table_cell(table, "event");
	for (unsigned i = 0; i < session->marked_count; i++)
		for (unsigned k = 0; k < session->event_count; k++) {
			const struct fm_marked *marked = &session->marked[i];
			const struct fm_figure *figure = &marked->counts[k].figure;
			char value[48];

			fm_table_cell(table, "%s", k ? "" : marked->name);
			if (k) {
				for (unsigned empty = 0; empty < 3; empty++)
					fm_table_cell(table, "%s", "");
			} else {
				fm_table_cell(table, "%u", marked->ordinal);
				fm_table_cell(table, "%llu", (unsigned long long)marked->instances);
				fm_table_cell(table, "%.6f", marked->seconds);
			}
			fm_table_cell(table, "%s",
			              figure->available ? grouped(value, sizeof(value), figure->value) : "n/a");
			fm_table_cell(table, "%s", session->events[k].name);
		}
	fputc('\n', output);
	fm_table_print(table, output, 2, 140);
	fm_table_free(table);
	if (session->marked_lost)
		fprintf(output, "%llu instances of regions had no room and are missing\n",
		        (unsigned long long)session->marked_lost);
}

static void print_text(const struct fm_count_session *session, struct output *output)
{
	const struct fm_stat_request *request = session->request;
	struct fm_table *table = fm_table_create(session->part_count > 1 ? "rrlll" : "rlll");

	fprintf(output->file, "\n%s, counted by this machine's kernel%s\n",
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
	fm_table_print(table, output->file, 2, 140);
	fm_table_free(table);
	fprintf(output->file, "\n%.6f seconds\n", session->elapsed.value);
	print_regions(session, output->file);
}

static void print_separated(const struct fm_count_session *session, struct output *output)
{
	const char *separator = session->request->common->separator;

	fprintf(output->file, "thread%sevent%scount%slow%shigh%sunit%srunning%swhy\n", separator, separator, separator,
	        separator, separator, separator, separator);
	for (unsigned i = 0; i < session->part_count; i++)
		for (unsigned k = 0; k < session->event_count; k++) {
			const struct fm_figure *figure = &session->figures[i * session->event_count + k];
			const struct fm_count *count = &session->parts[i].counts[k];

			fprintf(output->file, "%d%s%s%s", session->parts[i].thread, separator, session->events[k].name,
			        separator);
			if (figure->available)
				fprintf(output->file, "%.0f%s%.0f%s%.0f", figure->value, separator, figure->low,
				        separator, figure->high);
			else
				fprintf(output->file, "%s%s", separator, separator);
			fprintf(output->file, "%s%s%s%.4f%s%s\n", separator, session->events[k].unit, separator,
			        count->enabled ? (double)count->running / (double)count->enabled : 0, separator,
			        figure->available ? "" : figure->why);
		}
}

/* Of a session: the first part is the whole. */
static void session_counts(const struct fm_count_session *session, double *ret_counts)
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

static json_t *regions_json(const struct fm_count_session *session)
{
	json_t *regions = json_array();

	for (unsigned i = 0; i < session->marked_count; i++) {
		const struct fm_marked *marked = &session->marked[i];
		json_t *events = json_array();

		for (unsigned k = 0; k < session->event_count; k++)
			json_array_append_new(events, event_json(&session->events[k], &marked->counts[k].figure));
		json_array_append_new(regions,
		                      json_pack("{s:s, s:i, s:I, s:f, s:o}", "name", marked->name, "thread",
		                                (int)marked->ordinal, "instances", (json_int_t)marked->instances,
		                                "seconds", marked->seconds, "events", events));
	}
	return regions;
}

static void print_json(const struct fm_count_session *session, struct output *output)
{
	const struct fm_stat_request *request = session->request;
	json_t *root = fm_json_document("stat"), *array = json_array();

	json_object_set_new(root, "machine", json_null());
	json_object_set_new(root, "machine_why", json_string("the one Fathom runs on"));
	json_object_set_new(root, "disturbance", json_null());
	json_object_set_new(root, "disturbance_why", json_string("counts of the program itself, not times"));
	json_object_set_new(root, "program", request->program ? json_string(request->program[0]) : json_null());
	json_object_set_new(root, "exit_status", json_integer(session->exit_status));
	json_object_set_new(root, "seconds", json_real(session->elapsed.value));
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
		json_object_set_new(root, "metrics",
		                    fm_group_to_json(request->group, counts, session->elapsed.value, NAN));
	}
	json_object_set_new(root, "regions", regions_json(session));
	json_object_set_new(root, "regions_lost", json_integer((json_int_t)session->marked_lost));
	if (output->intervals)
		json_object_set(root, "intervals", output->intervals);
	json_dumpf(root, output->file, JSON_INDENT(1));
	fputc('\n', output->file);
	json_decref(root);
}

int fm_stat_count(const struct fm_stat_request *request)
{
	struct fm_count_session *session = calloc(1, sizeof(*session));
	struct output output = {0};
	struct fm_error error;
	int count, code;

	if (!session)
		return 125;
	session->request = request;
	count = fm_events_parse(request->events, session->events, FM_EVENTS_MAX, &error);
	if (count < 0) {
		code = fm_count_session_refuse(session, &error);
		fm_count_session_free(session);
		return code;
	}
	session->event_count = (unsigned)count;
	output.file = fm_common_open(request->common);
	if (!output.file) {
		fm_count_session_free(session);
		return 125;
	}
	if (request->common->json && request->interval_ms)
		output.intervals = json_array();
	session->on_interval = report_interval;
	session->context = &output;
	fflush(NULL);
	fm_interrupt_install();
	signal(SIGCHLD, SIG_DFL);
	if (fm_count_session_run(session, &error)) {
		code =
		    error.code == ENOTSUP ? fm_count_session_refuse(session, &error) : fm_report_error_of_run(&error);
		fm_common_close(request->common, output.file);
	} else {
		if (request->common->json)
			print_json(session, &output);
		else if (request->common->separator)
			print_separated(session, &output);
		else
			print_text(session, &output);
		if (request->group && !request->common->json && !request->common->separator) {
			double counts[FM_EVENTS_MAX];

			session_counts(session, counts);
			fm_group_print(request->group, counts, session->elapsed.value, NAN, output.file);
		}
		code = fm_common_close(request->common, output.file) ? 125 : session->exit_status;
	}
	json_decref(output.intervals);
	fm_count_session_free(session);
	return code;
}
