/* Findings, folded regions, streams and working sets, as text. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "fold/findings.h"
#include "report/parts.h"
#include "report/table.h"

enum { NAME_COLUMNS = 15, LINE_COLUMNS = 15 };

static const char *line_text(const struct fm_samples *samples, int64_t index, char *text, size_t size, size_t columns)
{
	const struct fm_sampled_line *line;
	char whole[640], file[80];

	if (index < 0) {
		*text = '\0';
		return text;
	}
	line = &samples->lines[index];
	if (line->line)
		snprintf(whole, sizeof(whole), "%s:%lld %s",
		         fm_text_elide(file, sizeof(file), fm_file_name(line->file), 16), (long long)line->line,
		         *line->inlined ? line->inlined : line->function);
	else
		snprintf(whole, sizeof(whole), "%s [%s]", line->function, line->module);
	return fm_text_elide(text, size, whole, columns);
}

/* File and line only. */
static const char *place_text(const struct fm_samples *samples, int64_t index, char *text, size_t size)
{
	const struct fm_sampled_line *line = &samples->lines[index];
	char whole[640];

	if (!line->line)
		return fm_text_elide(text, size, line->function, LINE_COLUMNS);
	snprintf(whole, sizeof(whole), "%s:%lld", fm_file_name(line->file), (long long)line->line);
	return fm_text_elide(text, size, whole, LINE_COLUMNS);
}

/* Findings */

static void print_part(FILE *output, const char *word, const char *text, unsigned width)
{
	struct fm_table *table = fm_table_create("llw");

	fm_table_cell(table, "%s", " ");
	fm_table_cell(table, "%s", word);
	fm_table_cell(table, "%s", text);
	fm_table_end(table, output, 0, width);
}

void fm_fold_print_findings(const struct fm_fold *fold, const struct fm_writer_options *options, FILE *output)
{
	bool simulated = fold->samples->model->simulated;

	for (size_t i = 0; i < fold->finding_count && i < options->top; i++) {
		const struct fm_fold_finding *finding = &fold->findings[i];
		char text[240], place[160];

		fprintf(output, "%sFinding %zu: %s", i ? "" : "\n", i + 1, finding->title);
		if (finding->object >= 0)
			fprintf(output, ": %s", fold->samples->objects[finding->object].name);
		if (finding->line >= 0)
			fprintf(output, ", %s", line_text(fold->samples, finding->line, place, sizeof(place), 40));
		fputc('\n', output);
		snprintf(text, sizeof(text), "confidence %.2f", finding->confidence);
		print_part(output, "seen: ", finding->evidence, options->width);
		print_part(output, "try:  ", finding->advice, options->width);
		if (finding->worth.available)
			snprintf(text, sizeof(text), "up to %.0f %% (%.0f–%.0f %%) of %s; confidence %.2f",
			         100 * finding->worth.value, 100 * finding->worth.low, 100 * finding->worth.high,
			         simulated ? "the simulated costs of references" : "the processor time",
			         finding->confidence);
		else
			snprintf(text, sizeof(text), "n/a, %s; confidence %.2f", finding->worth.why,
			         finding->confidence);
		print_part(output, "worth:", text, options->width);
	}
	if (fold->finding_count > options->top)
		fprintf(output, "… and %zu more findings (--top)\n", fold->finding_count - options->top);
}

/* Regions */

static const char *length_text(char *text, size_t size, const struct fm_figure *figure)
{
	char number[48];

	if (!figure->available)
		snprintf(text, size, "n/a");
	else if (!strcmp(figure->unit, "s"))
		snprintf(text, size, "%s ms", fm_interval_text(number, sizeof(number), figure, 1e3));
	else
		snprintf(text, size, "%.0f references", figure->value);
	return text;
}

