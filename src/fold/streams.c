#include "fold/streams.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "fold/order.h"
#include "fold/parts.h"
#include "fold/thresholds.h"
#include "samples/names.h"

enum { STREAMS_MAX = 64, MODES_MAX = 16, LINE = 64, FIRST_CACHE = 32768 };

const char *fm_direction_name(enum fm_direction direction)
{
	static const char *const names[FM_DIRECTION_COUNT] = {
	    [FM_DIRECTION_INCONCLUSIVE] = "inconclusive",
	    [FM_DIRECTION_UP] = "up",
	    [FM_DIRECTION_DOWN] = "down",
	    [FM_DIRECTION_RANDOM] = "random",
	    [FM_DIRECTION_STRIDED] = "strided",
	    [FM_DIRECTION_FIXED] = "fixed",
	};

	return names[direction];
}

/* Samples of a mode by stream: those of stream s are list[begin[s]] … list[begin[s + 1] - 1]. */
struct key {
	uint32_t object, line, phase;
};

struct sorted {
	uint32_t *list; /* indexes of the mode's samples */
	size_t *begin;
	struct key *keys;
	size_t count, taken;
	double each; /* samples of the mode for each one taken */
};

static void sorted_free(struct sorted *sorted)
{
	free(sorted->list);
	free(sorted->begin);
	free(sorted->keys);
}

/* The phases of each line. Instances vary: a sample of a line just outside its phase belongs to it as well. */
static int find_homes(const struct fm_fold *fold, const struct fm_fold_mode *mode, bool **ret_homes)
{
	const struct fm_samples *samples = fold->samples;
	size_t lines = samples->line_count;
	uint32_t *counts = calloc(mode->phase_count * lines + 1, sizeof(*counts));
	bool *homes = calloc(mode->phase_count * lines + 1, sizeof(*homes));

	if (!counts || !homes) {
		free(counts);
		free(homes);
		return -ENOMEM;
	}
	for (size_t i = 0; i < mode->sample_count; i++)
		counts[fm_fold_phase_at(mode, mode->samples[i].place) * lines +
		       samples->line_of[samples->recording->samples[mode->samples[i].sample].code]]++;
	for (size_t l = 0; l < lines; l++) {
		uint32_t most = 0;

		for (size_t p = 0; p < mode->phase_count; p++)
			most = counts[p * lines + l] > most ? counts[p * lines + l] : most;
		for (size_t p = 0; p < mode->phase_count; p++)
			homes[p * lines + l] = 4 * counts[p * lines + l] >= most;
	}
	free(counts);
	*ret_homes = homes;
	return 0;
}

static size_t home_of(const struct fm_fold *fold, const struct fm_fold_mode *mode, const bool *homes, double place,
                      size_t line)
{
	size_t phase = fm_fold_phase_at(mode, place), lines = fold->samples->line_count;
	double middle = (mode->phases[phase].begin + mode->phases[phase].end) / 2;
	bool before = phase && homes[(phase - 1) * lines + line],
	     after = phase + 1 < mode->phase_count && homes[(phase + 1) * lines + line];

	if (homes[phase * lines + line] || (!before && !after))
		return phase;
	return before && (!after || place < middle) ? phase - 1 : phase + 1;
}

/* Those of objects that have a beginning. Of very many samples a random choice. */
static int sort_samples(const struct fm_fold *fold, const struct fm_fold_mode *mode, struct sorted *sorted)
{
	size_t each = mode->sample_count / FM_FOLD_LOOKED_AT + 1, room = mode->sample_count / each + 1, next;
	uint32_t *chosen = malloc(room * sizeof(*chosen)), *number = malloc(room * sizeof(*number));
	struct fm_names names = {0};
	struct fm_random random;
	bool *homes = NULL;
	int r = chosen && number ? find_homes(fold, mode, &homes) : -ENOMEM;

	*sorted = (struct sorted){.each = (double)each};
	fm_random_seed(&random, 1);
	for (size_t i = 0; !r && i < mode->sample_count; i = next) {
		size_t rest = mode->sample_count - i < each ? mode->sample_count - i : each;
		size_t pick = i + (each > 1 ? fm_random_below(&random, rest) : 0);
		struct fm_folded_sample sample = fm_fold_sample(fold, mode, &mode->samples[pick]);
		struct key key = {(uint32_t)sample.object, (uint32_t)sample.line, 0};

		next = i + each;
		if (!sample.relative || sample.object < 0 || sample.line < 0)
			continue;
		key.phase = (uint32_t)home_of(fold, mode, homes, sample.place, (size_t)sample.line);
		r = fm_names_find_bytes(&names, &key, sizeof(key), &number[sorted->taken]);
		if (!r && number[sorted->taken] == sorted->count) {
			struct key *place = fm_recording_grow((void **)&sorted->keys, &sorted->count, sizeof(*place));

			if (place)
				*place = key;
			else
				r = -ENOMEM;
		}
		chosen[sorted->taken++] = (uint32_t)pick;
	}
	fm_names_free(&names);
	sorted->list = malloc((sorted->taken + 1) * sizeof(*sorted->list));
	sorted->begin = calloc(sorted->count + 3, sizeof(*sorted->begin));
	if (!sorted->list || !sorted->begin)
		r = -ENOMEM;
	for (size_t i = 0; !r && i < sorted->taken; i++)
		sorted->begin[number[i] + 2]++;
	for (size_t i = 2; !r && i < sorted->count + 3; i++)
		sorted->begin[i] += sorted->begin[i - 1];
	for (size_t i = 0; !r && i < sorted->taken; i++)
		sorted->list[sorted->begin[number[i] + 1]++] = chosen[i];
	free(chosen);
	free(number);
	free(homes);
	return r;
}

