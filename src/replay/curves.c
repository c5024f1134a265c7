#include "replay/curves.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sysfs.h"
#include "base/index_map.h"
#include "record/window_code.h"
#include "replay/paces.h"
#include "reuse/curve.h"
#include "reuse/window.h"

enum {
	WINDOWS_MOST = 1 << 14, /* that are kept; of more every second one */
	LINE_BYTES = 64,
};

struct kept_window {
	uint32_t file, number, references, bytes, room;
	uint8_t *data;
	double ns; /* that it took in the code cache */
	double period_ns;
	uint32_t watched; /* position + 1 */
	bool has_end;
	struct fm_stream_watched end;
};

struct fm_curves {
	const struct fm_parts *parts;
	struct kept_window *windows;
	size_t count, room;
	struct fm_index_map map; /* by file and number */
	unsigned every;          /* one window in `every` is kept */
	uint64_t seen;
	struct fm_stream_pace *paces;
	size_t pace_count;
};

struct fm_curves *fm_curves_create(const struct fm_parts *parts)
{
	struct fm_curves *curves = calloc(1, sizeof(*curves));

	if (curves) {
		curves->parts = parts;
		curves->every = 1;
	}
	return curves;
}

void fm_curves_free(struct fm_curves *curves)
{
	if (!curves)
		return;
	for (size_t i = 0; i < curves->count; i++)
		free(curves->windows[i].data);
	free(curves->windows);
	free(curves->paces);
	fm_index_map_free(&curves->map);
	free(curves);
}

/* Notes of the runtime */

static struct kept_window *find(struct fm_curves *curves, uint32_t file, uint32_t number)
{
	uint32_t *place = fm_index_map_place(&curves->map, (struct fm_index_key){file, number, 0});

	return place && *place && *place <= curves->count ? &curves->windows[*place - 1] : NULL;
}

/* Drops every second window; the remaining ones represent both. */
static int thin_out(struct fm_curves *curves)
{
	size_t kept = 0;

	fm_index_map_free(&curves->map);
	memset(&curves->map, 0, sizeof(curves->map));
	for (size_t i = 0; i < curves->count; i++) {
		uint32_t *place;

		if (i & 1) {
			free(curves->windows[i].data);
			continue;
		}
		curves->windows[kept++] = curves->windows[i];
		place = fm_index_map_place(
		    &curves->map, (struct fm_index_key){curves->windows[i].file, curves->windows[i].number, 0});
		if (!place)
			return -ENOMEM;
		*place = (uint32_t)kept;
	}
	curves->count = kept;
	curves->every *= 2;
	return 0;
}

static struct kept_window *keep(struct fm_curves *curves, uint32_t file, const struct fm_stream_window *window)
{
	uint32_t *place;
	struct kept_window *kept;

	if (curves->count == WINDOWS_MOST && thin_out(curves))
		return NULL;
	place = fm_index_map_place(&curves->map, (struct fm_index_key){file, window->number, 0});
	if (!place)
		return NULL;
	if (!fm_array_grow(curves->windows, curves->count, curves->room))
		return NULL;
	kept = &curves->windows[curves->count];
	*kept =
	    (struct kept_window){.file = file,
	                         .number = window->number,
	                         .references = window->references,
	                         .room = window->all_bytes,
	                         .period_ns = (double)window->period_ns,
	                         .ns = (double)window->ticks / fm_parts_session(curves->parts)->ticks_per_second * 1e9,
	                         .watched = window->watched};
	kept->data = malloc(window->all_bytes);
	if (!kept->data)
		return NULL;
	*place = (uint32_t)++curves->count;
	return kept;
}

