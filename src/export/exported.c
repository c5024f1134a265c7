#include "export/exported.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "samples/parts.h"

static const char unknown_object[] = "unknown memory";

uint64_t fm_exported_time(double seconds)
{
	if (!(seconds > 0))
		return 0;
	return seconds < 9.2e9 ? (uint64_t)llround(seconds * 1e9) : INT64_MAX;
}

bool fm_exported_shares(const struct fm_exported *exported, size_t index, double shares[FM_SERVED_CLASSES])
{
	const struct fm_samples *samples = exported->samples;
	const struct fm_recorded_sample *sample = &exported->recording->samples[index];
	uint32_t object = samples->object_of[fm_samples_memory(samples, sample)];
	const struct fm_served *prior = object < samples->object_count ? &samples->objects[object].served : NULL;

	/* objects with few timed samples have no shares of their own */
	if (!prior || prior->mixture[0] < 0)
		prior = &samples->whole;
	return fm_served_probabilities(samples->model, prior, sample, shares);
}

unsigned fm_exported_level(const struct fm_exported *exported, size_t index, double *ret_probability)
{
	double shares[FM_SERVED_CLASSES];
	unsigned best = 0;

	if (ret_probability)
		*ret_probability = 0;
	if (!fm_exported_shares(exported, index, shares))
		return 0;
	for (unsigned i = 1; i < exported->samples->model->classes; i++)
		if (shares[i] > shares[best])
			best = i;
	if (ret_probability)
		*ret_probability = shares[best];
	return best + 1;
}

unsigned fm_exported_levels(const struct fm_exported *exported)
{
	return exported->samples ? exported->samples->model->classes : 0;
}

const char *fm_exported_level_name(const struct fm_exported *exported, unsigned level)
{
	return level && level <= fm_exported_levels(exported) ? exported->samples->model->class_names[level - 1]
	                                                      : "unknown";
}

bool fm_exported_cost(const struct fm_recorded_sample *sample, uint64_t *ret_cost)
{
	if (sample->flags & FM_SAMPLE_UNTIMED)
		return false;
	*ret_cost = sample->cost > sample->baseline ? sample->cost - sample->baseline : 0;
	return true;
}

const char *fm_exported_kind(const struct fm_recorded_sample *sample)
{
	return !(sample->kind & FM_SAMPLE_STORE) ? "load" : sample->kind & FM_SAMPLE_LOAD ? "load and store" : "store";
}

uint64_t fm_exported_weight(const struct fm_exported *exported, const struct fm_recorded_sample *sample)
{
	if (sample->flags & FM_SAMPLE_LEVEL_ONLY)
		return 0;
	if (!exported->references)
		return fm_exported_time(sample->weight);
	return sample->weight > 0 && sample->weight < 9.2e18F ? (uint64_t)llroundf(sample->weight) : 0;
}

static int by_time(const void *first, const void *second, void *context)
{
	const struct fm_recorded_sample *samples = context;
	uint32_t a = *(const uint32_t *)first, b = *(const uint32_t *)second;

	if (samples[a].at != samples[b].at)
		return samples[a].at < samples[b].at ? -1 : 1;
	return (a > b) - (a < b);
}

static int sort_samples(struct fm_exported *exported)
{
	const struct fm_recording *recording = exported->recording;
	bool sorted = true;

	exported->order = malloc((recording->samples_count + 1) * sizeof(*exported->order));
	if (!exported->order)
		return -ENOMEM;
	for (size_t i = 0; i < recording->samples_count; i++) {
		sorted &= !exported->count ||
		          fm_exported_sample(exported, exported->count - 1)->at <= recording->samples[i].at;
		exported->order[exported->count++] = (uint32_t)i;
	}
	/* recordings are sorted, except recordings from other sources */
	if (!sorted)
		qsort_r(exported->order, exported->count, sizeof(*exported->order), by_time, recording->samples);
	return 0;
}

static void name_place(const struct fm_recorded_code *code, char *text, size_t size)
{
	const char *function = *code->inlined ? code->inlined : code->function;

	if (code->line && *code->file)
		snprintf(text, size, "%s:%lld (%s)", code->file, (long long)code->line, function);
	else if (*code->function)
		snprintf(text, size, "%s", code->function);
	else
		snprintf(text, size, "%s+0x%llx", *code->module ? code->module : "unknown",
		         (unsigned long long)code->offset);
}

static int number_codes(struct fm_exported *exported)
{
	const struct fm_recording *recording = exported->recording;
	int r = 0;

	for (size_t i = 0; !r && i < recording->codes_count; i++) {
		const struct fm_recorded_code *code = &recording->codes[i];
		char text[FM_FUNCTION + 320];

		snprintf(text, sizeof(text), "%s", code->function);
		if (!*text)
			snprintf(text, sizeof(text), "unknown in %s", *code->module ? code->module : "unknown");
		r = fm_names_find(&exported->functions, text, &exported->function_of[i]);
		name_place(code, text, sizeof(text));
		if (!r)
			r = fm_names_find(&exported->places, text, &exported->place_of[i]);
		if (!r)
			r = fm_names_find(&exported->files, *code->file ? code->file : "???", &exported->file_of[i]);
		if (!r)
			r = fm_names_find(&exported->modules, *code->module ? code->module : "???",
			                  &exported->module_of[i]);
	}
	return r;
}

