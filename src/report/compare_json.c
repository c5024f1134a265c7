/* Two recordings of sampled references, as JSON. */
#include <jansson.h>

#include "json/figure.h"
#include "report/parts.h"

static json_t *compared_json(const struct fm_compared *compared)
{
	json_t *object = json_pack("{s:s}", "verdict", fm_change_name(compared->change));

	fm_json_set_figure(object, "first", &compared->first);
	fm_json_set_figure(object, "second", &compared->second);
	fm_json_set_figure(object, "ratio", &compared->ratio);
	fm_json_set_figure(object, "difference", &compared->difference);
	return object;
}

static json_t *row_json(const struct fm_comparison *comparison, const struct fm_compared_row *row)
{
	json_t *levels = json_array();
	json_t *object =
	    json_pack("{s:s, s:o, s:o, s:o}", "name", row->name, "time", compared_json(&row->time), "references_share",
	              compared_json(&row->share), "mean_cost_cycles", compared_json(&row->mean_cost));

	for (unsigned i = 0; i < comparison->classes; i++) {
		json_t *level = compared_json(&row->levels[i]);

		json_object_set_new(level, "name", json_string(comparison->class_names[i]));
		json_array_append_new(levels, level);
	}
	json_object_set_new(object, "levels", levels);
	return object;
}

static json_t *rows_json(const struct fm_comparison *comparison, const struct fm_compared_row *rows, size_t count)
{
	json_t *array = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(array, row_json(comparison, &rows[i]));
	return array;
}

static json_t *side_json(const struct fm_fold *fold)
{
	const struct fm_recording *recording = fold->samples->recording;

	return json_pack("{s:s, s:s, s:f, s:I}", "program", recording->run.program, "sampler",
	                 recording->sampling.sampler, "cpu_seconds", recording->sampling.cpu_seconds, "samples",
	                 (json_int_t)fm_recording_references(recording));
}

void fm_comparison_print_json(const struct fm_comparison *comparison, const struct fm_writer_options *options,
                              FILE *output)
{
	json_t *root = fm_json_document("report"), *compared = json_object();

	(void)options;
	fm_json_set_null(root, "machine", "each recording has a separate one");
	fm_json_set_null(root, "disturbance", "samples are not trials");
	json_object_set_new(compared, "first", side_json(comparison->first));
	json_object_set_new(compared, "second", side_json(comparison->second));
	json_object_set_new(compared, "unit", json_string(comparison->unit));
	json_object_set_new(compared, "levels_why", fm_json_text(comparison->why));
	json_object_set_new(compared, "whole", row_json(comparison, &comparison->whole));
	json_object_set_new(compared, "regions", rows_json(comparison, comparison->regions, comparison->region_count));
	json_object_set_new(compared, "objects", rows_json(comparison, comparison->objects, comparison->object_count));
	json_object_set_new(compared, "routines",
	                    rows_json(comparison, comparison->routines, comparison->routine_count));
	json_object_set_new(root, "comparison", compared);
	fm_json_print(root, output);
}
