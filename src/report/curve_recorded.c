#include <string.h>

#include "base/text.h"
#include "report/curve.h"
#include "report/table.h"

enum { LEVELS_MAX = 8 };

static void read_curve(const struct fm_recording *recording, size_t index, struct fm_miss_curve *ret_curve)
{
	const struct fm_recorded_curve *row = &recording->curves[index];
	unsigned count = 0;

	*ret_curve = (struct fm_miss_curve){.origin = FM_ORIGIN_sampled,
	                                    .clusters = (unsigned)row->windows,
	                                    .samples = row->samples,
	                                    .phases = (unsigned)row->phases,
	                                    .clock_error = row->clock_error,
	                                    .largest_bytes = row->largest_bytes > 0 ? row->largest_bytes : INFINITY,
	                                    .bootstrapped = true};
	for (size_t i = 0; i < recording->curve_points_count && count < FM_MISS_POINTS; i++) {
		const struct fm_recorded_curve_point *point = &recording->curve_points[i];

		if (point->curve == index)
			ret_curve->points[count++] = (struct fm_miss_point){point->value, point->low, point->high};
	}
}

void fm_curve_print_recorded(const struct fm_recording *recording, size_t index, unsigned width, FILE *output)
{
	const struct fm_recorded_curve *row = &recording->curves[index];
	struct fm_curve_level levels[LEVELS_MAX];
	struct fm_miss_curve curve;
	unsigned count = 0;
	char windows[32], references[32], watched[32], reused[32];
	struct fm_table *table;

	for (size_t i = 0; i < recording->caches_count && count < LEVELS_MAX; i++)
		levels[count++] = (struct fm_curve_level){recording->caches[i].name, recording->caches[i].bytes};
	read_curve(recording, index, &curve);
	fm_curve_print(&curve,
	               "Loads and stores that miss a cache of this size (fully associative, LRU), with 95 % intervals",
	               levels, count, width, output);
	table = fm_table_create("w");
	if (!table)
		return;
	fm_table_cell(table,
	              "From %s windows with %s references; %s lines were watched after them, of these %s until "
	              "their reuse; about %.2g references per ns.",
	              fm_text_grouped(windows, sizeof(windows), row->windows),
	              fm_text_grouped(references, sizeof(references), row->references),
	              fm_text_grouped(watched, sizeof(watched), row->watched),
	              fm_text_grouped(reused, sizeof(reused), row->reused), row->pace);
	if (*row->remark)
		fm_table_cell(table, "Not complete: %s.", row->remark);
	fputc('\n', output);
	fm_table_print(table, output, 0, width);
	fm_table_free(table);
}

json_t *fm_curve_recorded_json(const struct fm_recording *recording, size_t index)
{
	const struct fm_recorded_curve *row = &recording->curves[index];
	struct fm_miss_curve curve;
	json_t *root, *caches = json_array();

	read_curve(recording, index, &curve);
	root = fm_curve_json(&curve);
	for (size_t i = 0; i < recording->caches_count; i++)
		json_array_append_new(caches, json_pack("{s:s, s:I}", "name", recording->caches[i].name, "bytes",
		                                        (json_int_t)recording->caches[i].bytes));
	json_object_set_new(root, "caches", caches);
	json_object_set_new(root, "watched", json_integer((json_int_t)row->watched));
	json_object_set_new(root, "reused", json_integer((json_int_t)row->reused));
	json_object_set_new(root, "references", json_integer((json_int_t)row->references));
	json_object_set_new(root, "pace", json_real(row->pace));
	json_object_set_new(root, "paces", json_integer((json_int_t)row->paces));
	json_object_set_new(root, "remark", *row->remark ? json_string(row->remark) : json_null());
	return root;
}
