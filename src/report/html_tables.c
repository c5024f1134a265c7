/* The tables of sampled references in `report --html`. */
#include <math.h>
#include <stdlib.h>

#include "report/html_parts.h"

/* As many digits as anybody reads: the page is smaller. */
static json_t *short_number(double value)
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
	return json_pack("[o, o, o]", short_number(figure->value), short_number(figure->low),
	                 short_number(figure->high));
}

json_t *fm_html_text(const char *text)
{
	return *text ? json_string(text) : json_null();
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

static const char *answer(enum fm_samples_answer given)
{
	return given == FM_ANSWER_YES ? "yes" : given == FM_ANSWER_NO ? "no" : "inconclusive";
}

static void set_order(json_t *entry, const struct fm_pattern_verdict *verdict)
{
	json_object_set_new(entry, "order", json_string(fm_pattern_name(verdict->pattern)));
	json_object_set_new(entry, "order_reason", json_string(verdict->reason));
}

static json_t *objects_json(const struct fm_samples *samples, size_t most)
{
	json_t *array = json_array();

	for (size_t i = 0; i < samples->object_count && i < most; i++) {
		const struct fm_sampled_object *object = &samples->objects[i];
		json_t *entry = json_pack(
		    "{s:s, s:s, s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:s, s:i, s:b}", "name", object->name, "kind",
		    fm_memory_kind_name(object->kind), "bytes", (double)object->bytes, "count",
		    short_number(object->count), "began", short_number(object->began), "ended",
		    short_number(object->ended), "site", fm_html_text(object->site), "type", fm_html_text(object->type),
		    "module", fm_html_text(object->module), "read_only", answer(object->read_only), "use",
		    fm_samples_use_name(object->use), "threads", (int)object->threads, "divided", object->divided);

		json_object_set_new(entry, "served", fm_html_served(samples, &object->served));
		set_order(entry, &object->pattern);
		json_array_append_new(array, entry);
	}
	return array;
}

static json_t *lines_json(const struct fm_samples *samples, size_t most)
{
	json_t *array = json_array();

	for (size_t i = 0; i < samples->line_count && i < most; i++) {
		const struct fm_sampled_line *line = &samples->lines[i];
		json_t *entry = json_pack("{s:s, s:o, s:I, s:o, s:o, s:o, s:I}", "function", line->function, "file",
		                          fm_html_text(line->file), "line", (json_int_t)line->line, "inlined",
		                          fm_html_text(line->inlined), "chain", fm_html_text(line->chain), "module",
		                          fm_html_text(line->module), "object", (json_int_t)line->object);

		json_object_set_new(entry, "served", fm_html_served(samples, &line->served));
		set_order(entry, &line->pattern);
		json_array_append_new(array, entry);
	}
	return array;
}

static json_t *routines_json(const struct fm_samples *samples, size_t most)
{
	json_t *array = json_array();

	for (size_t i = 0; i < samples->routine_count && i < most; i++)
		json_array_append_new(array, json_pack("{s:s, s:o, s:o, s:o}", "name", samples->routines[i].function,
		                                       "module", fm_html_text(samples->routines[i].module), "served",
		                                       fm_html_served(samples, &samples->routines[i].self), "inclusive",
		                                       fm_html_figure(&samples->routines[i].inclusive.share)));
	return array;
}

static json_t *regions_json(const struct fm_samples *samples, size_t most)
{
	json_t *array = json_array();

	for (size_t i = 0; i < samples->region_count && i < most; i++)
		json_array_append_new(array, json_pack("{s:s, s:I, s:o, s:o}", "name", samples->regions[i].name,
		                                       "instances", (json_int_t)samples->regions[i].instances,
		                                       "seconds", short_number(samples->regions[i].seconds), "served",
		                                       fm_html_served(samples, &samples->regions[i].served)));
	return array;
}

/* "index" is what points refer to. */
static json_t *threads_json(const struct fm_samples *samples, size_t most)
{
	const struct fm_recording *recording = samples->recording;
	json_t *array = json_array();

	for (size_t i = 0; i < samples->thread_count && i < most; i++) {
		uint32_t index = samples->threads[i].thread;
		const struct fm_recorded_sampled_thread *thread = &recording->sampled_threads[index];

		json_array_append_new(array,
		                      json_pack("{s:i, s:I, s:I, s:s, s:o}", "index", (int)index, "process",
		                                (json_int_t)recording->sampled_processes[thread->process].process,
		                                "thread", (json_int_t)thread->thread, "name", thread->name, "served",
		                                fm_html_served(samples, &samples->threads[i].served)));
	}
	return array;
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
		                                       short_number(samples->missed[i].share), "function",
		                                       fm_html_text(samples->missed[i].function)));
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
	json_object_set_new(root, "levels_why", fm_html_text(model->why));
	json_object_set_new(root, "cost_unit", json_string(*model->cycles_unit ? model->cycles_unit : "cycles"));
	json_object_set_new(root, "cost_origin", fm_html_text(model->cost_origin));
	json_object_set_new(root, "origin", json_string(model->simulated ? "simulated" : "sampled"));
	json_object_set_new(root, "whole", fm_html_served(samples, &samples->whole));
	json_object_set_new(root, "objects", objects_json(samples, most));
	json_object_set_new(root, "lines", lines_json(samples, most));
	json_object_set_new(root, "routines", routines_json(samples, most));
	json_object_set_new(root, "regions", regions_json(samples, most));
	json_object_set_new(root, "threads", threads_json(samples, most));
	json_object_set_new(root, "sharing", sharing_json(samples, most));
	json_object_set_new(root, "missed", missed_json(samples));
	json_object_set_new(root, "totals",
	                    json_pack("{s:I, s:I, s:I, s:I}", "objects", (json_int_t)samples->object_count, "lines",
	                              (json_int_t)samples->line_count, "routines", (json_int_t)samples->routine_count,
	                              "threads", (json_int_t)samples->thread_count));
}
