/* Sampled references, for people. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "report/coverage.h"
#include "report/curve.h"
#include "report/parts.h"
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
		fprintf(output, " (every one)");
	else if (sampling->rate.available && *sampling->rate.unit)
		fprintf(output, ",\n%.4g per second of processor time", sampling->rate.value);
	else if (sampling->rate.available && sampling->rate.value > 0)
		fprintf(output, ",\none of %.0f references", 1 / sampling->rate.value);
	fprintf(output, ". Sampler: %s. Overhead: ", sampling->sampler);
	if (sampling->overhead.available)
		fprintf(output, "%s %%", percent(text, sizeof(text), &sampling->overhead));
	else
		fprintf(output, "n/a");
	if (sampling->overhead_asked > 0)
		fprintf(output, " (asked for: %.3g %%)", 100 * sampling->overhead_asked);
	fprintf(output, ".\n");
	if (others)
		fprintf(output, "%s more samples tell levels and costs only, not how often something is referred to.\n",
		        fm_text_grouped(number, sizeof(number), others));
	if (*samples->filter)
		fprintf(output,
		        "Only %s: %s samples, %.1f %% of the processor time sampled. All shares are shares of these.\n",
		        samples->filter, fm_text_grouped(number, sizeof(number), samples->whole.samples),
		        100 * samples->filtered);
	if (!samples->model->every)
		fprintf(output, "Shares are percent of %s; ± and ranges are 95 %% intervals.\n",
		        samples->model->simulated ? "the references" : "processor time");
}

static void print_wrapped(FILE *output, const char *mark, const char *text, unsigned width)
{
	struct fm_table *table = fm_table_create("lw");

	fm_table_cell(table, "%s", mark);
	fm_table_cell(table, "%s", text);
	fm_table_print(table, output, 0, width);
	fm_table_free(table);
}

static void print_warnings(const struct fm_samples *samples, FILE *output, unsigned width)
{
	if (samples->warning_count)
		fputc('\n', output);
	for (size_t i = 0; i < samples->warning_count; i++)
		print_wrapped(output, "!", samples->warnings[i], width);
}

/* Levels, as columns of several tables */

/* What has costs beyond all levels has a column only where it matters. */
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

static void print_more(FILE *output, size_t count, unsigned top, const char *what)
{
	if (count > top)
		fprintf(output, "… and %zu more %s (--top)\n", count - top, what);
}