static double first_cache(const struct fm_recording *recording)
{
	char name[16];
	double bytes;

	return fm_fold_cache(recording, 0, name, sizeof(name), &bytes) ? bytes : FIRST_CACHE;
}

static int take_points(const struct fm_fold *fold, const struct fm_fold_mode *mode, const struct sorted *sorted,
                       size_t which, struct fm_order_point **ret_points, struct fm_served_sum *sum)
{
	const struct fm_recording *recording = fold->samples->recording;
	size_t count = sorted->begin[which + 1] - sorted->begin[which];
	struct fm_order_point *points = calloc(count + 1, sizeof(*points));

	if (!points)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct fm_folded *folded = &mode->samples[sorted->list[sorted->begin[which] + i]];
		const struct fm_recorded_sample *sample = &recording->samples[folded->sample];

		points[i] = (struct fm_order_point){.place = folded->place,
		                                    .code = sample->code,
		                                    .thread = sample->thread,
		                                    .bytes = sample->size,
		                                    .load = sample->kind & FM_SAMPLE_LOAD,
		                                    .store = sample->kind & FM_SAMPLE_STORE};
		fm_fold_relative(recording, sample, &points[i].address);
		fm_served_add(fold->samples->model, sum, sample, fm_served_bin(fold->samples->model, sample),
		              fm_fold_weight(fold, sample));
	}
	*ret_points = points;
	return 0;
}

/* The largest number of passes through a range in one instance. */
static double most_passes(const struct fm_fold *fold, const struct fm_fold_mode *mode, const struct key *key,
                          double samples, double range)
{
	const struct fm_fold_phase *phase = &mode->phases[key->phase];
	double every = fmax((double)fold->samples->recording->sampling.every, 1);

	if (!(range > 0))
		return INFINITY;
	if (fold->clock == FM_FOLD_REFERENCES)
		return samples * every / (double)mode->instances * LINE / range;
	return (phase->end - phase->begin) * mode->length.value * FM_THREAD_FASTEST / range;
}

/* The samples of an object cover nearly all of its used part. The outermost addresses give the lower bound. */
static struct fm_figure coverage_of(const struct fm_fold *fold, const struct fm_stream *stream, size_t count)
{
	const struct fm_sampled_object *object = &fold->samples->objects[stream->object];
	double seen = (double)(stream->highest - stream->lowest), bytes = (double)object->bytes;

	if (!(bytes > 0))
		return fm_figure_unavailable("the size of the object is unknown");
	if (count < FM_POINTS_LEAST)
		return fm_figure_unavailable("%zu samples are too few", count);
	return fm_figure_make(fmin(fm_order_range(stream, count) / bytes, 1), fmin(seen / bytes, 1),
	                      fmin(seen / bytes / pow(0.05, 1 / (double)(count - 1)), 1), "", FM_ORIGIN_sampled,
	                      fold->samples->model->backend, (unsigned)count);
}

static bool in_order(const struct fm_stream *stream)
{
	return stream->direction == FM_DIRECTION_UP || stream->direction == FM_DIRECTION_DOWN ||
	       stream->direction == FM_DIRECTION_STRIDED;
}

/* Of the range that it goes through, in lines. */
static double bytes_of_pass(const struct fm_stream *stream, size_t count)
{
	double stride = stream->stride_bytes.available ? stream->stride_bytes.value : 1;

	return fm_order_range(stream, count) * fmin(1, LINE / fmax(stride, 1));
}

