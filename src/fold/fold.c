#include "fold/fold.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/statistics.h"
#include "fold/findings.h"
#include "fold/parts.h"
#include "fold/streams.h"
#include "fold/thresholds.h"

bool fm_fold_relative(const struct fm_recording *recording, const struct fm_recorded_sample *sample,
                      uint64_t *ret_address)
{
	const struct fm_recorded_memory *memory =
	    sample->memory < 0 ? NULL : &recording->memories[(size_t)sample->memory];
	bool relative = memory && memory->address && sample->address >= memory->address;

	*ret_address = relative ? sample->address - memory->address : sample->address;
	return relative;
}

double fm_fold_weight(const struct fm_fold *fold, const struct fm_recorded_sample *sample)
{
	/* of samples without weights each counts the same */
	if (!(fold->samples->whole.seconds > 0))
		return 1;
	return sample->weight > 0 ? sample->weight : 0;
}

struct fm_folded_sample fm_fold_sample(const struct fm_fold *fold, const struct fm_fold_mode *mode,
                                       const struct fm_folded *folded)
{
	const struct fm_samples *samples = fold->samples;
	const struct fm_recording *recording = samples->recording;
	const struct fm_recorded_sample *sample = &recording->samples[folded->sample];
	size_t memory = fm_samples_memory(samples, sample);
	struct fm_folded_sample result = {
	    .place = folded->place,
	    .at = folded->place * mode->length.value,
	    .thread = sample->thread,
	    .line =
	        samples->line_of[sample->code] == UINT32_MAX ? FM_FOLD_NONE : (int64_t)samples->line_of[sample->code],
	    .routine = samples->routine_of[sample->code] == UINT32_MAX ? FM_FOLD_NONE
	                                                               : (int64_t)samples->routine_of[sample->code],
	    .object = samples->object_of[memory] == UINT32_MAX ? FM_FOLD_NONE : (int64_t)samples->object_of[memory],
	    .load = sample->kind & FM_SAMPLE_LOAD,
	    .store = sample->kind & FM_SAMPLE_STORE,
	    .level = samples->levels[folded->sample],
	    .cost = -1,
	    .weight = sample->flags & FM_SAMPLE_LEVEL_ONLY ? 0 : fm_fold_weight(fold, sample),
	    .bytes = sample->size,
	};

	result.relative = fm_fold_relative(recording, sample, &result.address);
	if (sample->flags & FM_SAMPLE_SIMULATED)
		result.cost = sample->cost;
	else if (!(sample->flags & (FM_SAMPLE_FAULTED | FM_SAMPLE_UNTIMED)) && sample->cost)
		result.cost = sample->cost > sample->baseline ? (double)(sample->cost - sample->baseline) : 0;
	return result;
}

/* Instances */

static int add_instance(struct fm_fold_region *region, uint32_t thread, double began, double ended)
{
	struct fm_fold_instance *instance =
	    fm_recording_grow((void **)&region->instances, &region->instance_count, sizeof(*instance));

	if (!instance)
		return -ENOMEM;
	*instance = (struct fm_fold_instance){.thread = thread, .began = began, .ended = ended, .mode = FM_FOLD_NONE};
	return 0;
}

/* Marked regions, in the order of the table of regions. */
static int collect(struct fm_fold *fold)
{
	const struct fm_samples *samples = fold->samples;
	const struct fm_recording *recording = samples->recording;
	int r = 0;

	/* one more for iterations that are found */
	fold->regions = calloc(samples->region_count + 1, sizeof(*fold->regions));
	if (!fold->regions)
		return -ENOMEM;
	fold->region_count = samples->region_count;
	for (size_t i = 0; i < samples->region_count; i++) {
		fold->regions[i].confidence = 1;
		snprintf(fold->regions[i].name, sizeof(fold->regions[i].name), "%s", samples->regions[i].name);
	}
	for (size_t i = 0, last = 0; !r && i < recording->instances_count; i++) {
		const struct fm_recorded_instance *instance = &recording->instances[i];

		for (size_t tried = 0;
		     tried < fold->region_count && strcmp(fold->regions[last].name, instance->name) != 0; tried++)
			last = last + 1 < fold->region_count ? last + 1 : 0;
		r = add_instance(&fold->regions[last], instance->thread, instance->began, instance->ended);
	}
	return r;
}

/* The samples of an instance, as indexes of the timeline. */
static void find_samples(const struct fm_fold *fold, const struct fm_thread_timeline *timeline,
                         const struct fm_fold_instance *instance, size_t *ret_begin, size_t *ret_end)
{
	const struct fm_recording *recording = fold->samples->recording;

	*ret_begin = fm_timeline_find(recording, timeline, instance->thread, instance->began);
	*ret_end = fm_timeline_find(recording, timeline, instance->thread, nextafter(instance->ended, INFINITY));
}

