/* The machine in `report --html`: latency curve, levels, and correct events. */
#include <string.h>

#include "fold/streams.h"
#include "profile/curves.h"
#include "profile/profile.h"
#include "recording/schema.h"
#include "report/html_parts.h"

enum { TABLE_ROWS_MAX = 512 };

static json_t *curve_json(const struct fm_latency_curve *curve)
{
	json_t *points = json_array();

	for (unsigned i = 0; i < curve->count; i++)
		if (curve->points[i].ns.available)
			json_array_append_new(points, json_pack("{s:f, s:o}", "bytes", (double)curve->points[i].bytes,
			                                        "ns", fm_html_figure(&curve->points[i].ns)));
	return json_pack("{s:s, s:o}", "pages", fm_pages_name(curve->pages), "points", points);
}

static json_t *level_json(const struct fm_level *level)
{
	return json_pack("{s:s, s:f, s:o, s:o, s:o}", "name", level->name, "advertised",
	                 (double)level->advertised_bytes, "effective", fm_html_figure(&level->effective_bytes), "ns",
	                 fm_html_figure(&level->latency_ns), "cycles", fm_html_figure(&level->latency_cycles));
}

static void add_described(json_t *points, double bytes, double ns)
{
	json_array_append_new(points, json_pack("{s:f, s:[f, f, f]}", "bytes", bytes, "ns", ns, ns, ns));
}

/* Load latencies of a simulated machine's description: a step for each cache, and memory. */
static json_t *described_json(const struct fm_machine_description *machine)
{
	enum { FIRST = 4096, BEYOND = 16 };
	json_t *points = json_array();
	double from = FIRST;

	for (unsigned i = 0; i < machine->cache_count; i++) {
		double ns = machine->caches[i].latency / machine->frequency_ghz;

		add_described(points, from, ns);
		add_described(points, (double)machine->caches[i].bytes, ns);
		from = (double)machine->caches[i].bytes + 1;
	}
	add_described(points, from, machine->memory_latency / machine->frequency_ghz);
	add_described(points, BEYOND * from, machine->memory_latency / machine->frequency_ghz);
	return json_pack("{s:s, s:b, s:o}", "pages", "", "described", 1, "points", points);
}

/* Without measurement: a description, or only the caches of the recorded machine. */
static json_t *unmeasured_json(const struct fm_recording *recording)
{
	json_t *levels = json_array(), *curves = json_array();
	char name[16];
	double bytes;

	for (size_t i = 0; fm_fold_cache(recording, i, name, sizeof(name), &bytes); i++)
		json_array_append_new(levels, json_pack("{s:s, s:f}", "name", name, "advertised", bytes));
	if (recording->has_machine && recording->machine.frequency_ghz > 0)
		json_array_append_new(curves, described_json(&recording->machine));
	return json_pack("{s:s, s:b, s:o, s:o}", "title",
	                 recording->has_machine ? recording->machine.title : "this machine, not measured", "simulated",
	                 recording->has_machine, "levels", levels, "curves", curves);
}

json_t *fm_html_machine(const struct fm_recording *recording)
{
	const struct fm_machine *profile = recording->profile;
	json_t *levels = json_array(), *curves = json_array();

	/* a simulated machine with another name is not the measured one */
	if (!profile || (recording->has_machine && strcmp(recording->machine.name, "host") != 0)) {
		json_decref(levels);
		json_decref(curves);
		return recording->has_machine || recording->caches_count ? unmeasured_json(recording) : json_null();
	}
	for (unsigned i = 0; i < profile->level_count; i++)
		json_array_append_new(levels, level_json(&profile->levels[i]));
	for (unsigned i = 0; i < FM_PAGES_COUNT; i++)
		if (profile->curves[i].count)
			json_array_append_new(curves, curve_json(&profile->curves[i]));
	return json_pack("{s:s, s:b, s:s, s:o, s:o}", "title", profile->topology.processor, "simulated", 0, "taken",
	                 profile->taken, "levels", levels, "curves", curves);
}

json_t *fm_html_trust(const struct fm_recording *recording)
{
	const char *metrics = fm_recording_get(recording, "metrics"), *profile = fm_recording_get(recording, "profile");
	json_t *root = metrics ? json_loads(metrics, JSON_DECODE_ANY, NULL) : NULL, *inside;

	if (!root && profile) {
		root = json_loads(profile, 0, NULL);
		inside = json_incref(json_object_get(root, "metrics"));
		json_decref(root);
		root = inside;
	}
	if (json_array_size(root))
		return root;
	json_decref(root);
	return json_null();
}

static json_t *cell_json(const struct fm_column *column, const char *place)
{
	bool flag = false;

	switch (column->kind) {
	case FM_COLUMN_TEXT:
		return json_string(place);
	case FM_COLUMN_REAL:
		return json_real(fm_column_real(column, place));
	case FM_COLUMN_FLAG:
		memcpy(&flag, place, sizeof(flag));
		return json_boolean(flag);
	case FM_COLUMN_INTEGER:
		return json_integer(fm_column_integer(column, place));
	default:
		return NULL; /* figures and counts have separate tables */
	}
}

json_t *fm_html_table(const struct fm_recording *recording, const char *name)
{
	const struct fm_schema *schema = fm_schema();
	json_t *array = json_array();

	for (unsigned i = 0; i < schema->table_count; i++) {
		const struct fm_table_schema *table = &schema->tables[i];
		size_t count = 0;
		const char *rows;

		if (strcmp(table->name, name) != 0)
			continue;
		rows = fm_schema_rows(table, (struct fm_recording *)recording, &count);
		for (size_t k = 0; k < count && k < TABLE_ROWS_MAX; k++) {
			json_t *entry = json_object();

			for (unsigned m = 0; m < table->column_count; m++) {
				json_t *cell = cell_json(&table->columns[m],
				                         rows + k * table->row_bytes + table->columns[m].offset);

				if (cell)
					json_object_set_new(entry, table->columns[m].name, cell);
			}
			json_array_append_new(array, entry);
		}
	}
	if (json_array_size(array))
		return array;
	json_decref(array);
	return json_null();
}
