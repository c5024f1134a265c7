/* The tables of sampled references in `report --html`. */
#include <math.h>
#include <stdlib.h>

#include "json/figure.h"
#include "report/html_parts.h"
#include "report/sample_rows.h"

/* Five digits keep the page small. */
json_t *fm_html_number(double value)
{
	char text[32];

	if (!isfinite(value))
		return json_null();
	snprintf(text, sizeof(text), "%.5g", value);
	return json_real(strtod(text, NULL));
}

json_t *fm_html_figure(const struct fm_figure *figure)
{
	if (!figure->available)
		return json_string(*figure->why ? figure->why : "not available");
	return json_pack("[o, o, o]", fm_html_number(figure->value), fm_html_number(figure->low),
	                 fm_html_number(figure->high));
}

json_t *fm_html_served(const struct fm_samples *samples, const struct fm_served *served)
{
	json_t *levels = json_array();

	for (unsigned i = 0; !*samples->model->why && i < samples->model->classes; i++)
		json_array_append_new(levels, fm_html_figure(&served->levels[i]));
	return json_pack("{s:I, s:o, s:o, s:o, s:o, s:o}", "samples", (json_int_t)served->samples, "share",
	                 fm_html_figure(&served->share), "stores", fm_html_figure(&served->stores), "levels", levels,
	                 "cost", fm_html_figure(&served->mean_cost_cycles), "tlb",
	                 fm_html_figure(&served->translation_misses));
}

static json_t *sharing_json(const struct fm_samples *samples, size_t most)
{
	json_t *array = json_array();

	for (size_t i = 0; i < samples->sharing_count && samples->sharing[i].object < most; i++) {
		const struct fm_sampled_sharing *row = &samples->sharing[i];

		json_array_append_new(array, json_pack("{s:i, s:i, s:o, s:o}", "object", (int)row->object, "thread",
		                                       (int)row->thread, "share", fm_html_figure(&row->share), "stores",
		                                       fm_html_figure(&row->stores)));
	}
	return array;
}

static json_t *missed_json(const struct fm_samples *samples)
{
	json_t *array = json_array();

	for (size_t i = 0; i < samples->missed_count; i++)
		json_array_append_new(array, json_pack("{s:s, s:o, s:o}", "reason", samples->missed[i].reason, "share",
		                                       fm_html_number(samples->missed[i].share), "function",
		                                       fm_json_text(samples->missed[i].function)));
	return array;
}

static json_t *names_json(const struct fm_samples *samples, bool classes)
{
	const struct fm_served_model *model = samples->model;
	json_t *array = json_array();

	for (unsigned i = 0; !*model->why && i < (classes ? model->classes : model->levels); i++)
		json_array_append_new(array, json_string(classes ? model->class_names[i] : model->level_names[i]));
	return array;
}

void fm_html_set_tables(json_t *root, const struct fm_samples *samples, size_t most)
{
	const struct fm_served_model *model = samples->model;

	json_object_set_new(root, "classes", names_json(samples, true));
	json_object_set_new(root, "levels", names_json(samples, false));
	json_object_set_new(root, "levels_why", fm_json_text(model->why));
	json_object_set_new(root, "cost_unit", json_string(*model->cycles_unit ? model->cycles_unit : "cycles"));
	json_object_set_new(root, "cost_origin", fm_json_text(model->cost_origin));
	json_object_set_new(root, "origin", json_string(model->simulated ? "simulated" : "sampled"));
	json_object_set_new(root, "whole", fm_html_served(samples, &samples->whole));
	fm_sample_rows_set(root, samples, most, true);
	json_object_set_new(root, "sharing", sharing_json(samples, most));
	json_object_set_new(root, "missed", missed_json(samples));
	json_object_set_new(root, "totals",
	                    json_pack("{s:I, s:I, s:I, s:I}", "objects", (json_int_t)samples->object_count, "lines",
	                              (json_int_t)samples->line_count, "routines", (json_int_t)samples->routine_count,
	                              "threads", (json_int_t)samples->thread_count));
}