/* Instances that have a length come first. */
static void measure_instances(const struct fm_fold *fold, const struct fm_thread_timeline *timeline,
                              struct fm_fold_region *region)
{
	size_t kept = 0, begin, end;

	for (size_t i = 0; i < region->instance_count; i++) {
		struct fm_fold_instance instance = region->instances[i];

		instance.length = fm_timeline_active(timeline, instance.thread, instance.ended) -
		                  fm_timeline_active(timeline, instance.thread, instance.began);
		if (fold->clock == FM_FOLD_REFERENCES) {
			find_samples(fold, timeline, &instance, &begin, &end);
			instance.length =
			    (double)(end - begin) * fmax((double)fold->samples->recording->sampling.every, 1);
		}
		if (instance.length > 0)
			region->instances[kept++] = instance;
	}
	region->unfinished = region->instance_count - kept;
	region->instance_count = kept;
}

/* Samples by their place: counted into buckets first, so that time grows with their number only. */
struct buckets {
	size_t *end;
	size_t count;
	const uint8_t *skip; /* of each sample: it belongs elsewhere. NULL: all are taken, but for the filter */
};

static double place_of(const struct fm_fold *fold, const struct fm_thread_timeline *timeline,
                       const struct fm_fold_instance *instance, const struct fm_recorded_sample *sample, size_t number,
                       size_t count, bool by_clock)
{
	/* one of the n references of the sample: an unknown one, but the same each time */
	double within = (double)((uint32_t)(number + (sample->address >> 3)) * 2654435761u) / 4294967296.0;
	double place = fold->clock == FM_FOLD_REFERENCES ? ((double)number + within) / (double)count
	               : by_clock                        ? (sample->at - instance->began) / instance->length
	                                                 : (fm_timeline_active(timeline, instance->thread, sample->at) -
                                     fm_timeline_active(timeline, instance->thread, instance->began)) /
	                                instance->length;

	return fmin(fmax(place, 0), 0.9999999);
}

static int by_place(const void *first, const void *second)
{
	const struct fm_folded *a = first, *b = second;

	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	return (a->sample > b->sample) - (a->sample < b->sample);
}

static void put_instance(const struct fm_fold *fold, const struct fm_thread_timeline *timeline,
                         const struct fm_fold_region *region, size_t which, struct fm_fold_mode *mode,
                         struct buckets *buckets)
{
	const struct fm_samples *samples = fold->samples;
	const struct fm_fold_instance *instance = &region->instances[which];
	size_t begin, end;

	find_samples(fold, timeline, instance, &begin, &end);
	for (size_t i = begin; i < end; i++) {
		uint32_t index = timeline->list[i];
		const struct fm_recorded_sample *sample = &samples->recording->samples[index];
		float place = (float)place_of(fold, timeline, instance, sample, i - begin, end - begin, buckets->skip);
		size_t bucket;

		if ((samples->left && !samples->left[index]) || (buckets->skip && buckets->skip[index]))
			continue;
		place = place >= 1 ? 0.9999999f : place;
		bucket = (size_t)((double)place * (double)buckets->count);
		if (mode->samples)
			mode->samples[buckets->end[bucket]++] = (struct fm_folded){index, (uint32_t)which, place};
		else
			buckets->end[bucket + 1]++;
	}
}

static int fold_mode(const struct fm_fold *fold, const struct fm_thread_timeline *timeline,
                     const struct fm_fold_region *region, int32_t which, const uint8_t *skip, struct fm_fold_mode *mode)
{
	struct buckets buckets = {.count = 1 << 16, .skip = skip};
	size_t begin = 0;

	buckets.end = calloc(buckets.count + 2, sizeof(*buckets.end));
	if (!buckets.end)
		return -ENOMEM;
	for (size_t i = 0; i < region->instance_count; i++)
		if (region->instances[i].mode == which)
			put_instance(fold, timeline, region, i, mode, &buckets);
	for (size_t i = 0; i < buckets.count; i++)
		buckets.end[i + 1] += buckets.end[i];
	mode->sample_count = buckets.end[buckets.count];
	mode->samples = malloc((mode->sample_count + 1) * sizeof(*mode->samples));
	for (size_t i = 0; mode->samples && i < region->instance_count; i++)
		if (region->instances[i].mode == which)
			put_instance(fold, timeline, region, i, mode, &buckets);
	for (size_t i = 0; mode->samples && i < buckets.count; i++) {
		if (buckets.end[i] > begin + 1)
			qsort(mode->samples + begin, buckets.end[i] - begin, sizeof(*mode->samples), by_place);
		begin = buckets.end[i];
	}
	free(buckets.end);
	return mode->samples ? 0 : -ENOMEM;
}

