#include <stdlib.h>
#include <string.h>

#include "json/figure.h"
#include "report/picture_text.h"
#include "report/where.h"

static json_t *member(json_t *object, const char *name, json_t *(*make)(void))
{
	json_t *found = json_object_get(object, name);

	if (!found || json_is_null(found)) {
		found = make();
		json_object_set_new(object, name, found);
	}
	return found;
}

static void set_levels(const struct fm_picture *picture, json_t *levels)
{
	for (unsigned i = 0; i < picture->level_count; i++) {
		const struct fm_picture_level *level = &picture->levels[i];
		json_t *entry = json_array_get(levels, i);

		if (!entry) {
			entry = json_pack("{s:s}", "name", level->name);
			json_array_append_new(levels, entry);
		}
		fm_json_set_figure(entry, "read_bytes", &level->read_bytes);
		fm_json_set_figure(entry, "allocate_bytes", &level->allocate_bytes);
		fm_json_set_figure(entry, "write_bytes", &level->write_bytes);
		fm_json_set_figure(entry, "gbs", &level->gbs);
		fm_json_set_figure(entry, "peak_gbs", &level->peak_gbs);
		fm_json_set_figure(entry, "utilisation", &level->utilisation);
		if (*level->source)
			json_object_set_new(entry, "source", json_string(level->source));
	}
}

static void set_cycles(const struct fm_picture *picture, json_t *object)
{
	json_t *cycles;

	if (!picture->active.available) {
		json_object_set_new(object, "cycles", json_null());
		json_object_set_new(object, "cycles_why", json_string(picture->active.why));
		return;
	}
	cycles = member(object, "cycles", json_object);
	/* the engine's own are whole numbers already */
	if (!json_object_get(cycles, "active")) {
		fm_json_set_figure(cycles, "active", &picture->active);
		fm_json_set_figure(cycles, "productive", &picture->productive);
		fm_json_set_figure(cycles, "stall", &picture->stall);
	}
	fm_json_set_figure(cycles, "memory_bound", &picture->memory_bound);
	fm_json_set_figure(cycles, "bandwidth_bound", &picture->bandwidth_bound);
	fm_json_set_figure(cycles, "latency_bound", &picture->latency_bound);
	fm_json_set_figure(cycles, "other_stall", &picture->other_stall);
}

static json_t *patterns_to_json(const struct fm_picture *picture)
{
	struct fm_finding findings[FM_FINDINGS_MAX];
	unsigned count = fm_patterns_find(picture, findings);
	json_t *array = json_array();

	for (unsigned i = 0; i < count; i++) {
		json_t *entry =
		    json_pack("{s:s, s:s, s:s, s:f, s:s, s:s}", "name", findings[i].name, "group", findings[i].group,
		              "verdict", fm_verdict_name(findings[i].verdict), "confidence", findings[i].confidence,
		              "evidence", findings[i].evidence, "advice", findings[i].advice);

		fm_json_set_figure(entry, "metric", &findings[i].metric);
		json_array_append_new(array, entry);
	}
	return array;
}

void fm_picture_to_json(const struct fm_picture *picture, json_t *object)
{
	set_levels(picture, member(object, "levels", json_array));
	set_cycles(picture, object);
	fm_json_set_figure(object, "elapsed", &picture->seconds);
	fm_json_set_figure(object, "predicted", &picture->predicted_seconds);
	json_object_set_new(object, "patterns", patterns_to_json(picture));
}

/* Of a run in which only one region was counted, the others say nothing. */
static void keep_region(json_t *regions, const char *name)
{
	for (size_t i = json_array_size(regions); i-- > 0;) {
		const char *own = json_string_value(json_object_get(json_array_get(regions, i), "name"));

		if (!own || strcmp(own, name) != 0)
			json_array_remove(regions, i);
	}
}

static void add_native(const struct fm_native *native, json_t *root)
{
	json_t *object = json_null();

	if (native->runs)
		object = json_pack("{s:i, s:f, s:i, s:b}", "runs", (int)native->runs, "cpu_seconds",
		                   native->cpu_seconds, "exit_status", native->exit_status, "differs", native->differs);
	if (native->differs)
		json_object_set_new(object, "difference", json_string(native->difference));
	json_object_set_new(root, "native", object);
}

static json_t *region_entry(const struct fm_picture *part)
{
	json_t *entry = json_pack("{s:s, s:o, s:i, s:I}", "name", part->part.region, "thread",
	                          part->part.thread < 0 ? json_null() : json_integer(part->part.thread), "threads",
	                          (int)part->threads, "instances", (json_int_t)part->instances);

	fm_picture_to_json(part, entry);
	return entry;
}

/* How far off counts and predicted times are, by kernels on this machine. */
static void add_combination(const struct fm_combination *combination, json_t *root)
{
	if (!combination->cases) {
		json_object_set_new(root, "combination", json_null());
		json_object_set_new(root, "combination_why",
		                    json_string("'fathom machine --check' has not checked it"));
		return;
	}
	json_object_set_new(root, "combination",
	                    json_pack("{s:i, s:f, s:f, s:f, s:f}", "cases", (int)combination->cases,
	                              "count_error_median", combination->count_median, "count_error_nine_tenths",
	                              combination->count_most, "time_error_median", combination->time_median,
	                              "time_error_nine_tenths", combination->time_most));
}

