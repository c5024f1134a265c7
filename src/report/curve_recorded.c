#include <string.h>

#include "base/text.h"
#include "json/figure.h"
#include "recording/curve_rows.h"
#include "report/curve.h"
#include "report/table.h"

enum { LEVELS_MAX = 8 };

static unsigned read_levels(const struct fm_recording *recording, struct fm_curve_level *levels)
{
	unsigned count = 0;

	for (size_t i = 0; i < recording->caches_count && count < LEVELS_MAX; i++)
		levels[count++] = (struct fm_curve_level){recording->caches[i].name, recording->caches[i].bytes};
	return count;
}

static const char *const kinds[FM_CURVE_KINDS] = {"program", "region", "object", "line"};

/* Misses of a part as shares of its own references, if windows show their number. */
static bool read_own(const struct fm_recording *recording, size_t index, struct fm_miss_curve *ret_curve)
{
	const struct fm_recorded_curve *row = &recording->curves[index];
	double factor = row->own_references > 0 ? (double)row->references / row->own_references : 0;

	if (!(factor > 0))
		return false;
	fm_curve_read(recording, index, ret_curve);
	for (unsigned i = 0; i < FM_MISS_POINTS; i++) {
		struct fm_miss_point *point = &ret_curve->points[i];

		*point = (struct fm_miss_point){fmin(1, factor * point->value), fmin(1, factor * point->low),
		                                fmin(1, factor * point->high)};
	}
	return true;
}

/* ": fits into L2 if 30 % smaller", for the level with the smallest reduction; or "". */
static const char *fit_of(const struct fm_recording *recording, size_t index, const struct fm_curve_level *levels,
                          unsigned count, char *text, size_t size)
{
	struct fm_miss_fit best = {0};
	struct fm_miss_curve curve;
	const char *name = NULL;

	*text = 0;
	if (!read_own(recording, index, &curve))
		return text;
	for (unsigned i = 0; i < count; i++) {
		struct fm_miss_fit fit = fm_miss_fit(&curve, levels[i].bytes);

		if (fit.found && (!name || fit.shrink < best.shrink) &&
		    fm_miss_at(&curve, levels[i].bytes).low > fit.then) {
			best = fit;
			name = levels[i].name;
		}
	}
	if (name)
		snprintf(text, size, ": fits into %s if %.0f %% smaller", name, 100 * best.shrink);
	return text;
}

/* Misses: a row for each part, a column for each level. */
static void print_parts(const struct fm_recording *recording, const struct fm_curve_level *levels, unsigned count,
                        unsigned width, FILE *output)
{
	enum { ROWS_MOST = 10 }; /* of each kind */
	char columns[LEVELS_MAX + 3] = "l", text[80];
	unsigned printed[FM_CURVE_KINDS] = {0};
	struct fm_table *table;
	bool any = false;

	for (unsigned i = 0; i < count; i++)
		columns[i + 1] = 'r';
	columns[count + 1] = 'w';
	table = fm_table_create(columns);
	if (!table)
		return;
	fm_table_cell(table, "%s", "");
	for (unsigned i = 0; i < count; i++)
		fm_table_cell(table, "%s", levels[i].name);
	fm_table_cell(table, "%s", "");
	for (size_t i = 0; i < recording->curves_count; i++) {
		const struct fm_recorded_curve *row = &recording->curves[i];
		struct fm_miss_curve curve;

		if (row->kind == FM_CURVE_PROGRAM || row->kind >= FM_CURVE_KINDS || printed[row->kind]++ >= ROWS_MOST)
			continue;
		any = true;
		fm_curve_read(recording, i, &curve);
		fm_table_cell(table, "%s", printed[row->kind] == 1 ? kinds[row->kind] : "");
		for (unsigned k = 0; k < count; k++) {
			struct fm_miss_point point = fm_miss_at(&curve, levels[k].bytes);

			fm_table_cell(table, "%.2f±%.2f", 100 * point.value,
			              100 * fmax(point.high - point.value, point.value - point.low));
		}
		fm_table_cell(table, "%.80s%s", row->name, fit_of(recording, i, levels, count, text, sizeof(text)));
	}
	if (any) {
		fprintf(output, "\nMisses of a cache of each level's size, in %% of all loads and stores:\n");
		fm_table_print(table, output, 2, width);
	}
	fm_table_free(table);
}

