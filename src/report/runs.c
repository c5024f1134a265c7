/* Two runs, before and after a change, as text and as JSON. */
#include <jansson.h>
#include <string.h>

#include "base/text.h"
#include "json/figure.h"
#include "report/parts.h"
#include "report/table.h"
#include "report/verdict.h"

static void print_verdict(const char *which, const struct fm_program_verdict *verdict, struct fm_table *table)
{
	char sentence[320] = "";

	if (verdict->share.available)
		snprintf(sentence, sizeof(sentence), "%.0f %% (%.0f … %.0f) %s", 100 * verdict->share.value,
		         100 * verdict->share.low, 100 * verdict->share.high, verdict->sentence);
	else
		snprintf(sentence, sizeof(sentence), "%s", verdict->sentence);
	fm_table_cells(table, which);
	fm_table_cell(table, "%s %.2f", *verdict->cause ? verdict->cause : "inconclusive", verdict->confidence);
	fm_table_cells(table, sentence);
}

enum kind { SECONDS, SHARE, BYTES };

static const char *value_text(char *text, size_t size, enum kind kind, double value)
{
	if (kind == BYTES)
		return fm_text_bytes(text, size, value);
	snprintf(text, size, kind == SHARE ? "%.0f %%" : "%.3g s", kind == SHARE ? 100 * value : value);
	return text;
}

static void print_figure(struct fm_table *table, const struct fm_figure *figure, enum kind kind)
{
	char value[32], low[32], high[32];

	if (!figure->available)
		fm_table_cells(table, "n/a");
	else
		fm_table_cell(table, "%s (%s … %s)", value_text(value, sizeof(value), kind, figure->value),
		              value_text(low, sizeof(low), kind, figure->low),
		              value_text(high, sizeof(high), kind, figure->high));
}

static void print_row(struct fm_table *table, const char *name, const struct fm_compared *compared, enum kind kind)
{
	const struct fm_figure *shown = kind == SHARE ? &compared->difference : &compared->ratio;

	fm_table_cells(table, name);
	print_figure(table, &compared->first, kind);
	print_figure(table, &compared->second, kind);
	if (!shown->available)
		fm_table_cells(table, "n/a");
	else if (compared->change == FM_CHANGE_NONE)
		fm_table_cells(table, fm_change_name(compared->change));
	else if (kind == SHARE)
		fm_table_cell(table, "%+.0f points (%+.0f … %+.0f)", 100 * shown->value, 100 * shown->low,
		              100 * shown->high);
	else
		fm_table_cell(table, "%.2f× (%.2f … %.2f)", shown->value, shown->low, shown->high);
}

/* The answer first: the time, and whether the cause has changed. */
static void print_answer(const struct fm_runs *runs, FILE *output)
{
	const struct fm_figure *ratio = &runs->time.ratio;
	const char *before = runs->before->verdict.cause, *after = runs->after->verdict.cause;

	if (runs->time.change == FM_CHANGE_LESS || runs->time.change == FM_CHANGE_MORE)
		fprintf(output, "The second run takes %s time: %.2f× (%.2f … %.2f).\n",
		        runs->time.change == FM_CHANGE_LESS ? "less" : "more", ratio->value, ratio->low, ratio->high);
	else if (ratio->available)
		fprintf(output, "No difference in time shown: %.2f× (%.2f … %.2f).\n", ratio->value, ratio->low,
		        ratio->high);
	else
		fprintf(output, "The times cannot be compared: %s.\n", ratio->why);
	if (strcmp(before, after) != 0)
		fprintf(output, "The verdict changed from %s to %s.\n", *before ? before : "inconclusive",
		        *after ? after : "inconclusive");
	else
		fprintf(output, "The verdict is the same: %s.\n", *after ? after : "inconclusive");
}

void fm_runs_print_text(const struct fm_runs *runs, const struct fm_writer_options *options, FILE *output)
{
	struct fm_table *table = fm_table_create("llw");
	char name[64];

	print_answer(runs, output);
	fputc('\n', output);
	print_verdict("first", &runs->before->verdict, table);
	print_verdict("second", &runs->after->verdict, table);
	fm_table_end(table, output, 0, options->width);
	fputc('\n', output);
	table = fm_table_create("lrrr");
	fm_table_cells(table, "", "first", "second", "change");
	print_row(table, "time", &runs->time, SECONDS);
	for (unsigned i = 0; i < runs->cause_count; i++)
		print_row(table, runs->causes[i].name, &runs->causes[i].share, SHARE);
	for (unsigned i = 0; i < runs->level_count; i++) {
		snprintf(name, sizeof(name), "%s, traffic", runs->levels[i].name);
		print_row(table, name, &runs->levels[i].bytes, BYTES);
	}
	fm_table_end(table, output, 0, options->width);
	fputs("Shares of the run time; 95 % confidence intervals.\n", output);
}

static json_t *compared_json(const char *name, const struct fm_compared *compared)
{
	json_t *object = json_pack("{s:s, s:s}", "name", name, "change", fm_change_name(compared->change));

	fm_json_set_figure(object, "first", &compared->first);
	fm_json_set_figure(object, "second", &compared->second);
	fm_json_set_figure(object, "ratio", &compared->ratio);
	fm_json_set_figure(object, "difference", &compared->difference);
	return object;
}

void fm_runs_print_json(const struct fm_runs *runs, const struct fm_writer_options *options, FILE *output)
{
	json_t *root = fm_json_document("report"), *compared = json_object(), *causes = json_array(),
	       *levels = json_array();

	(void)options;
	fm_json_set_null(root, "machine", "each recording has a separate one");
	fm_json_set_null(root, "disturbance", "each recording has a separate one");
	for (unsigned i = 0; i < runs->cause_count; i++)
		json_array_append_new(causes, compared_json(runs->causes[i].name, &runs->causes[i].share));
	for (unsigned i = 0; i < runs->level_count; i++)
		json_array_append_new(levels, compared_json(runs->levels[i].name, &runs->levels[i].bytes));
	json_object_set_new(compared, "first", fm_verdict_json(runs->before));
	json_object_set_new(compared, "second", fm_verdict_json(runs->after));
	json_object_set_new(compared, "time", compared_json("time", &runs->time));
	json_object_set_new(compared, "causes", causes);
	json_object_set_new(compared, "levels", levels);
	json_object_set_new(root, "runs", compared);
	fm_json_print(root, output);
}