static void add_regions(const struct fm_picture_source *source, struct fm_picture *part, json_t *regions)
{
	const struct fm_results *results = source->run->results;
	struct fm_exact_parts all = {.source = source};
	struct fm_picture_parts parts = fm_picture_exact_parts(&all);

	for (unsigned i = 0; i < results->region_count && i < FM_RESULT_REGIONS_MAX; i++) {
		json_t *entry = json_array_get(regions, i);
		char name[FM_RESULT_NAME];

		snprintf(name, sizeof(name), "%.*s", FM_RESULT_NAME - 1, results->regions[i].name);
		fm_picture_build(source, &(struct fm_part){.region = name, .thread = (int)results->regions[i].thread},
		                 part);
		if (entry)
			fm_picture_to_json(part, entry);
	}
	for (unsigned i = 0; parts.region(parts.context, i, part); i++)
		if (part->thread_count > 1)
			json_array_append_new(regions, region_entry(part));
}

/* threads, regions and lines of each pattern that is present. */
static void add_where(const struct fm_picture *picture, const struct fm_picture_parts *parts,
                      const struct fm_stat *stat, json_t *root)
{
	struct fm_finding findings[FM_FINDINGS_MAX];
	unsigned count = fm_patterns_find(picture, findings);
	struct fm_where *where = calloc(FM_FINDINGS_MAX, sizeof(*where));
	json_t *patterns = json_object_get(root, "patterns");

	if (where)
		fm_where_find(picture, findings, count, parts, stat, where);
	for (unsigned i = 0; where && i < count; i++) {
		json_t *entry = json_array_get(patterns, i), *threads = json_array(), *regions = json_array(),
		       *lines = json_array();

		for (unsigned k = 0; k < where[i].thread_count; k++)
			json_array_append_new(threads, json_integer(where[i].threads[k]));
		for (unsigned k = 0; k < where[i].region_count; k++)
			json_array_append_new(regions, json_string(where[i].regions[k]));
		for (unsigned k = 0; k < where[i].line_count; k++)
			json_array_append_new(lines,
			                      json_pack("{s:s, s:i, s:s, s:f}", "file", where[i].lines[k].file, "line",
			                                where[i].lines[k].line, "function", where[i].lines[k].function,
			                                "share", where[i].lines[k].share));
		json_object_set_new(entry, "threads", threads);
		json_object_set_new(entry, "regions", regions);
		json_object_set_new(entry, "lines", lines);
	}
	free(where);
}

void fm_picture_add_to_document(const struct fm_picture *picture, const struct fm_picture_source *source,
                                const struct fm_stat *stat, json_t *root)
{
	struct fm_exact_parts each = {.source = source, .region = picture->part.region};
	const struct fm_picture_parts parts = fm_picture_exact_parts(&each);
	struct fm_picture *part = malloc(sizeof(*part));
	json_t *threads = json_object_get(root, "threads"), *sharing = json_object_get(root, "sharing"), *entry;
	size_t index;

	fm_picture_to_json(picture, root);
	add_native(&picture->native, root);
	add_combination(&picture->combination, root);
	add_where(picture, &parts, stat, root);
	if (!part)
		return;
	json_array_foreach(threads, index, entry)
	{
		fm_picture_build(source, &(struct fm_part){.region = picture->part.region, .thread = (int)index}, part);
		fm_picture_to_json(part, entry);
	}
	add_regions(source, part, json_object_get(root, "regions"));
	if (picture->part.region)
		keep_region(json_object_get(root, "regions"), picture->part.region);
	json_array_foreach(sharing, index, entry)
	{
		double transfers = json_number_value(json_object_get(entry, "transfers"));
		struct fm_figure rate = picture->seconds;

		if (rate.available && rate.low > 0)
			rate = fm_figure_make(
			    transfers / rate.value, transfers / rate.high, transfers / rate.low, "1/s",
			    rate.origin == FM_ORIGIN_measured ? FM_ORIGIN_combined : rate.origin, "exact", rate.trials);
		fm_json_set_figure(entry, "transfers_per_second", &rate);
	}
	free(part);
}

void fm_picture_add_parts(const struct fm_picture *picture, const struct fm_picture_parts *parts, json_t *root)
{
	struct fm_picture *part = malloc(sizeof(*part));
	json_t *threads = json_array(), *regions = json_array();

	for (unsigned i = 0; part && parts->thread(parts->context, i, part); i++) {
		json_t *entry = json_pack("{s:i}", "thread", part->part.thread);

		fm_picture_to_json(part, entry);
		json_array_append_new(threads, entry);
	}
	for (unsigned i = 0; part && parts->region_thread && parts->region_thread(parts->context, i, part); i++)
		json_array_append_new(regions, region_entry(part));
	for (unsigned i = 0; part && parts->region(parts->context, i, part); i++)
		json_array_append_new(regions, region_entry(part));
	json_object_set_new(root, "threads", threads);
	json_object_set_new(root, "regions", regions);
	add_where(picture, parts, NULL, root);
	free(part);
}
