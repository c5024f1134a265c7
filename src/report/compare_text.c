/* Two recordings of sampled references, as text. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "report/parts.h"
#include "report/table.h"

enum { NAME_COLUMNS = 26 };

/* "4.1 ±0.1", in ms where seconds are short. */
static const char *time_text(char *text, size_t size, const struct fm_figure *figure)
{
	char number[48];

	if (!figure->available)
		snprintf(text, size, "-");
	else if (!strcmp(figure->unit, "s"))
		snprintf(text, size, "%s ms", fm_interval_text(number, sizeof(number), figure, 1e3));
	else
		snprintf(text, size, "%s", fm_text_number(number, sizeof(number), figure->value));
	return text;
}

/* "0.52× (0.48–0.57)". */
static const char *ratio_text(char *text, size_t size, const struct fm_compared *compared)
{
	const struct fm_figure *ratio = &compared->ratio;

	if (!ratio->available)
		snprintf(text, size, "%s", compared->change == FM_CHANGE_INCOMPARABLE ? "n/a" : "-");
	else if (ratio->high - ratio->low > 1e-6)
		snprintf(text, size, "%.2f× (%.2f–%.2f)", ratio->value, ratio->low, ratio->high);
	else
		snprintf(text, size, "%.2f×", ratio->value);
	return text;
}

static const char *verdict(const struct fm_compared *time, bool regions)
{
	if (time->change == FM_CHANGE_LESS)
		return regions ? "faster" : "less time";
	if (time->change == FM_CHANGE_MORE)
		return regions ? "slower" : "more time";
	return fm_change_name(time->change);
}

/* The level with the largest shown change of its share. */
static const char *level_text(const struct fm_comparison *comparison, const struct fm_compared_row *row, char *text,
                              size_t size)
{
	double most = 0;

	*text = '\0';
	for (unsigned i = 0; i < comparison->classes; i++) {
		const struct fm_compared *level = &row->levels[i];

		if ((level->change != FM_CHANGE_LESS && level->change != FM_CHANGE_MORE) ||
		    fabs(level->difference.value) <= most)
			continue;
		most = fabs(level->difference.value);
		snprintf(text, size, "%s %.0f→%.0f %%", comparison->class_names[i], 100 * level->first.value,
		         100 * level->second.value);
	}
	return text;
}

static void print_rows(const struct fm_comparison *comparison, const char *title, const struct fm_compared_row *rows,
                       size_t count, bool regions, const struct fm_writer_options *options, FILE *output)
{
	struct fm_table *table = fm_table_create("lrrlll");
	bool seconds = !strcmp(comparison->unit, "s");

	if (!count) {
		fm_table_free(table);
		return;
	}
	fm_table_cell(table, "%s", title);
	fm_table_cell(table, "first%s", seconds ? "" : ", cycles");
	fm_table_cell(table, "second%s", seconds ? "" : ", cycles");
	fm_table_cells(table, "second/first", "verdict", "level");
	for (size_t i = 0; i < count && i < options->top; i++) {
		const struct fm_compared_row *row = &rows[i];
		char text[120];

		fm_table_cell(table, "%s", fm_text_elide(text, sizeof(text), row->name, NAME_COLUMNS));
		fm_table_cell(table, "%s", time_text(text, sizeof(text), &row->time.first));
		fm_table_cell(table, "%s", time_text(text, sizeof(text), &row->time.second));
		fm_table_cell(table, "%s", ratio_text(text, sizeof(text), &row->time));
		fm_table_cell(table, "%s", verdict(&row->time, regions));
		fm_table_cell(table, "%s", level_text(comparison, row, text, sizeof(text)));
	}
	fputc('\n', output);
	fm_table_print(table, output, 0, options->width);
	if (count > options->top)
		fprintf(output, "… and %zu more (--top)\n", count - options->top);
	fm_table_free(table);
}

void fm_comparison_print_text(const struct fm_comparison *comparison, const struct fm_writer_options *options,
                              FILE *output)
{
	const struct fm_fold *folds[] = {comparison->first, comparison->second};
	const struct fm_compared_row *whole = &comparison->whole;
	char text[120];

	for (unsigned i = 0; i < 2; i++) {
		const struct fm_recording *recording = folds[i]->samples->recording;
		char program[160], number[32];

		fprintf(output, "%s %s: %.3g s of processor time, %s samples (%s)\n", i ? "Second:" : "First: ",
		        fm_text_elide(program, sizeof(program), fm_observed_words(recording), 50),
		        recording->sampling.cpu_seconds,
		        fm_text_grouped(number, sizeof(number), fm_recording_references(recording)),
		        recording->sampling.sampler);
	}
	fprintf(output, "± and ranges are 95 %% intervals; \"no difference shown\": the interval includes zero.\n");
	fprintf(output, "\nAll references: mean cost %s cycles",
	        fm_interval_text(text, sizeof(text), &whole->mean_cost.first, 1));
	fprintf(output, " → %s cycles: %s", fm_interval_text(text, sizeof(text), &whole->mean_cost.second, 1),
	        fm_change_name(whole->mean_cost.change));
	if (*level_text(comparison, whole, text, sizeof(text)))
		fprintf(output, "; %s", text);
	fprintf(output, ".\n");
	if (*comparison->why)
		fprintf(output, "%s.\n", comparison->why);
	print_rows(comparison, "Region, one instance", comparison->regions, comparison->region_count, true, options,
	           output);
	print_rows(comparison, "Object", comparison->objects, comparison->object_count, false, options, output);
	print_rows(comparison, "Routine", comparison->routines, comparison->routine_count, false, options, output);
}
