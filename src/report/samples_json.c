/* Sampled references, for scripts: docs/schemas/report.schema.json. */
#include <jansson.h>
#include <string.h>

#include "json/figure.h"
#include "report/curve.h"
#include "report/parts.h"
#include "report/sample_rows.h"

enum { ROWS = 128 }; /* of each list, or N of --top N if larger */

/* Each level, joint levels, costs beyond all levels, and lines in flight. */
static json_t *levels_json(const struct fm_samples *samples, const struct fm_served *served)
{
	const struct fm_served_model *model = samples->model;
	json_t *array = json_array();
	struct fm_figure unseen = fm_figure_unavailable(
	    model->simulated ? "samples of the engine have no lines in flight"
	                     : "a timed load cannot see lines in flight: the line has already arrived");
	json_t *entry;

	for (unsigned i = 0; i < model->levels; i++) {
		const char *class = model->class_names[model->class_of[i]];
		struct fm_figure joint = fm_figure_unavailable("its costs cannot be distinguished: see \"%s\"", class);

		entry = json_pack("{s:s}", "name", model->level_names[i]);
		fm_json_set_figure(entry, "share",
		                   strcmp(class, model->level_names[i]) ? &joint : &served->levels[model->class_of[i]]);
		json_array_append_new(array, entry);
	}
	for (unsigned i = 0; i < model->classes; i++) {
		bool single = false;

		for (unsigned k = 0; k < model->levels; k++)
			single |= !strcmp(model->class_names[i], model->level_names[k]);
		if (single)
			continue;
		entry = json_pack("{s:s}", "name", model->class_names[i]);
		fm_json_set_figure(entry, "share", &served->levels[i]);
		json_array_append_new(array, entry);
	}
	entry = json_pack("{s:s}", "name", "in flight");
	fm_json_set_figure(entry, "share", &unseen);
	json_array_append_new(array, entry);
	return array;
}

void fm_json_set_served(json_t *object, const struct fm_samples *samples, const struct fm_served *served)
{
	json_object_set_new(object, "samples", json_integer((json_int_t)served->samples));
	fm_json_set_figure(object, "references_share", &served->share);
	fm_json_set_figure(object, "loads", &served->loads);
	fm_json_set_figure(object, "stores", &served->stores);
	json_object_set_new(object, "levels", levels_json(samples, served));
	fm_json_set_figure(object, "mean_cost_cycles", &served->mean_cost_cycles);
	fm_json_set_figure(object, "mean_cost_ns", &served->mean_cost_ns);
	fm_json_set_figure(object, "tlb_misses", &served->translation_misses);
	if (samples->recording->sampling.nodes > 1)
		fm_json_set_figure(object, "local", &served->local);
}

static json_t *sampling_json(const struct fm_samples *samples)
{
	const struct fm_recorded_sampling *sampling = &samples->recording->sampling;
	size_t references = fm_recording_references(samples->recording);
	json_t *object = json_pack(
	    "{s:s, s:s, s:f, s:f, s:I, s:I, s:f, s:f, s:b}", "sampler", sampling->sampler, "state", sampling->state,
	    "seconds", sampling->seconds, "cpu_seconds", sampling->cpu_seconds, "samples", (json_int_t)references,
	    "level_samples", (json_int_t)(samples->recording->samples_count - references), "overhead_asked",
	    sampling->overhead_asked, "rate_asked", sampling->rate_asked, "every_reference", samples->model->every);
	json_t *missed = json_array();

	fm_json_set_figure(object, "overhead", &sampling->overhead);
	fm_json_set_figure(object, "rate", &sampling->rate);
	json_object_set_new(object, "loss", fm_json_text(sampling->loss));
	json_object_set_new(object, "lost",
	                    json_pack("{s:I, s:I, s:I, s:I, s:I}", "entries", (json_int_t)sampling->lost_entries,
	                              "stacks", (json_int_t)sampling->lost_stacks, "allocations",
	                              (json_int_t)sampling->lost_allocations, "threads",
	                              (json_int_t)sampling->lost_threads, "processes",
	                              (json_int_t)sampling->lost_processes));
	json_object_set_new(object, "seen_share",
	                    samples->recording->run.seen_share > 0 ? json_real(samples->recording->run.seen_share)
	                                                           : json_null());
	json_object_set_new(object, "unseen_why", fm_json_text(samples->recording->run.unseen_why));
	json_object_set_new(object, "missed_share", json_real(samples->missed_share));
	for (size_t i = 0; i < samples->missed_count; i++)
		json_array_append_new(missed, json_pack("{s:s, s:I, s:f, s:f}", "reason", samples->missed[i].reason,
		                                        "count", (json_int_t)samples->missed[i].count, "seconds",
		                                        samples->missed[i].seconds, "share", samples->missed[i].share));
	json_object_set_new(object, "missed", missed);
	json_object_set_new(object, "cost_origin", fm_json_text(samples->model->cost_origin));
	return object;
}