/* In one instance. A pass covers at least the sampled range; coverage_of() estimates the rest. */
static struct fm_figure moved_by(const struct fm_stream *stream, size_t count)
{
	double bytes = bytes_of_pass(stream, count);
	struct fm_figure moved = fm_figure_scaled(&stream->passes, bytes, "B");

	if (stream->coverage.available) {
		moved.low *= stream->coverage.low / stream->coverage.value;
		moved.high *= stream->coverage.high / stream->coverage.value;
	}
	return moved;
}

static struct fm_figure bandwidth_of(const struct fm_fold *fold, const struct fm_fold_mode *mode,
                                     const struct fm_stream *stream, size_t count)
{
	double span = stream->end - stream->begin, bytes = bytes_of_pass(stream, count);
	double seconds, error;
	struct fm_figure figure;

	if (fold->clock == FM_FOLD_REFERENCES)
		return fm_figure_unavailable("the engine changes the speed of the program");
	if (!stream->passes.available && in_order(stream))
		return fm_figure_unavailable("the number of passes through the object is unknown");
	if (!stream->passes.available)
		return fm_figure_unavailable("only streams in order have a bandwidth: the number of references between "
		                             "samples is unknown");
	/* the outermost places are known as well as the outermost addresses */
	error = 2 / (double)count;
	span *= (double)(count + 1) / (double)(count - 1);
	seconds = span * mode->length.value;
	if (!(seconds > 0))
		return fm_figure_unavailable("it takes no time");
	figure = fm_figure_scaled(&stream->passes, bytes / seconds / 1e9, "GB/s");
	figure.low *= (1 - error) * mode->length.value / mode->length.high;
	figure.high *= (1 + error) * mode->length.value / fmax(mode->length.low, mode->length.value / 2);
	snprintf(figure.backend, sizeof(figure.backend), "%s", fold->samples->model->backend);
	return figure;
}

/* If a line passes through its object too often for places, the distances between consecutive samples may show the
   order. */
static void judge_by_time(const struct fm_sampled_line *line, struct fm_stream *stream)
{
	const struct fm_pattern_verdict *verdict = &line->pattern;

	if (stream->direction != FM_DIRECTION_INCONCLUSIVE || line->object != stream->object)
		return;
	if (verdict->pattern == FM_PATTERN_RANDOM)
		stream->direction = FM_DIRECTION_RANDOM;
	else if (verdict->pattern == FM_PATTERN_ADVANCES && verdict->speed != 0)
		stream->direction = verdict->speed < 0 ? FM_DIRECTION_DOWN : FM_DIRECTION_UP;
	stream->falling = stream->direction == FM_DIRECTION_DOWN;
	stream->confidence = stream->direction == FM_DIRECTION_INCONCLUSIVE ? 0 : verdict->confidence;
	snprintf(stream->reason, sizeof(stream->reason), "%s", verdict->reason);
	if (stream->field_count && stream->direction != FM_DIRECTION_RANDOM &&
	    stream->direction != FM_DIRECTION_INCONCLUSIVE)
		stream->direction = FM_DIRECTION_STRIDED;
}

static int make_stream(const struct fm_fold *fold, const struct fm_fold_mode *mode, const struct sorted *sorted,
                       size_t which, const struct fm_served_sum *whole, struct fm_stream *stream)
{
	const struct key *key = &sorted->keys[which];
	size_t count = sorted->begin[which + 1] - sorted->begin[which];
	struct fm_served_sum *sum = calloc(1, sizeof(*sum));
	struct fm_order_point *points = NULL;
	struct fm_order_hints hints = {.first_bytes = first_cache(fold->samples->recording), .first_high = 1};
	uint64_t lowest = UINT64_MAX, highest = 0;
	int r = sum ? take_points(fold, mode, sorted, which, &points, sum) : -ENOMEM;

	if (r) {
		free(sum);
		return r;
	}
	for (size_t i = 0; i < count; i++) {
		lowest = points[i].address < lowest ? points[i].address : lowest;
		highest = points[i].address > highest ? points[i].address : highest;
	}
	stream->object = key->object;
	stream->line = key->line;
	stream->phase = key->phase;
	fm_served_compute(fold->samples->model, sum, whole, true, &stream->served);
	if (stream->served.levels[0].available) {
		hints.first_low = stream->served.levels[0].low;
		hints.first_high = stream->served.levels[0].high;
	}
	/* of the whole run more is known than how its places fit: samples that follow each other */
	if (stream->region < 0)
		hints.first_high = 1;
	hints.most_passes = most_passes(fold, mode, key, (double)count * sorted->each, (double)(highest - lowest));
	r = fm_order_judge(points, count, &hints, stream);
	if (!r && stream->region < 0)
		judge_by_time(&fold->samples->lines[stream->line], stream);
	if (!r) {
		stream->coverage = coverage_of(fold, stream, count);
		stream->gbs = bandwidth_of(fold, mode, stream, count);
		if (stream->gbs.available)
			stream->moved = moved_by(stream, count);
	}
	free(points);
	free(sum);
	return r;
}