static struct fm_figure median_of(const struct fm_fold *fold, const double *values, size_t count, const char *unit)
{
	bool simulated = fold->clock == FM_FOLD_REFERENCES;
	struct fm_location location;

	if (fm_statistics_median(values, (unsigned)count, &location))
		return count ? fm_figure_make(values[0], values[0], values[0], unit,
		                              simulated ? FM_ORIGIN_simulated : FM_ORIGIN_measured,
		                              fold->samples->model->backend, (unsigned)count)
		             : fm_figure_unavailable("there is no instance");
	return fm_figure_make(location.value, location.low, location.high, unit,
	                      simulated ? FM_ORIGIN_simulated : FM_ORIGIN_measured, fold->samples->model->backend,
	                      (unsigned)count);
}

static int describe_mode(const struct fm_fold *fold, const struct fm_fold_region *region, int32_t which,
                         struct fm_fold_mode *mode)
{
	double *lengths = malloc((region->instance_count + 1) * sizeof(*lengths));
	size_t count = 0;

	if (!lengths)
		return -ENOMEM;
	mode->shortest = INFINITY;
	for (size_t i = 0; i < region->instance_count; i++)
		if (region->instances[i].mode == which) {
			lengths[count++] = region->instances[i].length;
			mode->shortest = fmin(mode->shortest, region->instances[i].length);
			mode->longest = fmax(mode->longest, region->instances[i].length);
		}
	mode->instances = count;
	mode->length = median_of(fold, lengths, count, fold->clock == FM_FOLD_REFERENCES ? "references" : "s");
	free(lengths);
	return 0;
}

/* Sums over all of the mode, and by line which is observed most. */
static int sum_up(const struct fm_fold *fold, struct fm_fold_mode *mode, double *by_line)
{
	const struct fm_samples *samples = fold->samples;
	struct fm_served_sum *sum = calloc(1, sizeof(*sum));

	if (!sum)
		return -ENOMEM;
	for (size_t i = 0; i < mode->sample_count; i++) {
		const struct fm_recorded_sample *sample = &samples->recording->samples[mode->samples[i].sample];
		double weight = fm_fold_weight(fold, sample);

		fm_served_add(samples->model, sum, sample, fm_served_bin(samples->model, sample), weight);
		if (!(sample->flags & FM_SAMPLE_LEVEL_ONLY))
			by_line[samples->line_of[sample->code]] += weight;
	}
	mode->references = sum->count;
	fm_served_compute(samples->model, sum, sum, true, &mode->served);
	free(sum);
	return 0;
}

static void note_line(const struct fm_fold *fold, struct fm_fold_region *region, const double *by_line)
{
	double all = 0;

	region->line = FM_FOLD_NONE;
	for (size_t i = 0; i < fold->samples->line_count; i++) {
		all += by_line[i];
		if (by_line[i] > 0 && (region->line < 0 || by_line[i] > by_line[region->line]))
			region->line = (int64_t)i;
	}
	region->line_share = region->line < 0 ? 0 : by_line[region->line] / all;
}