static int add_window(struct fm_curves *curves, const struct fm_part_entry *entry,
                      const struct fm_stream_window *window)
{
	const uint8_t *bytes = (const uint8_t *)entry->body + sizeof(*window);
	struct kept_window *kept;

	if (!window->references || window->references > FM_WINDOW_REFERENCES_MAX ||
	    window->all_bytes > window->references * FM_WINDOW_REFERENCE_BYTES ||
	    window->bytes > entry->size - sizeof(*window) || window->first_byte > window->all_bytes ||
	    window->bytes > window->all_bytes - window->first_byte)
		return 0;
	kept = find(curves, entry->process, window->number);
	if (!window->first_byte) {
		if (kept || curves->seen++ % curves->every)
			return 0;
		kept = keep(curves, entry->process, window);
		if (!kept)
			return -ENOMEM;
	}
	if (!kept || kept->bytes != window->first_byte || kept->room != window->all_bytes ||
	    window->bytes > kept->room - kept->bytes)
		return 0;
	memcpy(kept->data + kept->bytes, bytes, window->bytes);
	kept->bytes += window->bytes;
	return 0;
}

static int add_pace(struct fm_curves *curves, const struct fm_stream_pace *pace)
{
	struct fm_stream_pace *row;

	if (!(pace->gap >= 1) || !(pace->gap < 1e12) || !(pace->ns > 0) || !(pace->ns < 1e12) ||
	    !(pace->variation >= 0) || !isfinite(pace->variation) || !(pace->trap_ns >= 0) || !pace->gaps)
		return 0;
	row = fm_recording_grow((void **)&curves->paces, &curves->pace_count, sizeof(*row));
	if (!row)
		return -ENOMEM;
	*row = *pace;
	return 0;
}

int fm_curves_add(struct fm_curves *curves, const struct fm_part_entry *entry)
{
	/* a copy: the program may go on writing */
	union {
		struct fm_stream_window window;
		struct fm_stream_watched watched;
		struct fm_stream_pace pace;
	} body = {0};
	struct kept_window *kept;

	memcpy(&body, entry->body, entry->size < sizeof(body) ? entry->size : sizeof(body));
	switch (entry->kind) {
	case FM_STREAM_WINDOW:
		return add_window(curves, entry, &body.window);
	case FM_STREAM_PACE:
		return add_pace(curves, &body.pace);
	case FM_STREAM_WATCHED:
		kept = find(curves, entry->process, body.watched.window);
		if (kept && !kept->has_end && kept->watched && kept->watched == body.watched.position + 1) {
			kept->has_end = true;
			kept->end = body.watched;
		}
		return 0;
	default:
		return 0;
	}
}

/* The clock */

struct pace {
	double value, error; /* references per ns; relative standard error */
	uint64_t count;
};

/* Native time of a window. */
static double native_ns(const struct kept_window *window)
{
	double each = window->ns / window->references;

	return window->references *
	       fmin(fmax(fmax(each - FM_PACE_LOGGING_NS, each / 4), FM_PACE_FASTEST_NS), FM_PACE_SLOWEST_NS);
}

static struct pace guess_pace(const struct fm_curves *curves)
{
	double references = 0, ns = 0;

	for (size_t i = 0; i < curves->count; i++) {
		references += curves->windows[i].references;
		ns += native_ns(&curves->windows[i]);
	}
	return (struct pace){.value = ns > 0 ? references / ns : 1, .error = FM_PACE_GUESS_ERROR};
}

/* Logarithms of references per ns, the better ones counting more. */
struct pace_sum {
	double values, weights, squares;
	size_t count;
};

static void add_to(struct pace_sum *sum, double value, double error)
{
	double weight = 1 / (error * error);

	sum->values += weight * log(value);
	sum->squares += weight * log(value) * log(value);
	sum->weights += weight;
	sum->count++;
}

static double mean_of(const struct pace_sum *sum)
{
	return sum->values / sum->weights;
}

/* The expected error of each, or their spread, if that is larger. */
static double error_of(const struct pace_sum *sum)
{
	double mean = mean_of(sum), spread = sum->squares - sum->weights * mean * mean;

	spread = sum->count > 1 ? spread / (double)(sum->count - 1) : 1;
	return sqrt(fmax(spread, 1) / sum->weights);
}