static void say_followed(const struct fm_recorded_curve *row, struct fm_table *table)
{
	char references[32], touches[32];

	fm_table_cell(
	    table,
	    "Estimated from one cache line in %llu, followed for the whole run: %s accesses sampled, %s loads and "
	    "stores counted. Below 32 KiB, see the level table above.",
	    (unsigned long long)row->one_in, fm_text_grouped(touches, sizeof(touches), (uint64_t)row->samples),
	    fm_text_grouped(references, sizeof(references), row->references));
}

static void say_windows(const struct fm_recorded_curve *row, struct fm_table *table)
{
	char windows[32], references[32], watched[32], reused[32];

	fm_table_cell(table,
	              "Estimated from %s windows with %s references. %s lines were watched after the windows, %s of "
	              "them until their reuse, at about %.2g references per ns.",
	              fm_text_grouped(windows, sizeof(windows), row->windows),
	              fm_text_grouped(references, sizeof(references), row->references),
	              fm_text_grouped(watched, sizeof(watched), row->watched),
	              fm_text_grouped(reused, sizeof(reused), row->reused), row->pace);
}

void fm_curve_print_recorded(const struct fm_recording *recording, size_t index, unsigned width, FILE *output)
{
	const struct fm_recorded_curve *row = &recording->curves[index];
	struct fm_curve_level levels[LEVELS_MAX];
	unsigned count = read_levels(recording, levels);
	struct fm_miss_curve curve;
	struct fm_table *table;

	fm_curve_read(recording, index, &curve);
	fm_curve_print(&curve,
	               "Loads and stores that miss a cache of this size (fully associative, LRU), with 95 % intervals",
	               levels, count, width, output);
	table = fm_table_create("w");
	if (!table)
		return;
	if (row->one_in)
		say_followed(row, table);
	else
		say_windows(row, table);
	if (*row->remark)
		fm_table_cell(table, row->one_in ? "The curve is %s." : "Not complete: %s.", row->remark);
	fputc('\n', output);
	fm_table_end(table, output, 0, width);
	if (row->one_in)
		print_parts(recording, levels, count, width, output);
}

static json_t *parts_json(const struct fm_recording *recording)
{
	json_t *parts = json_array();

	for (size_t i = 0; i < recording->curves_count; i++) {
		const struct fm_recorded_curve *row = &recording->curves[i];
		struct fm_miss_curve curve;
		json_t *part;

		if (row->kind == FM_CURVE_PROGRAM || row->kind >= FM_CURVE_KINDS)
			continue;
		fm_curve_read(recording, i, &curve);
		part = fm_curve_json(&curve);
		json_object_set_new(part, "kind", json_string(kinds[row->kind]));
		json_object_set_new(part, "name", json_string(row->name));
		json_object_set_new(part, "own_references",
		                    row->own_references > 0 ? json_real(row->own_references) : json_null());
		json_array_append_new(parts, part);
	}
	return parts;
}

json_t *fm_curve_recorded_json(const struct fm_recording *recording, size_t index)
{
	const struct fm_recorded_curve *row = &recording->curves[index];
	struct fm_miss_curve curve;
	json_t *root, *caches = json_array();

	fm_curve_read(recording, index, &curve);
	root = fm_curve_json(&curve);
	for (size_t i = 0; i < recording->caches_count; i++)
		json_array_append_new(caches, json_pack("{s:s, s:I}", "name", recording->caches[i].name, "bytes",
		                                        (json_int_t)recording->caches[i].bytes));
	json_object_set_new(root, "caches", caches);
	json_object_set_new(root, "references", json_integer((json_int_t)row->references));
	json_object_set_new(root, "remark", fm_json_text(row->remark));
	if (row->one_in) {
		json_object_set_new(root, "windows", json_integer((json_int_t)recording->windows_count));
		json_object_set_new(root, "one_line_in", json_integer((json_int_t)row->one_in));
		json_object_set_new(root, "groups", json_integer((json_int_t)row->groups));
		json_object_set_new(root, "parts", parts_json(recording));
		return root;
	}
	json_object_set_new(root, "watched", json_integer((json_int_t)row->watched));
	json_object_set_new(root, "reused", json_integer((json_int_t)row->reused));
	json_object_set_new(root, "pace", json_real(row->pace));
	json_object_set_new(root, "paces", json_integer((json_int_t)row->paces));
	return root;
}