static int fold_region(struct fm_fold *fold, const struct fm_thread_timeline *timeline, struct fm_fold_region *region)
{
	double *lengths, *by_line = calloc(fold->samples->line_count + 1, sizeof(*by_line));
	int32_t *modes;
	int r, count = 0;

	measure_instances(fold, timeline, region);
	lengths = malloc((region->instance_count + 1) * sizeof(*lengths));
	modes = calloc(region->instance_count + 1, sizeof(*modes));
	r = lengths && modes && by_line ? 0 : -ENOMEM;
	for (size_t i = 0; !r && i < region->instance_count; i++)
		lengths[i] = region->instances[i].length;
	if (!r && region->instance_count) {
		count = fm_fold_group(lengths, region->instance_count, modes);
		r = count < 0 ? count : 0;
	}
	if (!r)
		region->length = median_of(fold, lengths, region->instance_count,
		                           fold->clock == FM_FOLD_REFERENCES ? "references" : "s");
	for (size_t i = 0; !r && i < region->instance_count; i++) {
		region->instances[i].mode = modes[i];
		region->set_aside += modes[i] < 0;
		lengths[i] = region->instances[i].ended - region->instances[i].began;
	}
	if (!r) {
		region->seconds = fold->clock == FM_FOLD_REFERENCES
		                      ? fm_figure_unavailable("the engine changes the speed of the program")
		                      : median_of(fold, lengths, region->instance_count, "s");
		region->modes = calloc((size_t)count + 1, sizeof(*region->modes));
		r = region->modes ? 0 : -ENOMEM;
	}
	for (int k = 0; !r && k < count; k++) {
		struct fm_fold_mode *mode = &region->modes[k];

		region->mode_count++;
		r = describe_mode(fold, region, k, mode);
		if (!r)
			r = fold_mode(fold, timeline, region, k, NULL, mode);
		if (!r)
			r = sum_up(fold, mode, by_line);
		if (r)
			break;
		if (mode->sample_count < FM_FOLD_LEAST) {
			snprintf(mode->why, sizeof(mode->why),
			         "%zu samples in %llu instances, %d are needed: record longer or raise --overhead",
			         mode->sample_count, (unsigned long long)mode->instances, FM_FOLD_LEAST);
			continue;
		}
		r = fm_fold_phases(fold, mode);
	}
	if (!r)
		note_line(fold, region, by_line);
	if (!r && !count)
		snprintf(region->why, sizeof(region->why), "no instance has ended, or none has a sample");
	free(lengths);
	free(modes);
	free(by_line);
	return r;
}

static bool is_folded(const struct fm_fold_region *region)
{
	for (size_t i = 0; i < region->mode_count; i++)
		if (!*region->modes[i].why)
			return true;
	return false;
}

static void rest_free(struct fm_fold_mode *rest)
{
	free(rest->samples);
	free(rest->phases);
	memset(rest, 0, sizeof(*rest));
}

static void region_free(struct fm_fold_region *region)
{
	for (size_t i = 0; i < region->mode_count; i++) {
		free(region->modes[i].samples);
		free(region->modes[i].phases);
		free(region->modes[i].rates);
	}
	free(region->modes);
	free(region->instances);
}

/* Without markers, iterations are searched. Those with a single phase are dropped. */
static int fold_found(struct fm_fold *fold, const struct fm_thread_timeline *timeline)
{
	struct fm_fold_region *region = &fold->regions[fold->region_count];
	int r = fm_fold_find_iterations(fold, timeline, region);

	if (r || !region->instance_count)
		return r;
	snprintf(region->name, sizeof(region->name), "iterations");
	region->found = true;
	fold->region_count++;
	r = fold_region(fold, timeline, region);
	if (!r && (!region->mode_count || region->modes[0].phase_count < 2)) {
		region_free(region);
		fold->region_count--;
		memset(region, 0, sizeof(*region));
	}
	return r;
}

/* Samples outside of folded regions */

const struct fm_fold_mode *fm_fold_mode_of(const struct fm_fold *fold, int64_t region, uint32_t mode)
{
	return region < 0 ? &fold->rest : &fold->regions[region].modes[mode];
}

static void mark_folded(const struct fm_fold *fold, const struct fm_thread_timeline *timeline, uint8_t *skip)
{
	size_t begin, end;

	for (size_t i = 0; i < fold->region_count; i++)
		for (size_t k = 0; is_folded(&fold->regions[i]) && k < fold->regions[i].instance_count; k++) {
			find_samples(fold, timeline, &fold->regions[i].instances[k], &begin, &end);
			for (size_t s = begin; s < end; s++)
				skip[timeline->list[s]] = 1;
		}
}

/* The whole run as one instance that each thread has a part in. Threads that wait for others keep their place by the
   clock. */
static int whole_run(const struct fm_fold *fold, struct fm_fold_region *region, struct fm_figure *ret_length)
{
	const struct fm_recording *recording = fold->samples->recording;
	double begin = INFINITY, end = -INFINITY, references = 0;
	int r = 0;

	for (size_t i = 0; i < recording->samples_count; i++) {
		begin = fmin(begin, recording->samples[i].at);
		end = fmax(end, recording->samples[i].at);
		references += fmax((double)recording->sampling.every, 1);
	}
	if (!(end > begin))
		return 0;
	for (size_t i = 0; !r && i < recording->sampled_threads_count; i++) {
		r = add_instance(region, (uint32_t)i, begin, end);
		if (!r) {
			region->instances[i].length = end - begin;
			region->instances[i].mode = 0;
		}
	}
	*ret_length = fold->clock == FM_FOLD_REFERENCES
	                  ? fm_figure_make(references, references, references, "references", FM_ORIGIN_simulated,
	                                   fold->samples->model->backend, 1)
	                  : fm_figure_make(end - begin, end - begin, end - begin, "s", FM_ORIGIN_measured,
	                                   fold->samples->model->backend, 1);
	return r;
}