static json_t *sharing_json(const struct fm_samples *samples, size_t most)
{
	json_t *array = json_array();

	for (size_t i = 0; i < samples->sharing_count && samples->sharing[i].object < most; i++) {
		const struct fm_sampled_sharing *row = &samples->sharing[i];
		json_t *entry = fm_thread_json(samples, row->thread);

		json_object_set_new(entry, "object", json_string(samples->objects[row->object].name));
		json_object_set_new(entry, "kind", json_string(fm_samples_use_name(samples->objects[row->object].use)));
		json_object_set_new(entry, "samples", json_integer((json_int_t)row->samples));
		fm_json_set_figure(entry, "references_share", &row->share);
		fm_json_set_figure(entry, "loads", &row->loads);
		fm_json_set_figure(entry, "stores", &row->stores);
		json_array_append_new(array, entry);
	}
	return array;
}

static void set_machine(json_t *root, const struct fm_recording *recording)
{
	if (recording->has_machine) {
		json_object_set_new(root, "machine",
		                    json_pack("{s:s, s:s, s:b}", "name", recording->machine.name, "title",
		                              recording->machine.title, "simulated", 1));
	} else {
		fm_json_set_null(root, "machine", "the machine of the recording");
	}
	fm_json_set_null(root, "disturbance", "samples are not trials: costs that fit no level are \"other\"");
	json_object_set_new(root, "program", fm_json_text(recording->run.program));
	json_object_set_new(root, "exit_status", json_integer((json_int_t)recording->run.exit_status));
	json_object_set_new(root, "host", fm_json_text(recording->run.host));
	json_object_set_new(root, "started", fm_json_text(recording->run.started));
}

void fm_samples_print_json(const struct fm_fold *fold, const struct fm_writer_options *options, FILE *output)
{
	const struct fm_samples *samples = fold->samples;
	json_t *root = fm_json_document("report"), *warnings = json_array(), *whole = json_object();
	size_t most = options->top > ROWS ? options->top : ROWS;

	set_machine(root, samples->recording);
	json_object_set_new(root, "sampling", sampling_json(samples));
	json_object_set_new(root, "filter", fm_json_text(samples->filter));
	json_object_set_new(root, "filtered_share", json_real(samples->filtered));
	for (size_t i = 0; i < samples->warning_count; i++)
		json_array_append_new(warnings, json_string(samples->warnings[i]));
	json_object_set_new(root, "warnings", warnings);
	fm_json_set_served(whole, samples, &samples->whole);
	json_object_set_new(root, "whole", whole);
	fm_sample_rows_set(root, samples, most, false);
	json_object_set_new(root, "sharing", sharing_json(samples, most));
	json_object_set_new(root, "totals",
	                    json_pack("{s:I, s:I, s:I, s:I, s:I}", "objects", (json_int_t)samples->object_count,
	                              "routines", (json_int_t)samples->routine_count, "lines",
	                              (json_int_t)samples->line_count, "regions", (json_int_t)samples->region_count,
	                              "threads", (json_int_t)samples->thread_count));
	json_object_set_new(root, "curve",
	                    samples->recording->curves_count ? fm_curve_recorded_json(samples->recording, 0)
	                                                     : json_null());
	fm_fold_set_json(root, fold, most);
	fm_json_print(root, output);
}