/* Together */

/* At the same time, and each as far through its object as the other. */
static bool advance_together(const struct fm_stream *a, const struct fm_stream *b)
{
	double shared = fmin(a->end, b->end) - fmax(a->begin, b->begin);

	return in_order(a) && in_order(b) && a->passes.available && b->passes.available && a->phase == b->phase &&
	       a->falling == b->falling && shared > FM_STREAMS_BESIDE * fmax(a->end - a->begin, b->end - b->begin) &&
	       fabs(a->passes.value - b->passes.value) <=
	           fmax(FM_SAME_PASSES * a->passes.value,
	                (a->passes.high - a->passes.low + b->passes.high - b->passes.low) / 2);
}

static void group_streams(struct fm_stream *streams, size_t count, unsigned *last)
{
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < i; k++)
			if (streams[k].object != streams[i].object && advance_together(&streams[k], &streams[i])) {
				if (!streams[k].together)
					streams[k].together = ++*last;
				streams[i].together = streams[k].together;
				break;
			}
}

struct heavy {
	uint32_t stream;
	size_t samples;
};

static int by_samples(const void *first, const void *second)
{
	const struct heavy *a = first, *b = second;

	if (a->samples != b->samples)
		return a->samples > b->samples ? -1 : 1;
	return (a->stream > b->stream) - (a->stream < b->stream);
}

static int streams_of_mode(struct fm_fold *fold, int64_t region, uint32_t which, unsigned *together)
{
	const struct fm_fold_mode *mode = fm_fold_mode_of(fold, region, which);
	struct fm_served_sum *whole = calloc(1, sizeof(*whole));
	struct sorted sorted = {0};
	struct heavy *heavy = NULL;
	size_t first = fold->stream_count;
	int r = whole ? sort_samples(fold, mode, &sorted) : -ENOMEM;

	if (!r)
		heavy = malloc((sorted.count + 1) * sizeof(*heavy));
	if (!r && !heavy)
		r = -ENOMEM;
	/* shares are of the weight of all references of the mode, also with a selection */
	for (size_t i = 0; !r && i < mode->sample_count; i += (size_t)sorted.each) {
		const struct fm_recorded_sample *sample = &fold->samples->recording->samples[mode->samples[i].sample];

		fm_served_add(fold->samples->model, whole, sample, fm_served_bin(fold->samples->model, sample),
		              fm_fold_weight(fold, sample));
	}
	for (size_t i = 0; !r && i < sorted.count; i++)
		heavy[i] = (struct heavy){(uint32_t)i, sorted.begin[i + 1] - sorted.begin[i]};
	if (!r && sorted.count)
		qsort(heavy, sorted.count, sizeof(*heavy), by_samples);
	for (size_t i = 0; !r && i < sorted.count && i < STREAMS_MAX && heavy[i].samples >= FM_POINTS_LEAST; i++) {
		struct fm_stream *stream =
		    fm_recording_grow((void **)&fold->streams, &fold->stream_count, sizeof(*stream));

		if (!stream) {
			r = -ENOMEM;
			break;
		}
		stream->region = region;
		stream->mode = which;
		r = make_stream(fold, mode, &sorted, heavy[i].stream, whole, stream);
	}
	if (!r && fold->stream_count > first)
		group_streams(fold->streams + first, fold->stream_count - first, together);
	free(whole);
	free(heavy);
	sorted_free(&sorted);
	return r;
}

int fm_fold_streams(struct fm_fold *fold)
{
	unsigned modes = 0, together = 0;
	int r = 0;

	for (size_t i = 0; !r && i < fold->region_count; i++)
		for (size_t k = 0; !r && k < fold->regions[i].mode_count; k++)
			if (!*fold->regions[i].modes[k].why && modes++ < MODES_MAX)
				r = streams_of_mode(fold, (int64_t)i, (uint32_t)k, &together);
	if (!r && fold->rest.sample_count)
		r = streams_of_mode(fold, FM_FOLD_NONE, 0, &together);
	return r;
}