static int number_names(struct fm_exported *exported)
{
	const struct fm_recording *recording = exported->recording;
	int r = number_codes(exported);

	for (size_t i = 0; !r && i < recording->memories_count; i++) {
		char name[FM_FUNCTION + 16];

		fm_samples_object_name(&recording->memories[i], name, sizeof(name));
		r = fm_names_find(&exported->objects, name, &exported->object_of[i]);
	}
	if (!r)
		r = fm_names_find(&exported->objects, unknown_object, &exported->object_of[recording->memories_count]);
	for (size_t i = 0; !r && i < recording->instances_count; i++)
		r = fm_names_find(&exported->regions,
		                  *recording->instances[i].name ? recording->instances[i].name : "?",
		                  &exported->region_of[i]);
	return r;
}

static void find_first_threads(struct fm_exported *exported)
{
	const struct fm_recording *recording = exported->recording;

	for (size_t i = 0; i < recording->sampled_processes_count; i++)
		exported->first_thread[i] = -1;
	for (size_t i = recording->sampled_threads_count; i--;)
		exported->first_thread[recording->sampled_threads[i].process] = (int64_t)i;
}

static void find_duration(struct fm_exported *exported)
{
	const struct fm_recording *recording = exported->recording;
	double last = fmax(recording->sampling.seconds, 0);

	for (size_t i = 0; i < recording->sampled_processes_count; i++)
		last = fmax(last, recording->sampled_processes[i].ended);
	for (size_t i = 0; i < recording->sampled_threads_count; i++)
		last = fmax(last, fmax(recording->sampled_threads[i].began, recording->sampled_threads[i].ended));
	for (size_t i = 0; i < recording->instances_count; i++)
		last = fmax(last, fmax(recording->instances[i].began, recording->instances[i].ended));
	for (size_t i = 0; i < recording->memories_count; i++)
		last = fmax(last, fmax(recording->memories[i].began, recording->memories[i].ended));
	if (exported->count)
		last = fmax(last, fm_exported_sample(exported, exported->count - 1)->at);
	exported->duration = fm_exported_time(last);
	for (size_t i = 0; i < exported->series.point_count; i++)
		if (exported->series.points[i].at > exported->duration)
			exported->duration = exported->series.points[i].at;
}

static int prepare_samples(struct fm_exported *exported, struct fm_error *error)
{
	const struct fm_recording *recording = exported->recording;
	const struct fm_recorded_sampling *sampling = &recording->sampling;
	int r;

	if (!*sampling->sampler || !recording->samples_count)
		return 0;
	r = fm_samples_analyse(recording, NULL, &exported->samples, error);
	if (r)
		return r;
	r = sort_samples(exported);
	if (r)
		return fm_error_set(error, -r, "out of memory");
	exported->references = exported->samples->model->simulated;
	snprintf(exported->cost_unit, sizeof(exported->cost_unit), exported->references ? "cycles" : "ticks");
	exported->has |= exported->count ? FM_EXPORT_SAMPLES : 0;
	return 0;
}

int fm_exported_prepare(const struct fm_recording *recording, const struct fm_export_options *options,
                        struct fm_exported *ret_exported, struct fm_error *error)
{
	struct fm_exported exported = {.recording = recording, .options = options};
	int r = prepare_samples(&exported, error);

	if (r)
		goto out;
	exported.function_of = calloc(recording->codes_count + 1, sizeof(uint32_t));
	exported.place_of = calloc(recording->codes_count + 1, sizeof(uint32_t));
	exported.file_of = calloc(recording->codes_count + 1, sizeof(uint32_t));
	exported.module_of = calloc(recording->codes_count + 1, sizeof(uint32_t));
	exported.object_of = calloc(recording->memories_count + 1, sizeof(uint32_t));
	exported.region_of = calloc(recording->instances_count + 1, sizeof(uint32_t));
	exported.first_thread = calloc(recording->sampled_processes_count + 1, sizeof(int64_t));
	r = exported.function_of && exported.place_of && exported.file_of && exported.module_of && exported.object_of &&
	            exported.region_of && exported.first_thread
	        ? number_names(&exported)
	        : -ENOMEM;
	if (!r)
		r = fm_series_make(recording, &exported.series);
	if (r) {
		fm_error_set(error, -r, "out of memory");
		goto out;
	}
	exported.has |= exported.series.point_count ? FM_EXPORT_SERIES : 0;
	exported.has |= recording->lines_count ? FM_EXPORT_LINES : 0;
	exported.has |= recording->event_counts_count ? FM_EXPORT_COUNTS : 0;
	find_first_threads(&exported);
	find_duration(&exported);
	*ret_exported = exported;
	return 0;
out:
	fm_exported_free(&exported);
	return r;
}

void fm_exported_free(struct fm_exported *exported)
{
	fm_samples_free(exported->samples);
	free(exported->order);
	fm_names_free(&exported->functions);
	fm_names_free(&exported->places);
	fm_names_free(&exported->files);
	fm_names_free(&exported->modules);
	fm_names_free(&exported->objects);
	fm_names_free(&exported->regions);
	free(exported->function_of);
	free(exported->place_of);
	free(exported->file_of);
	free(exported->module_of);
	free(exported->object_of);
	free(exported->region_of);
	free(exported->first_thread);
	fm_series_free(&exported->series);
}
