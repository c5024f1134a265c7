/* Sampled references, as text. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "report/coverage.h"
#include "report/curve.h"
#include "report/parts.h"
#include "report/sample_rows.h"
#include "report/table.h"

enum { NAME_COLUMNS = 23, BAR = 10, THREAD_COLUMNS = 6 };

const char *fm_interval_text(char *text, size_t size, const struct fm_figure *figure, double scale)
{
	double value = scale * figure->value, below = value - scale * figure->low, above = scale * figure->high - value;
	int digits = fmax(above, below) < 1.95 ? 1 : 0;
	char low[24], high[24];

	if (!figure->available) {
		snprintf(text, size, "n/a");
		return text;
	}
	snprintf(low, sizeof(low), "%.*f", figure->low > 0 ? digits : 0, scale * figure->low);
	snprintf(high, sizeof(high), "%.*f", scale * figure->high < 100 ? digits : 0, scale * figure->high);
	if (above <= 0 && below <= 0)
		snprintf(text, size, "%.1f", value);
	else if (strtod(low, NULL) == strtod(high, NULL))
		snprintf(text, size, "%s", figure->low > 0 ? high : low);
	else if (figure->low <= 0 && scale * figure->high < 0.05)
		snprintf(text, size, "0");
	else if (figure->low <= 0 || fmax(above, below) > 2.5 * fmin(above, below))
		snprintf(text, size, "%s–%s", low, high);
	else
		snprintf(text, size, "%.*f ±%.*f", digits, value, digits, fmax(above, below));
	return text;
}

static const char *percent(char *text, size_t size, const struct fm_figure *figure)
{
	return fm_interval_text(text, size, figure, 100);
}

static void percent_cell(struct fm_table *table, const struct fm_figure *figure)
{
	char text[48];

	fm_table_cell(table, "%s", percent(text, sizeof(text), figure));
}

/* The first lines */

static void print_head(const struct fm_samples *samples, FILE *output)
{
	const struct fm_recording *recording = samples->recording;
	const struct fm_recorded_sampling *sampling = &recording->sampling;
	char program[160], number[32], text[64];
	size_t references = fm_recording_references(recording), others = recording->samples_count - references;

	fm_coverage_print_share(samples->recording, output);
	fprintf(output, "%s: %.3g s, %.3g s of processor time; %s samples of memory references",
	        fm_text_elide(program, sizeof(program), fm_observed_words(recording), 40), sampling->seconds,
	        sampling->cpu_seconds, fm_text_grouped(number, sizeof(number), references));
	if (samples->model->every)
		fprintf(output, " (all references)");
	else if (sampling->rate.available && *sampling->rate.unit)
		fprintf(output, ",\n%.4g per second of processor time", sampling->rate.value);
	else if (sampling->rate.available && sampling->rate.value > 0)
		fprintf(output, ",\nsampling period %.0f references", 1 / sampling->rate.value);
	fprintf(output, ". Sampler: %s. Overhead: ", sampling->sampler);
	if (sampling->overhead.available)
		fprintf(output, "%s %%", percent(text, sizeof(text), &sampling->overhead));
	else
		fprintf(output, "n/a");
	if (sampling->overhead_asked > 0)
		fprintf(output, " (limit: %.3g %%)", 100 * sampling->overhead_asked);
	fprintf(output, ".\n");
	if (others)
		fprintf(output, "%s extra samples serve levels and costs only; shares do not include them.\n",
		        fm_text_grouped(number, sizeof(number), others));
	if (*samples->filter)
		fprintf(output,
		        "Only %s: %s samples, %.1f %% of the sampled processor time. Shares refer to these samples.\n",
		        samples->filter, fm_text_grouped(number, sizeof(number), samples->whole.samples),
		        100 * samples->filtered);
	if (!samples->model->every)
		fprintf(output, "Shares are percent of %s; ± and ranges are 95 %% confidence intervals.\n",
		        samples->model->simulated ? "the references" : "processor time");
}

static void print_wrapped(FILE *output, const char *mark, const char *text, unsigned width)
{
	struct fm_table *table = fm_table_create("lw");

	fm_table_cell(table, "%s", mark);
	fm_table_cell(table, "%s", text);
	fm_table_end(table, output, 0, width);
}

static void print_warnings(const struct fm_samples *samples, FILE *output, unsigned width)
{
	if (samples->warning_count)
		fputc('\n', output);
	for (size_t i = 0; i < samples->warning_count; i++)
		print_wrapped(output, "!", samples->warnings[i], width);
}

