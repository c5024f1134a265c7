#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/stat_events.h"
#include "counters/event.h"
#include "exact/simulated.h"
#include "json/figure.h"
#include "report/group_text.h"

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
				        figure.available
				            ? fm_text_grouped(value, sizeof(value), (uint64_t)(figure.value + 0.5))
				            : "n/a",
				        name, i ? "  " : "", thread, figure.available ? "" : "  ",
				        figure.available ? "" : figure.why);
			}
		}
	}
	/* the time is that of the thread that ended last */
	for (unsigned i = 0; i < stat->run->results->thread_count; i++) {
		double end = (double)stat->run->results->threads[i].clock / stat->machine->frequency_ghz * 1e-9;

		if (end > 0 && !(end < seconds))
			seconds = end;
	}
	if (request->group && !common->json && !common->separator)
		fm_group_print(request->group, values, seconds, stat->machine->frequency_ghz * 1e9, output);
	if (common->json && request->group)
		json_object_set_new(
		    root, "metrics",
		    fm_group_to_json(request->group, values, seconds, stat->machine->frequency_ghz * 1e9));
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