static void print_phases(const struct fm_fold *fold, const struct fm_fold_mode *mode, unsigned width, FILE *output)
{
	const struct fm_served_model *model = fold->samples->model;
	bool timed = fold->clock == FM_FOLD_SECONDS;
	struct fm_table *table = fm_table_create("lrrlrr");

	fm_table_cells(table, "Phase", "place %");
	fm_table_cell(table, "%s", timed ? "ms" : "");
	fm_table_cells(table, "most observed line", "of it %");
	fm_table_cell(table, "%s", *model->cycles_unit ? model->cycles_unit : "cycles");
	for (size_t i = 0; i < mode->phase_count; i++) {
		const struct fm_fold_phase *phase = &mode->phases[i];
		char text[160];

		fm_table_cell(table, "%zu", i + 1);
		fm_table_cell(table, "%.0f–%.0f", 100 * phase->begin, 100 * phase->end);
		fm_table_cell(table, "%s",
		              phase->seconds.available ? fm_interval_text(text, sizeof(text), &phase->seconds, 1e3)
		                                       : "");
		fm_table_cell(table, "%s",
		              phase->line < 0 ? "nothing could be sampled"
		                              : line_text(fold->samples, phase->line, text, sizeof(text), 40));
		fm_table_cell(table, "%.0f", 100 * phase->line_share);
		fm_table_cell(table, "%s", fm_interval_text(text, sizeof(text), &phase->served.mean_cost_cycles, 1));
	}
	fm_table_end(table, output, 2, width);
}

static const char *direction_text(const struct fm_stream *stream)
{
	if (stream->direction == FM_DIRECTION_STRIDED)
		return stream->falling ? "strided down" : "strided up";
	return fm_direction_name(stream->direction);
}

static void print_streams(const struct fm_fold *fold, int64_t region, size_t mode,
                          const struct fm_writer_options *options, FILE *output)
{
	struct fm_table *table = fm_table_create("lrlllrrrrr");
	size_t shown = 0, count = 0;
	static const char *const heads[] = {"Stream of", "phase",    "line", "",        "direction",
	                                    "stride",    "covers %", "GB/s", "share %", "set"};

	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		fm_table_cell(table, "%s", heads[i]);
	for (size_t i = 0; i < fold->stream_count; i++) {
		const struct fm_stream *stream = &fold->streams[i];
		char text[160];

		if (stream->region != region || stream->mode != mode)
			continue;
		if (count++ >= options->top)
			continue;
		shown++;
		fm_table_cell(
		    table, "%s",
		    fm_text_elide(text, sizeof(text), fold->samples->objects[stream->object].name, NAME_COLUMNS));
		fm_table_cell(table, "%lld", (long long)stream->phase + 1);
		fm_table_cell(table, "%s", place_text(fold->samples, stream->line, text, sizeof(text)));
		fm_table_cell(table, "%s", stream->load && stream->store ? "rw" : stream->store ? "w" : "r");
		fm_table_cell(table, "%s", direction_text(stream));
		if (stream->stride_bytes.available)
			fm_table_cell(table, "%.0f", stream->stride_bytes.value);
		else
			fm_table_cell(table, "n/a");
		if (stream->coverage.available)
			fm_table_cell(table, "%.0f", 100 * stream->coverage.value);
		else
			fm_table_cell(table, "n/a");
		fm_table_cell(table, "%s", fm_interval_text(text, sizeof(text), &stream->gbs, 1));
		fm_table_cell(table, "%.0f", 100 * stream->served.share.value);
		if (stream->together)
			fm_table_cell(table, "%u", stream->together);
		else
			fm_table_cell(table, "%s", "");
	}
	if (shown) {
		fputc('\n', output);
		fm_table_print(table, output, 2, options->width);
		if (count > shown)
			fprintf(output, "  … and %zu more streams (--top)\n", count - shown);
	}
	fm_table_free(table);
}

static const char *range_text(char *text, size_t size, const struct fm_figure *bytes)
{
	char low[40], high[40];

	fm_text_bytes(low, sizeof(low), bytes->low);
	fm_text_bytes(high, sizeof(high), bytes->high);
	if (strcmp(low, high) != 0)
		snprintf(text, size, "%s–%s", low, high);
	else
		snprintf(text, size, "%s", high);
	return text;
}