/* They were measured at random times. Those in the code cache are all wrong in the same way, however many they are:
   fast code is slowed down by logging, and by its branches. */
static struct pace choose_pace(const struct fm_curves *curves)
{
	struct pace_sum native = {0}, cached = {0}, all = {0};
	double each;

	for (size_t i = 0; i < curves->pace_count; i++) {
		const struct fm_stream_pace *pace = &curves->paces[i];
		double variation = fmax(pace->variation, FM_PACE_VARIATION_LEAST);

		if (pace->intervals)
			add_to(&native, pace->gap / pace->ns,
			       hypot(hypot(variation / sqrt(pace->gaps), variation / sqrt(pace->intervals)),
			             FM_PACE_TRAP_ERROR * pace->trap_ns / pace->ns));
		else
			add_to(&cached, pace->gap / pace->ns, 1);
	}
	if (!native.count && !cached.count)
		return guess_pace(curves);
	if (native.count)
		add_to(&all, exp(mean_of(&native)), hypot(error_of(&native), FM_PACE_COMMON_ERROR));
	if (cached.count) {
		each = exp(-mean_of(&cached));
		/* misses overlap less there, too: anything from not at all to twice as slow */
		add_to(&all, FM_PACE_OVERLAP / fmax(each - FM_PACE_LOGGING_NS, each / 4),
		       FM_PACE_CACHED_ERROR + 2 / each);
	}
	return (struct pace){
	    .value = exp(mean_of(&all)), .error = error_of(&all), .count = native.count + cached.count};
}

/* The curve */

/* References that a window represents, divided by its own, with a mean of 1. */
static int weigh(const struct fm_curves *curves, double **ret_weights)
{
	double *weights = calloc(curves->count + 1, sizeof(*weights)), sum = 0;
	size_t count = 0;

	if (!weights)
		return -ENOMEM;
	for (size_t i = 0; i < curves->count; i++) {
		const struct kept_window *window = &curves->windows[i];
		double ns = native_ns(window);

		if (window->bytes != window->room || !(ns > 0) || !(window->period_ns > 0))
			continue;
		weights[i] = window->period_ns / ns;
		sum += weights[i];
		count++;
	}
	for (size_t i = 0; i < curves->count; i++)
		weights[i] *= sum > 0 ? (double)count / sum : 0;
	*ret_weights = weights;
	return 0;
}

/* The line that was watched after a window. */
static int add_watched(const struct kept_window *window, const struct fm_window *known, const struct pace *pace,
                       uint32_t cluster, struct fm_times *times, struct fm_recorded_curve *row)
{
	const struct fm_stream_watched *end = &window->end;
	uint32_t position = window->watched - 1;
	struct fm_reuse reuse = {.cluster = cluster, .censored = end->end != FM_WATCH_REUSED};

	if (!window->watched || !window->has_end || end->end >= FM_WATCH_LOST || position >= known->count ||
	    known->next[position] || known->count - 1 - position < known->horizon || !(end->share > 0) ||
	    end->share > 1)
		return 0;
	reuse.entered = known->count - 1 - position;
	reuse.distance = known->distances[position];
	reuse.weight = (known->weight > 0 ? known->weight : 1) * known->survivor_count;
	/* A visit is observed with that probability only. Otherwise the next one seems later by the same factor, if
	   visits are independent. */
	reuse.time = end->end == FM_WATCH_ENDED
	                 ? INFINITY
	                 : reuse.entered + 1 + end->share * (pace->value * (double)end->ns + (double)end->burst);
	row->watched++;
	row->reused += !reuse.censored;
	return fm_times_add(times, &reuse) == -ENOMEM ? -ENOMEM : 0;
}

static int add_windows(const struct fm_curves *curves, const struct pace *pace, struct fm_times *times,
                       struct fm_recorded_curve *row)
{
	uint64_t *lines = malloc(FM_WINDOW_REFERENCES_MAX * sizeof(*lines));
	struct fm_window known = {0};
	double *weights = NULL;
	int r = lines ? weigh(curves, &weights) : -ENOMEM;