static void print_whole(const struct fm_samples *samples, FILE *output, unsigned width)
{
	struct fm_table *table = level_table(samples, "lr", "rr");
	bool nodes = samples->recording->sampling.nodes > 1;

	fm_table_cell(table, "All references");
	fm_table_cell(table, "stores %%");
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
	fm_table_print(table, output, 0, width);
	fm_table_free(table);
	if (!samples->model->simulated)
		fprintf(output, "Lines in flight (fill buffers): n/a, a timed load cannot see them.\n");
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

static void print_objects(const struct fm_samples *samples, FILE *output, unsigned width, unsigned top)
{
	struct fm_table *table = level_table(samples, "lrr", "");

	if (!samples->object_count) {
		fm_table_free(table);
		return;
	}
	fm_table_cell(table, "Object");
	fm_table_cell(table, "share %%");
	fm_table_cell(table, "stores %%");
	level_heads(table, samples);
	for (size_t i = 0; i < samples->object_count && i < top; i++) {
		const struct fm_sampled_object *object = &samples->objects[i];
		char name[160];

		fm_table_cell(table, "%s%s", fm_text_elide(name, sizeof(name), object->name, NAME_COLUMNS),
		              object->assigned.available ? " *" : "");
		percent_cell(table, &object->served.share);
		percent_cell(table, &object->served.stores);
		level_cells(table, samples, &object->served);
	}
	fputc('\n', output);
	fm_table_print(table, output, 0, width);
	fm_table_free(table);
	print_more(output, samples->object_count, top, "objects");
	for (size_t i = 0; i < samples->object_count && i < top; i++)
		if (samples->objects[i].assigned.available) {
			fprintf(output,
			        "* Small allocations were sampled: includes references seen in untracked memory.\n");
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

/* The first callers, as many as fit into a line; the JSON has all of them. */
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

/* What is known beyond the name: of a name that is the call site, who called it. */
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
	fm_table_cell(table, "bytes");
	fm_table_cell(table, "times");
	fm_table_cell(table, "lifetime");
	fm_table_cell(table, "order");
	fm_table_cell(table, "from");
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

/* Code */

static void print_routines(const struct fm_samples *samples, FILE *output, unsigned width, unsigned top)
{
	struct fm_table *table = level_table(samples, "lrr", "");

	fm_table_cell(table, "Routine");
	fm_table_cell(table, "self %%");
	fm_table_cell(table, "with callees %%");
	level_heads(table, samples);
	for (size_t i = 0; i < samples->routine_count && i < top; i++) {
		const struct fm_sampled_routine *routine = &samples->routines[i];
		char function[128], module[64];

		fm_table_cell(table, "%s [%s]", fm_text_elide(function, sizeof(function), routine->function, 20),
		              fm_text_elide(module, sizeof(module), routine->module, 12));
		percent_cell(table, &routine->self.share);
		percent_cell(table, &routine->inclusive.share);
		level_cells(table, samples, &routine->self);
	}
	if (samples->routine_count) {
		fputc('\n', output);
		fm_table_print(table, output, 0, width);
		print_more(output, samples->routine_count, top, "routines");
	}
	fm_table_free(table);
}

static void print_lines(const struct fm_samples *samples, FILE *output, unsigned width, unsigned top)
{
	struct fm_table *table = level_table(samples, "lr", "l");

	fm_table_cell(table, "Line");
	fm_table_cell(table, "share %%");
	level_heads(table, samples);
	fm_table_cell(table, "object");
	for (size_t i = 0; i < samples->line_count && i < top; i++) {
		const struct fm_sampled_line *line = &samples->lines[i];
		char file[80], function[128], object[64];

		fm_text_elide(function, sizeof(function), *line->inlined ? line->inlined : line->function, 16);
		if (line->line)
			fm_table_cell(table, "%s:%lld %s",
			              fm_text_elide(file, sizeof(file), fm_file_name(line->file), 16),
			              (long long)line->line, function);
		else
			fm_table_cell(table, "%s [%s]", function, fm_text_elide(file, sizeof(file), line->module, 16));
		percent_cell(table, &line->served.share);
		level_cells(table, samples, &line->served);
		fm_table_cell(table, "%s",
		              line->object < 0
		                  ? ""
		                  : fm_text_elide(object, sizeof(object), samples->objects[line->object].name, 18));
	}
	if (samples->line_count) {
		fputc('\n', output);
		fm_table_print(table, output, 0, width);
		print_more(output, samples->line_count, top, "lines");
	}
	fm_table_free(table);
}

static void print_regions(const struct fm_samples *samples, FILE *output, unsigned width, unsigned top)
{
	struct fm_table *table = level_table(samples, "lrrr", "");

	fm_table_cell(table, "Region");
	fm_table_cell(table, "times");
	fm_table_cell(table, "seconds");
	fm_table_cell(table, "share %%");
	level_heads(table, samples);
	for (size_t i = 0; i < samples->region_count && i < top; i++) {
		const struct fm_sampled_region *region = &samples->regions[i];
		char name[128], number[32];

		fm_table_cell(table, "%s", fm_text_elide(name, sizeof(name), region->name, NAME_COLUMNS));
		fm_table_cell(table, "%s", fm_text_grouped(number, sizeof(number), region->instances));
		fm_table_cell(table, "%.3g", region->seconds);
		percent_cell(table, &region->served.share);
		level_cells(table, samples, &region->served);
	}
	if (samples->region_count) {
		fputc('\n', output);
		fm_table_print(table, output, 0, width);
		print_more(output, samples->region_count, top, "regions");
	}
	fm_table_free(table);
}

/* Threads */

static void print_threads(const struct fm_samples *samples, FILE *output, unsigned width, unsigned top)
{
	struct fm_table *table = level_table(samples, "lrr", "");

	fm_table_cell(table, "Thread");
	fm_table_cell(table, "share %%");
	fm_table_cell(table, "stores %%");
	level_heads(table, samples);
	for (size_t i = 0; i < samples->thread_count && i < top; i++) {
		const struct fm_sampled_by_thread *thread = &samples->threads[i];
		const struct fm_recorded_sampled_thread *recorded =
		    &samples->recording->sampled_threads[thread->thread];

		fm_table_cell(table, "%u %s", recorded->thread, recorded->name);
		percent_cell(table, &thread->served.share);
		percent_cell(table, &thread->served.stores);
		level_cells(table, samples, &thread->served);
	}
	if (samples->thread_count > 1) {
		fputc('\n', output);
		fm_table_print(table, output, 0, width);
		print_more(output, samples->thread_count, top, "threads");
	}
	fm_table_free(table);
}

static const struct fm_sampled_sharing *find_sharing(const struct fm_samples *samples, size_t object, uint32_t thread)
{
	for (size_t i = 0; i < samples->sharing_count; i++)
		if (samples->sharing[i].object == object && samples->sharing[i].thread == thread)
			return &samples->sharing[i];
	return NULL;
}

/* Rows are objects, columns the threads with the most references; w: the thread writes. */
static void print_sharing(const struct fm_samples *samples, FILE *output, unsigned width, unsigned top)
{
	size_t threads = samples->thread_count < THREAD_COLUMNS ? samples->thread_count : THREAD_COLUMNS;
	/* only the heaviest objects are told by thread */
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
	fm_table_print(table, output, 0, width);
	fm_table_free(table);
	fprintf(output, "w: the thread writes. Divided: each thread uses a part of its own.\n");
}

static void print_missed(const struct fm_samples *samples, FILE *output, unsigned width, unsigned top)
{
	struct fm_table *table;

	if (!samples->missed_count)
		return;
	table = fm_table_create("lrrw");
	fm_table_cell(table, "Not sampled");
	fm_table_cell(table, "times");
	fm_table_cell(table, "processor time %%");
	fm_table_cell(table, "mostly in");
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
	fm_table_print(table, output, 0, width);
	fm_table_free(table);
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
	print_routines(samples, output, options->width, options->top);
	print_regions(samples, output, options->width, options->top);
	fm_fold_print_regions(fold, options, output);
	print_lines(samples, output, options->width, options->top);
	print_threads(samples, output, options->width, options->top);
	print_sharing(samples, output, options->width, options->top);
	print_missed(samples, output, options->width, options->top);
}
