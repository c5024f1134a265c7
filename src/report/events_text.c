/* Events by name, as text. */
#include <math.h>

#include "base/text.h"
#include "report/parts.h"
#include "report/table.h"

enum { WIDE = 140 };

static const char *grouped(char *buffer, size_t size, double value)
{
	return fm_text_grouped(buffer, size, value > 0 ? (uint64_t)(value + 0.5) : 0);
}

/* Marked regions, one row for each thread. */
static void print_regions(const struct fm_recording *recording, FILE *output)
{
	struct fm_table *table;

	if (!recording->marked_count)
		return;
	table = fm_table_create("lrrrrl");
	fm_table_cells(table, "Region", "thread", "times", "seconds", "count", "event");
	for (size_t i = 0; i < recording->marked_count; i++)
		for (size_t k = 0; k < recording->events_count; k++) {
			const struct fm_recorded_marked *marked = &recording->marked[i];
			const struct fm_figure *figure =
			    &recording->marked_counts[i * recording->events_count + k].figure;
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
			fm_table_cell(table, "%s", recording->events[k].name);
		}
	fputc('\n', output);
	fm_table_end(table, output, 2, WIDE);
	if (recording->run.regions_lost)
		fprintf(output, "%llu instances of regions are missing: the buffer was full\n",
		        (unsigned long long)recording->run.regions_lost);
}

static void remark(const struct fm_recorded_event *event, const struct fm_recorded_count *count, char *text,
                   size_t size)
{
	const struct fm_figure *figure = &count->figure;
	size_t used = 0;

	*text = '\0';
	if (!figure->available)
		used = (size_t)snprintf(text, size, "%s", figure->why);
	else if (count->running < count->enabled)
		used = (size_t)snprintf(text, size, "shared its counter: counted %.1f %% of the time",
		                        100 * (double)count->running / (double)count->enabled);
	/* an unimplemented event code opens and stays at zero, which is no count */
	if (figure->available && !count->value && event->needs_pmu)
		used = (size_t)snprintf(
		    text, size, "stayed at zero: the event did not occur, or does not count here ('fathom events')");
	if (count->user_only && used < size)
		snprintf(text + used, size - used, "%swithout the kernel (not permitted)", used ? "; " : "");
}

static void print_counted(const struct fm_recording *recording, FILE *output)
{
	struct fm_table *table = fm_table_create(recording->parts_count > 1 ? "rrlll" : "rlll");

	fprintf(output, "\n%s, counted by this machine's kernel%s\n", fm_observed_words(recording),
	        recording->asked.repeats > 1 ? ", medians with their intervals" : "");
	if (recording->parts_count > 1)
		fm_table_cell(table, "thread");
	fm_table_cells(table, "count", "event", "between", "remarks");
	for (size_t i = 0; i < recording->event_counts_count; i++) {
		const struct fm_recorded_count *count = &recording->event_counts[i];
		const struct fm_recorded_event *event = &recording->events[count->event];
		const struct fm_figure *figure = &count->figure;
		char value[48], low[48], high[48], remarks[240];

		if (recording->parts_count > 1)
			fm_table_cell(table, "%lld", (long long)recording->parts[count->owner].thread);
		fm_table_cell(table, "%s%s%s", figure->available ? grouped(value, sizeof(value), figure->value) : "n/a",
		              *event->unit ? " " : "", event->unit);
		fm_table_cell(table, "%s%s", event->name, count->user_only ? ":u" : "");
		if (figure->available && figure->high > figure->low)
			fm_table_cell(table, "%s … %s", grouped(low, sizeof(low), figure->low),
			              grouped(high, sizeof(high), figure->high));
		else
			fm_table_cell(table, "%s", "");
		remark(event, count, remarks, sizeof(remarks));
		fm_table_cell(table, "%s", remarks);
	}
	fm_table_end(table, output, 2, WIDE);
	fprintf(output, "\n%.6f seconds\n", recording->run.elapsed.value);
	print_regions(recording, output);
}

static void print_simulated(const struct fm_analysis *analysis, FILE *output)
{
	fprintf(output, "\n%s on the simulated %s: counts of its simulated counters\n",
	        analysis->recording->run.program, analysis->recording->machine.name);
	for (size_t i = 0; i < analysis->event_count; i++) {
		const struct fm_event_value *event = &analysis->events[i];
		char value[48], thread[32] = "";

		if (event->thread >= 0)
			snprintf(thread, sizeof(thread), "  thread %d", event->thread);
		fprintf(output, "  %20s  %s%s%s%s\n",
		        event->figure.available ? grouped(value, sizeof(value), event->figure.value) : "n/a",
		        event->name, thread, event->figure.available ? "" : "  ",
		        event->figure.available ? "" : event->figure.why);
	}
}

void fm_events_print(const struct fm_analysis *analysis, const struct fm_writer_options *options, FILE *output)
{
	(void)options;
	if (analysis->recording->asked.question == FM_QUESTION_COUNTED_EVENTS)
		print_counted(analysis->recording, output);
	else
		print_simulated(analysis, output);
}

void fm_events_print_moment(const struct fm_recording *recording, size_t first, const char *separator, FILE *output)
{
	for (size_t i = first; i < recording->intervals_count; i++) {
		const struct fm_recorded_interval *interval = &recording->intervals[i];
		const char *name = recording->events[interval->event].name;
		char text[64];

		/* rows of one moment only */
		if (i > first && interval->at != recording->intervals[first].at)
			return;
		if (separator)
			fprintf(output, "%.3f%s%s%s%.0f%s%s\n", interval->at, separator, name, separator,
			        interval->figure.available ? interval->figure.value : 0, separator,
			        interval->figure.available ? "" : interval->figure.why);
		else
			fprintf(output, "%10.3f s  %20s  %s\n", interval->at,
			        fm_figure_text_bare(text, sizeof(text), &interval->figure), name);
	}
}

void fm_metrics_print(const struct fm_analysis *analysis, const struct fm_writer_options *options, FILE *output)
{
	struct fm_table *table;

	if (!analysis->group)
		return;
	table = fm_table_create("rll");
	for (size_t i = 0; i < analysis->metric_count; i++) {
		const struct fm_metric_value *metric = &analysis->metrics[i];

		fm_table_cell(table, isfinite(metric->value) ? "%.4g" : "n/a", metric->value);
		fm_table_cell(table, "%s", metric->name);
		fm_table_cell(table, "%s", metric->why);
	}
	fprintf(output, "\n%s\n", *analysis->group->title ? analysis->group->title : "Metrics");
	fm_table_end(table, output, 2, options->width);
}