/* Levels, as columns of several tables */

/* Costs beyond all levels have a column only if they matter. */
static unsigned shown_classes(const struct fm_samples *samples)
{
	const struct fm_served_model *model = samples->model;
	const struct fm_figure *other = &samples->whole.levels[model->classes - 1];

	if (*model->why)
		return 0;
	return other->available && other->value >= 0.005 ? model->classes : model->classes - 1;
}

static struct fm_table *level_table(const struct fm_samples *samples, const char *before, const char *after)
{
	char alignment[FM_TABLE_COLUMNS_MAX + 1];
	unsigned classes = shown_classes(samples);
	size_t length = strlen(before);

	snprintf(alignment, sizeof(alignment), "%s", before);
	for (unsigned i = 0; i <= classes && length + 1 < sizeof(alignment); i++)
		alignment[length++] = 'r';
	snprintf(alignment + length, sizeof(alignment) - length, "%s", after);
	return fm_table_create(alignment);
}

static void level_heads(struct fm_table *table, const struct fm_samples *samples)
{
	for (unsigned i = 0; i < shown_classes(samples); i++)
		fm_table_cell(table, "%s %%", samples->model->class_names[i]);
	fm_table_cell(table, "%s", *samples->model->cycles_unit ? samples->model->cycles_unit : "cycles");
}

static void level_cells(struct fm_table *table, const struct fm_samples *samples, const struct fm_served *served)
{
	char text[48];

	for (unsigned i = 0; i < shown_classes(samples); i++)
		percent_cell(table, &served->levels[i]);
	fm_table_cell(table, "%s", fm_interval_text(text, sizeof(text), &served->mean_cost_cycles, 1));
}

static void print_whole(const struct fm_samples *samples, FILE *output, unsigned width)
{
	struct fm_table *table = level_table(samples, "lr", "rr");
	bool nodes = samples->recording->sampling.nodes > 1;

	fm_table_cells(table, "All references", "stores %");
	level_heads(table, samples);
	fm_table_cell(table, "TLB misses %%");
	fm_table_cell(table, "%s", nodes ? "local %" : "");
	fm_table_cell(table, "%s", "");
	percent_cell(table, &samples->whole.stores);
	level_cells(table, samples, &samples->whole);
	percent_cell(table, &samples->whole.translation_misses);
	if (nodes)
		percent_cell(table, &samples->whole.local);
	fputc('\n', output);
	fm_table_end(table, output, 0, width);
	if (!samples->model->simulated)
		fprintf(output, "Lines in flight (fill buffers): n/a; a timed load cannot observe them.\n");
	if (samples->whole.mean_cost_cycles.available)
		fprintf(output, "Mean cost: %s.\n", samples->model->cost_origin);
}

/* Objects */

/* One letter for each tenth: 1, 2, 3, M. */
static const char *bar(const struct fm_samples *samples, const struct fm_served *served, char *text)
{
	unsigned filled = 0;
	double sum = 0;

	for (unsigned i = 0; i < samples->model->classes && served->mixture[0] >= 0; i++) {
		const char *name = samples->model->class_names[i];
		char letter = name[0] == 'L' && name[1] ? name[1] : name[0] == 'm' ? 'M' : '?';

		sum += fmax(served->mixture[i], 0);
		while (filled < BAR && filled + 0.5 < BAR * sum)
			text[filled++] = letter;
	}
	text[filled] = '\0';
	return text;
}

static void text_cell(struct fm_table *table, const struct fm_samples *samples, const struct fm_row_text *column,
                      const char *row)
{
	char text[400];

	if (!column->text)
		return;
	if (row)
		column->text(samples, row, text, sizeof(text));
	fm_table_cell(table, "%s", row ? text : column->heading);
}

/* A row of any kind; NULL: the headings. */
static void row_cells(struct fm_table *table, const struct fm_samples *samples, const struct fm_sample_rows *kind,
                      const char *row)
{
	char name[400];

	if (row)
		kind->say(samples, row, true, name, sizeof(name));
	fm_table_cell(table, "%s", row ? name : kind->title);
	for (unsigned i = 0; i < 2; i++)
		text_cell(table, samples, &kind->before[i], row);
	for (unsigned i = 0; i < 2 && kind->shares[i].heading; i++)
		if (row)
			percent_cell(table, (const struct fm_figure *)(row + kind->shares[i].figure));
		else
			fm_table_cell(table, "%s", kind->shares[i].heading);
	if (row)
		level_cells(table, samples, (const struct fm_served *)(row + kind->served));
	else
		level_heads(table, samples);
	text_cell(table, samples, &kind->after, row);
}