static void print_working_sets(const struct fm_fold *fold, int64_t region, size_t mode,
                               const struct fm_writer_options *options, FILE *output)
{
	struct fm_table *table = fm_table_create("lrllr");
	size_t count = 0;

	fm_table_cells(table, "Working set", "bytes", "exceeds", "fits into", "GB/s");
	for (size_t i = 0; i < fold->working_set_count; i++) {
		const struct fm_working_set *set = &fold->working_sets[i];
		char text[96];

		if (set->region != region || set->mode != mode || (set->object >= 0 && count >= options->top))
			continue;
		count++;
		fm_table_cell(table, "%s",
		              set->object < 0 ? "all together"
		                              : fm_text_elide(text, sizeof(text),
		                                              fold->samples->objects[set->object].name, NAME_COLUMNS));
		fm_table_cell(table, "%s", range_text(text, sizeof(text), &set->bytes));
		/* without both, there are no caches for comparison */
		fm_table_cell(table, "%s", *set->exceeds ? set->exceeds : *set->fits ? "-" : "n/a");
		fm_table_cell(table, "%s", *set->fits ? set->fits : "n/a");
		fm_table_cell(table, "%s", fm_interval_text(text, sizeof(text), &set->gbs, 1));
	}
	if (count) {
		fputc('\n', output);
		fm_table_print(table, output, 2, options->width);
	}
	fm_table_free(table);
}

static void print_head(const struct fm_fold_region *region, const struct fm_fold_mode *mode, FILE *output)
{
	char text[96], number[32], samples[32], references[32];

	fprintf(output, "\n%s %s: %s instances of %s",
	        region->found ? "Folded, detected loop (no region is marked):" : "Folded region", region->name,
	        fm_text_grouped(number, sizeof(number), mode->instances),
	        length_text(text, sizeof(text), &mode->length));
	if (region->mode_count > 1)
		fprintf(output, " (mode %zu of %zu)", (size_t)(mode - region->modes) + 1, region->mode_count);
	if (region->set_aside)
		fprintf(output, ", %llu excluded (unusual duration)", (unsigned long long)region->set_aside);
	if (region->unfinished)
		fprintf(output, ", %llu without an end or a sample", (unsigned long long)region->unfinished);
	fprintf(output, "; %s samples", fm_text_grouped(samples, sizeof(samples), mode->sample_count));
	if (mode->references < mode->sample_count)
		fprintf(output, " (%s of references)",
		        fm_text_grouped(references, sizeof(references), mode->references));
	fprintf(output, ".\n");
}

void fm_fold_print_regions(const struct fm_fold *fold, const struct fm_writer_options *options, FILE *output)
{
	if (fold->gaps)
		fprintf(output, "\nFolded over processor time: threads were off the processor %zu times.\n",
		        fold->gaps);
	if (*fold->why)
		fprintf(output, "\nNot folded: %s.\n", fold->why);
	for (size_t i = 0; i < fold->region_count && i < options->top; i++)
		for (size_t k = 0; k < fold->regions[i].mode_count; k++) {
			const struct fm_fold_mode *mode = &fold->regions[i].modes[k];

			print_head(&fold->regions[i], mode, output);
			if (*mode->why) {
				fprintf(output, "  Not folded: %s.\n", mode->why);
				continue;
			}
			print_phases(fold, mode, options->width, output);
			print_streams(fold, (int64_t)i, k, options, output);
			print_working_sets(fold, (int64_t)i, k, options, output);
		}
	if (fold->rest.sample_count) {
		char number[32];

		fprintf(output, "\n%s: %s samples.\n",
		        *fold->why ? "The whole run, not folded" : "Outside of folded regions",
		        fm_text_grouped(number, sizeof(number), fold->rest.sample_count));
		print_streams(fold, FM_FOLD_NONE, 0, options, output);
		print_working_sets(fold, FM_FOLD_NONE, 0, options, output);
	}
}
