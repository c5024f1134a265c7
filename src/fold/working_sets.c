/* The part of an object that one instance touches: at most the range of its addresses; at least the lines that make so
   few samples meet in one likely. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fold/parts.h"
#include "fold/streams.h"
#include "fold/thresholds.h"
#include "profile/profile.h"

enum { OBJECTS_MAX = 32, LEAST = 8, LINE = 64, LOOKED_AT = 1 << 16 };

struct touched {
	uint64_t *lines;
	size_t count, seen;
	uint64_t lowest, highest;
};

static int by_number(const void *first, const void *second)
{
	uint64_t a = *(const uint64_t *)first, b = *(const uint64_t *)second;

	return (a > b) - (a < b);
}

static bool is_read_in_order(const struct fm_fold *fold, int64_t region, uint32_t mode, size_t object)
{
	for (size_t i = 0; i < fold->stream_count; i++) {
		const struct fm_stream *stream = &fold->streams[i];

		if (stream->object == object && stream->region == region && stream->mode == mode &&
		    (stream->direction == FM_DIRECTION_UP || stream->direction == FM_DIRECTION_DOWN))
			return true;
	}
	return false;
}

static struct fm_figure bytes_of(const struct fm_fold *fold, struct touched *touched, bool in_order)
{
	double count = (double)touched->count, range = (double)(touched->highest - touched->lowest), pairs = 0, least;

	range = range < LINE ? LINE : range * (count + 1) / (count - 1);
	qsort(touched->lines, touched->count, sizeof(*touched->lines), by_number);
	for (size_t i = 0, next; i < touched->count; i = next) {
		for (next = i; next < touched->count && touched->lines[next] == touched->lines[i]; next++)
			;
		pairs += 0.5 * (double)(next - i) * (double)(next - i - 1);
	}
	/* of N lines that are used as often, two samples meet in one with chance 1 / N; Poisson's upper limit */
	least = LINE * 0.5 * count * (count - 1) / (pairs + 1.96 * sqrt(pairs + 1) + 1.92);
	least = fmin(in_order ? FM_RANGE_SEEN * range : least, range);
	return fm_figure_make(
	    in_order || !(pairs > 0) ? range : fmin(fmax(LINE * 0.5 * count * (count - 1) / pairs, least), range),
	    least, range, "B", FM_ORIGIN_sampled, fold->samples->model->backend, (unsigned)touched->count);
}

bool fm_fold_cache(const struct fm_recording *recording, size_t index, char *name, size_t size, double *ret_bytes)
{
	const struct fm_machine *profile = recording->profile;

	if (recording->has_machine) {
		if (index >= recording->machine.cache_count)
			return false;
		snprintf(name, size, "L%zu", index + 1);
		*ret_bytes = (double)recording->machine.caches[index].bytes;
		return true;
	}
	/* a program can use less of a shared cache than its advertised size */
	if (!profile) {
		if (index >= recording->caches_count)
			return false;
		snprintf(name, size, "%s", recording->caches[index].name);
		*ret_bytes = recording->caches[index].bytes;
		return true;
	}
	if (index >= profile->level_count || !profile->levels[index].advertised_bytes)
		return false;
	snprintf(name, size, "%s", profile->levels[index].name);
	*ret_bytes = profile->levels[index].effective_bytes.available ? profile->levels[index].effective_bytes.value
	                                                              : (double)profile->levels[index].advertised_bytes;
	return true;
}

static void compare_caches(const struct fm_recording *recording, struct fm_working_set *set)
{
	char name[sizeof(set->fits)];
	size_t count = 0;
	double bytes;

	for (; fm_fold_cache(recording, count, name, sizeof(name), &bytes); count++) {
		if (set->bytes.high <= bytes && !*set->fits)
			snprintf(set->fits, sizeof(set->fits), "%s", name);
		if (set->bytes.low > bytes)
			snprintf(set->exceeds, sizeof(set->exceeds), "%s", name);
	}
	if (count && !*set->fits)
		snprintf(set->fits, sizeof(set->fits), "memory");
}

/* Bytes through an object in an instance, over the time of an instance. */
static struct fm_figure bandwidth_of(const struct fm_fold *fold, const struct fm_working_set *set)
{
	const struct fm_figure *length = &fm_fold_mode_of(fold, set->region, set->mode)->length;
	struct fm_figure sum = fm_figure_make(0, 0, 0, "GB/s", FM_ORIGIN_sampled, fold->samples->model->backend, 0);