	for (size_t i = 0; i < curves->count && !r; i++) {
		const struct kept_window *window = &curves->windows[i];
		uint32_t cluster = (uint32_t)row->windows;

		if (!(weights[i] > 0) || fm_window_decode(window->data, window->bytes, lines, window->references))
			continue;
		known.weight = weights[i];
		r = fm_window_add(&known, lines, NULL, window->references, fm_window_horizon(window->references),
		                  cluster, times);
		if (!r)
			r = add_watched(window, &known, pace, cluster, times, row);
		row->windows++;
		row->references += window->references;
	}
	fm_window_free(&known);
	free(weights);
	free(lines);
	return r;
}

static void describe(const struct fm_curves *curves, struct fm_recorded_curve *row)
{
	int error = 0;

	for (size_t i = 0; i < fm_parts_process_count(curves->parts) && !error; i++)
		error = fm_parts_process(curves->parts, i)->head.watch_error;
	if (!row->watched)
		snprintf(row->remark, sizeof(row->remark),
		         "nothing is known of reuses that come later than a window of some thousand references%s%s%s",
		         error ? ": lines could not be watched (" : "",
		         error ? strerror(error < 0 && error > -4096 ? -error : error) : "", error ? ")" : "");
	else if (!row->paces)
		snprintf(row->remark, sizeof(row->remark),
		         "the program's references per second are a guess, and so are large sizes");
}

int fm_curves_write_caches(struct fm_recording *recording)
{
	for (unsigned index = 0; index < 8; index++) {
		struct fm_recorded_cache *row;
		long long level, size;
		char type[32], unit[32] = "";

		if (fm_sysfs_read_number(&level, "devices/system/cpu/cpu0/cache/index%u/level", index) ||
		    fm_sysfs_read_number(&size, "devices/system/cpu/cpu0/cache/index%u/size", index) ||
		    fm_sysfs_read_line(unit, sizeof(unit), "devices/system/cpu/cpu0/cache/index%u/size", index) ||
		    fm_sysfs_read_line(type, sizeof(type), "devices/system/cpu/cpu0/cache/index%u/type", index) ||
		    !strcmp(type, "Instruction") || size <= 0 || level < 1 || level > 9)
			continue;
		row = fm_recording_add(recording, caches);
		if (!row)
			return -ENOMEM;
		snprintf(row->name, sizeof(row->name), "L%lld", level);
		row->bytes = (double)size * (strchr(unit, 'M') ? 1048576 : strchr(unit, 'K') ? 1024 : 1);
	}
	return 0;
}

int fm_curves_finish(struct fm_curves *curves, struct fm_recording *recording)
{
	struct fm_recorded_curve row = {.windows = 0};
	struct fm_times times = {0};
	struct fm_random random;
	struct fm_miss_curve curve;
	struct pace pace;
	int r;

	if (!curves->count)
		return 0;
	pace = choose_pace(curves);
	r = add_windows(curves, &pace, &times, &row);
	if (!r && row.windows >= FM_RECORDED_WINDOWS_LEAST) {
		fm_random_seed(&random, 1);
		r = fm_miss_estimate(&times,
		                     &(struct fm_miss_options){.line_bytes = LINE_BYTES,
		                                               .clock_error = row.watched ? pace.error : 0,
		                                               .random = &random},
		                     &curve, NULL);
		if (!r) {
			row.pace = pace.value;
			row.paces = pace.count;
			row.clock_error = curve.clock_error;
			row.largest_bytes = isfinite(curve.largest_bytes) ? curve.largest_bytes : 0;
			describe(curves, &row);
			r = fm_curve_write(&curve, &row, 1, recording);
		}
	}
	fm_times_free(&times);
	return r == -ENODATA ? 0 : r;
}