static int gather_rest(struct fm_fold *fold, const struct fm_thread_timeline *timeline)
{
	const struct fm_samples *samples = fold->samples;
	double *by_line = calloc(samples->line_count + 1, sizeof(*by_line));
	uint8_t *skip = calloc(samples->recording->samples_count + 1, sizeof(*skip));
	struct fm_fold_region run = {0};
	struct fm_fold_mode *rest = &fold->rest;
	int r = by_line && skip ? whole_run(fold, &run, &rest->length) : -ENOMEM;

	if (!r && run.instance_count) {
		mark_folded(fold, timeline, skip);
		r = fold_mode(fold, timeline, &run, 0, skip, rest);
	}
	if (!r && rest->sample_count)
		r = sum_up(fold, rest, by_line);
	if (!r && rest->sample_count) {
		rest->instances = 1;
		note_line(fold, &run, by_line);
		rest->phases = calloc(1, sizeof(*rest->phases));
		r = rest->phases ? 0 : -ENOMEM;
	}
	if (!r && rest->phases) {
		rest->phase_count = 1;
		rest->phases[0] = (struct fm_fold_phase){.end = 1,
		                                         .line = run.line,
		                                         .line_share = run.line_share,
		                                         .seconds = fm_figure_unavailable("it is not folded"),
		                                         .served = rest->served};
	}
	if (rest->sample_count < FM_FOLD_LEAST ||
	    (samples->whole.seconds > 0 && rest->served.seconds < FM_REST_LEAST * samples->whole.seconds))
		rest_free(rest);
	region_free(&run);
	free(by_line);
	free(skip);
	return r;
}

int fm_fold_make(const struct fm_samples *samples, struct fm_fold **ret_fold, struct fm_error *error)
{
	struct fm_fold *fold = calloc(1, sizeof(*fold));
	struct fm_thread_timeline timeline = {0};
	bool any = false;
	int r;

	if (!fold)
		return fm_error_set(error, ENOMEM, "out of memory");
	fold->samples = samples;
	fold->clock = samples->model->simulated ? FM_FOLD_REFERENCES : FM_FOLD_SECONDS;
	r = fm_timeline_make(samples->recording, &timeline);
	if (!r)
		r = collect(fold);
	for (size_t i = 0; !r && i < fold->region_count; i++) {
		r = fold_region(fold, &timeline, &fold->regions[i]);
		any |= is_folded(&fold->regions[i]);
	}
	if (!r && !any) {
		bool marked = fold->region_count > 0;

		r = fold_found(fold, &timeline);
		for (size_t i = 0; !r && i < fold->region_count; i++)
			any |= is_folded(&fold->regions[i]);
		if (!r && !any)
			snprintf(fold->why, sizeof(fold->why), "%s",
			         marked ? "the marked regions have too few samples"
			                : "no region is marked (fathom.h), and no repeating loop was detected");
	}
	fold->gaps = timeline.gap_count;
	if (!r)
		r = gather_rest(fold, &timeline);
	fm_timeline_free(&timeline);
	if (!r)
		r = fm_fold_streams(fold);
	if (!r)
		r = fm_fold_working_sets(fold);
	if (!r)
		r = fm_fold_findings(fold);
	free(fold->rest.samples);
	fold->rest.samples = NULL;
	if (r) {
		fm_fold_free(fold);
		return fm_error_set(error, -r, "cannot fold the samples: %s", strerror(-r));
	}
	*ret_fold = fold;
	return 0;
}

int fm_fold_add_rates(struct fm_fold *fold, struct fm_error *error)
{
	unsigned detailed = 0;
	int r = 0;

	for (size_t i = 0; !r && i < fold->region_count; i++)
		for (size_t k = 0; !r && k < fold->regions[i].mode_count; k++) {
			struct fm_fold_mode *mode = &fold->regions[i].modes[k];

			if (!*mode->why && !mode->rates && detailed++ < FM_FOLD_DETAILED)
				r = fm_fold_rates(fold, mode);
		}
	return r ? fm_error_set(error, -r, "rates are unknown: %s", strerror(-r)) : 0;
}

void fm_fold_free(struct fm_fold *fold)
{
	if (!fold)
		return;
	for (size_t i = 0; i < fold->region_count; i++)
		region_free(&fold->regions[i]);
	free(fold->regions);
	rest_free(&fold->rest);
	free(fold->streams);
	free(fold->working_sets);
	free(fold->findings);
	free(fold);
}