	for (size_t i = 0; i < fold->stream_count; i++) {
		const struct fm_stream *stream = &fold->streams[i];

		if (stream->region != set->region || stream->mode != set->mode ||
		    (set->object >= 0 && stream->object != (uint32_t)set->object))
			continue;
		if (!stream->gbs.available)
			return fm_figure_unavailable("%s", stream->gbs.why);
		sum.value += stream->moved.value / length->value / 1e9;
		sum.low += stream->moved.low / length->high / 1e9;
		sum.high += stream->moved.high / fmax(length->low, length->value / 2) / 1e9;
		sum.trials += stream->moved.trials;
	}
	return sum.trials ? sum : fm_figure_unavailable("too few samples for its access order");
}

static int add_set(struct fm_fold *fold, int64_t region, uint32_t mode, int64_t object, const struct fm_figure *bytes)
{
	struct fm_working_set *set =
	    fm_recording_grow((void **)&fold->working_sets, &fold->working_set_count, sizeof(*set));

	if (!set)
		return -ENOMEM;
	*set = (struct fm_working_set){.region = region, .mode = mode, .object = object, .bytes = *bytes};
	compare_caches(fold->samples->recording, set);
	set->gbs = bandwidth_of(fold, set);
	return 0;
}

static int sets_of_mode(struct fm_fold *fold, int64_t region, uint32_t which)
{
	const struct fm_fold_mode *mode = fm_fold_mode_of(fold, region, which);
	size_t objects = fold->samples->object_count < OBJECTS_MAX ? fold->samples->object_count : OBJECTS_MAX;
	size_t each = mode->sample_count / LOOKED_AT + 1, room = mode->sample_count / each + 1;
	struct touched *touched = calloc(objects + 1, sizeof(*touched));
	struct fm_figure sum = fm_figure_make(0, 0, 0, "B", FM_ORIGIN_sampled, fold->samples->model->backend, 0);
	int r = touched ? 0 : -ENOMEM;

	/* each list is as long as its object needs: counted first */
	for (int turn = 0; !r && turn < 2; turn++) {
		for (size_t i = 0, taken = 0; i < mode->sample_count && taken < room; i += each, taken++) {
			struct fm_folded_sample sample = fm_fold_sample(fold, mode, &mode->samples[i]);
			struct touched *object;

			if (!sample.relative || sample.object < 0 || (size_t)sample.object >= objects)
				continue;
			object = &touched[sample.object];
			if (turn == 0) {
				object->seen++;
				continue;
			}
			if (!object->count || sample.address < object->lowest)
				object->lowest = sample.address;
			if (sample.address + sample.bytes > object->highest)
				object->highest = sample.address + sample.bytes;
			object->lines[object->count++] = sample.address / LINE;
		}
		for (size_t i = 0; !r && turn == 0 && i < objects; i++) {
			touched[i].lines = malloc((touched[i].seen + 1) * sizeof(uint64_t));
			r = touched[i].lines ? 0 : -ENOMEM;
		}
	}
	for (size_t i = 0; !r && i < objects; i++) {
		struct fm_figure bytes;

		if (touched[i].count < LEAST)
			continue;
		bytes = bytes_of(fold, &touched[i], is_read_in_order(fold, region, which, i));
		sum.value += bytes.value;
		sum.low += bytes.low;
		sum.high += bytes.high;
		sum.trials += bytes.trials;
		r = add_set(fold, region, which, (int64_t)i, &bytes);
	}
	if (!r && sum.value > 0)
		r = add_set(fold, region, which, FM_FOLD_NONE, &sum);
	for (size_t i = 0; touched && i < objects; i++)
		free(touched[i].lines);
	free(touched);
	return r;
}

int fm_fold_working_sets(struct fm_fold *fold)
{
	int r = 0;

	for (size_t i = 0; !r && i < fold->region_count; i++)
		for (size_t k = 0; !r && k < fold->regions[i].mode_count; k++)
			if (!*fold->regions[i].modes[k].why)
				r = sets_of_mode(fold, (int64_t)i, (uint32_t)k);
	/* code between folded regions runs once: a single pass has no working set */
	if (!r && *fold->why && fold->rest.sample_count)
		r = sets_of_mode(fold, FM_FOLD_NONE, 0);
	return r;
}