static void print_rows(const struct fm_samples *samples, enum fm_sample_kind which, FILE *output, unsigned width,
                       unsigned top)
{
	const struct fm_sample_rows *kind = &fm_sample_rows[which];
	size_t count = fm_sample_rows_count(samples, kind);
	struct fm_table *table;
	unsigned figures = 0;
	char before[8];

	if (!count || count < kind->least)
		return;
	for (unsigned i = 0; i < 2; i++)
		figures += (kind->before[i].text != NULL) + (kind->shares[i].heading != NULL);
	snprintf(before, sizeof(before), "l%.*s", (int)figures, "rrrr");
	table = level_table(samples, before, kind->after.text ? "l" : "");
	row_cells(table, samples, kind, NULL);
	for (size_t i = 0; i < count && i < top; i++)
		row_cells(table, samples, kind, fm_sample_row(samples, kind, i));
	fputc('\n', output);
	fm_table_end(table, output, 0, width);
	if (count > top)
		fprintf(output, "… and %zu more %s (--top)\n", count - top, kind->name);
}

static void print_objects(const struct fm_samples *samples, FILE *output, unsigned width, unsigned top)
{
	print_rows(samples, FM_ROWS_OBJECTS, output, width, top);
	for (size_t i = 0; i < samples->object_count && i < top; i++)
		if (samples->objects[i].assigned.available) {
			fprintf(output, "* Small allocations were sampled: includes references to untracked memory.\n");
			break;
		}
}

static const char *lifetime(char *text, size_t size, const struct fm_sampled_object *object)
{
	if (object->kind != FM_MEMORY_HEAP && object->kind != FM_MEMORY_POOL && object->kind != FM_MEMORY_MAPPED)
		*text = '\0';
	else if (object->count > 1.5)
		snprintf(text, size, "%.3g s each", object->mean_lifetime);
	else
		snprintf(text, size, "%.3g–%.3g s", object->began, object->ended);
	return text;
}

/* The first callers that fit into a line; the JSON has all. */
static void site_cell(struct fm_table *table, const char *site)
{
	enum { PARTS = 3 };
	const char *end = site;

	for (unsigned i = 0; i < PARTS && end; i++)
		end = strstr(end + 1, " < ");
	if (end)
		fm_table_cell(table, "%.*s < …", (int)(end - site), site);
	else
		fm_table_cell(table, "%s", site);
}

/* Details beyond the name; for a call site, its callers. */
static void origin_cell(struct fm_table *table, const struct fm_sampled_object *object)
{
	size_t length = strlen(object->name);
	char *number = strstr(object->name, " #");

	if (number)
		length = (size_t)(number - object->name);
	if (!strncmp(object->site, object->name, length) && object->site[length] == ' ')
		site_cell(table, object->site + length + 1);
	else if (*object->site)
		site_cell(table, object->site);
	else
		fm_table_cell(table, "%s%s%s", fm_memory_kind_name(object->kind), *object->module ? ", " : "",
		              object->module);
}

static void print_sites(const struct fm_samples *samples, FILE *output, unsigned width, unsigned top)
{
	struct fm_table *table = fm_table_create("llrrllw");

	fm_table_cell(table, "Object");
	fm_table_cell(table, "%s", *samples->model->why ? "" : "levels");
	fm_table_cells(table, "bytes", "times", "lifetime", "order", "from");
	for (size_t i = 0; i < samples->object_count && i < top; i++) {
		const struct fm_sampled_object *object = &samples->objects[i];
		char name[160], size[40], letters[BAR + 1], life[48], count[32];

		fm_table_cell(table, "%s", fm_text_elide(name, sizeof(name), object->name, NAME_COLUMNS));
		fm_table_cell(table, "%s", bar(samples, &object->served, letters));
		fm_table_cell(table, "%s",
		              object->bytes ? fm_text_bytes(size, sizeof(size), (double)object->bytes) : "");
		fm_table_cell(table, "%s",
		              object->count > 1.5
		                  ? fm_text_grouped(count, sizeof(count), (uint64_t)fmin(object->count, 1e18))
		                  : "");
		fm_table_cell(table, "%s", lifetime(life, sizeof(life), object));
		fm_table_cell(table, "%s", fm_pattern_name(object->pattern.pattern));
		origin_cell(table, object);
	}
	if (samples->object_count) {
		fputc('\n', output);
		fm_table_print(table, output, 0, width);
	}
	fm_table_free(table);
}

/* Threads */

static const struct fm_sampled_sharing *find_sharing(const struct fm_samples *samples, size_t object, uint32_t thread)
{
	for (size_t i = 0; i < samples->sharing_count; i++)
		if (samples->sharing[i].object == object && samples->sharing[i].thread == thread)
			return &samples->sharing[i];
	return NULL;
}

/* Rows are objects, columns are the threads with the most references; w: the thread writes. */
static void print_sharing(const struct fm_samples *samples, FILE *output, unsigned width, unsigned top)
{
	size_t threads = samples->thread_count < THREAD_COLUMNS ? samples->thread_count : THREAD_COLUMNS;
	/* only the heaviest objects have rows by thread */
	size_t objects = samples->sharing_count ? samples->sharing[samples->sharing_count - 1].object + 1 : 0;
	char alignment[FM_TABLE_COLUMNS_MAX + 1] = "l";
	struct fm_table *table;

	if (samples->thread_count < 2)
		return;
	memset(alignment + 1, 'r', threads);
	alignment[1 + threads] = 'l';
	table = fm_table_create(alignment);
	fm_table_cell(table, "Object × thread, %%");
	for (size_t k = 0; k < threads; k++)
		fm_table_cell(table, "%u", samples->recording->sampled_threads[samples->threads[k].thread].thread);
	fm_table_cell(table, "%s", "");
	for (size_t i = 0; i < objects && i < top; i++) {
		const struct fm_sampled_object *object = &samples->objects[i];
		char name[160], text[48];

		fm_table_cell(table, "%s", fm_text_elide(name, sizeof(name), object->name, NAME_COLUMNS));
		for (size_t k = 0; k < threads; k++) {
			const struct fm_sampled_sharing *row = find_sharing(samples, i, samples->threads[k].thread);

			if (row)
				fm_table_cell(table, "%s%s", percent(text, sizeof(text), &row->share),
				              row->stores.value > 0 ? " w" : "  ");
			else
				fm_table_cell(table, "-  ");
		}
		fm_table_cell(table, "%s%s", fm_samples_use_name(object->use), object->divided ? ", divided" : "");
	}
	fputc('\n', output);
	fm_table_end(table, output, 0, width);
	fprintf(output, "w: the thread writes. Divided: each thread uses a separate part.\n");
}

static void print_missed(const struct fm_samples *samples, FILE *output, unsigned width, unsigned top)
{
	struct fm_table *table;

	if (!samples->missed_count)
		return;
	table = fm_table_create("lrrw");
	fm_table_cells(table, "Not sampled", "times", "processor time %", "mostly in");
	for (size_t i = 0; i < samples->missed_count && i < top; i++) {
		const struct fm_sampled_missed *missed = &samples->missed[i];
		char number[32];

		fm_table_cell(table, "%s", missed->reason);
		fm_table_cell(table, "%s", fm_text_grouped(number, sizeof(number), missed->count));
		fm_table_cell(table, "%.1f", 100 * missed->share);
		fm_table_cell(table, "%s%s%s%s", missed->function, *missed->module ? " [" : "", missed->module,
		              *missed->module ? "]" : "");
	}
	fputc('\n', output);
	fm_table_end(table, output, 0, width);
}

void fm_samples_print_text(const struct fm_fold *fold, const struct fm_writer_options *options, FILE *output)
{
	const struct fm_samples *samples = fold->samples;

	print_head(samples, output);
	if (options->curve) {
		fputc('\n', output);
		fm_curve_print_recorded(samples->recording, 0, options->width, output);
		return;
	}
	print_warnings(samples, output, options->width);
	if (!samples->whole.samples)
		return;
	fm_fold_print_findings(fold, options, output);
	print_whole(samples, output, options->width);
	print_objects(samples, output, options->width, options->top);
	print_sites(samples, output, options->width, options->top);
	print_rows(samples, FM_ROWS_ROUTINES, output, options->width, options->top);
	print_rows(samples, FM_ROWS_REGIONS, output, options->width, options->top);
	fm_fold_print_regions(fold, options, output);
	print_rows(samples, FM_ROWS_LINES, output, options->width, options->top);
	print_rows(samples, FM_ROWS_THREADS, output, options->width, options->top);
	print_sharing(samples, output, options->width, options->top);
	print_missed(samples, output, options->width, options->top);
}
