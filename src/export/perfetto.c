/* A Perfetto trace (https://ui.perfetto.dev): packets of Protocol Buffers with interned names. Threads are tracks,
 * marked regions are slices, samples and allocations are instants. Counters show the levels of the samples over time.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "export/exporter.h"
#include "export/lanes.h"
#include "export/timeline.h"
#include "export/wire.h"

/* Numbers of fields, by message */
enum { TRACE_PACKET = 1 };
enum {
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_EVENT = 11,
	PACKET_INTERNED = 12,
	PACKET_FLAGS = 13,
	PACKET_TRACK = 60,
};
enum { FLAG_CLEARED = 1, FLAG_NEEDS = 2 };
enum { INTERNED_CATEGORY = 1, INTERNED_NAME = 2, INTERNED_ANNOTATION = 3, INTERNED_LOCATION = 4, INTERNED_STRING = 29 };
enum { NAME_ID = 1, NAME_TEXT = 2 };
enum { LOCATION_ID = 1, LOCATION_FILE = 2, LOCATION_FUNCTION = 3, LOCATION_LINE = 4 };
enum { TRACK_ID = 1, TRACK_NAME = 2, TRACK_PROCESS = 3, TRACK_THREAD = 4, TRACK_PARENT = 5, TRACK_COUNTER = 8 };
enum { PROCESS_NUMBER = 1, PROCESS_COMMAND = 2, PROCESS_NAME = 6 };
enum { THREAD_PROCESS = 1, THREAD_NUMBER = 2, THREAD_NAME = 5 };
enum { COUNTER_UNIT_NAME = 6 };
enum {
	EVENT_CATEGORY = 3,
	EVENT_ANNOTATION = 4,
	EVENT_TYPE = 9,
	EVENT_NAME = 10,
	EVENT_TRACK = 11,
	EVENT_LOCATION = 34,
	EVENT_REAL = 44,
};
enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 };
enum {
	ANNOTATION_NAME = 1,
	ANNOTATION_UNSIGNED = 3,
	ANNOTATION_REAL = 5,
	ANNOTATION_POINTER = 7,
	ANNOTATION_STRING = 17
};

/* Our own numbers of tracks */
#define TRACK(kind, index) ((uint64_t)(kind) << 40 | ((uint64_t)(index) + 1))
enum { OF_PROCESS = 1, OF_THREAD, OF_LANE, OF_LEVEL, OF_COUNTER };

enum category { LOAD = 1, STORE, LOAD_AND_STORE, REGION, ALLOCATION, CATEGORIES };
static const char *const category_names[] = {"", "load", "store", "load and store", "region", "allocation"};

enum annotation { ADDRESS = 1, OBJECT, LEVEL, COST, BYTES, WEIGHT, CPU, PROBABILITY, ANNOTATIONS };

enum { BINS = 500 };

struct trace {
	const struct fm_exported *exported;
	struct fm_sink *sink;
	uint8_t *lanes;
	bool begun; /* the first packet resets the names */
	/* names: functions, then regions, then these two; strings: objects, then levels */
	uint64_t regions, calls, levels;
	double (*bins)[FM_SERVED_CLASSES + 1]; /* weights by time and level */
	uint64_t bin_length;
	size_t next_bin;
};

static void put(struct trace *trace, struct fm_wire *packet)
{
	uint8_t head[16];
	size_t used;

	fm_wire_number(packet, PACKET_SEQUENCE, 1);
	fm_wire_number(packet, PACKET_FLAGS, trace->begun ? FLAG_NEEDS : FLAG_CLEARED);
	trace->begun = true;
	used = fm_wire_varint(head, TRACE_PACKET << 3 | 2);
	used += fm_wire_varint(head + used, packet->used);
	fm_sink_bytes(trace->sink, head, used);
	fm_sink_bytes(trace->sink, packet->bytes, packet->used);
}

/* Protocol Buffers need UTF-8. Names of settled recordings are UTF-8. */
static void wire_text(struct fm_wire *wire, unsigned field, const char *text)
{
	fm_wire_bytes(wire, field, text, strlen(text));
}

/* Names */

static void intern(struct trace *trace, unsigned kind, uint64_t number, const char *text)
{
	struct fm_wire name, interned, packet;

	name.used = interned.used = packet.used = 0;
	fm_wire_number(&name, NAME_ID, number);
	wire_text(&name, NAME_TEXT, *text ? text : "?");
	fm_wire_message(&interned, kind, &name);
	fm_wire_message(&packet, PACKET_INTERNED, &interned);
	put(trace, &packet);
}

static void intern_location(struct trace *trace, size_t code)
{
	const struct fm_recorded_code *row = &trace->exported->recording->codes[code];
	struct fm_wire location, interned, packet;

	location.used = interned.used = packet.used = 0;
	fm_wire_number(&location, LOCATION_ID, code + 1);
	wire_text(&location, LOCATION_FILE, *row->file ? row->file : row->module);
	wire_text(&location, LOCATION_FUNCTION, *row->inlined ? row->inlined : row->function);
	if (row->line > 0 && row->line < INT32_MAX)
		fm_wire_number(&location, LOCATION_LINE, (uint64_t)row->line);
	fm_wire_message(&interned, INTERNED_LOCATION, &location);
	fm_wire_message(&packet, PACKET_INTERNED, &interned);
	put(trace, &packet);
}

static void intern_all(struct trace *trace)
{
	const struct fm_exported *exported = trace->exported;
	const char *weight = exported->references ? "stands for (references)" : "stands for (ns of processor time)",
	           *cost = exported->references ? "cost (simulated cycles)" : "cost (ticks)";
	const char *const annotations[] = {
	    "", "address", "object", "level", cost, "bytes", weight, "cpu", "level probability (%)"};

	for (unsigned i = 1; i < CATEGORIES; i++)
		intern(trace, INTERNED_CATEGORY, i, category_names[i]);
	for (unsigned i = 1; i < ANNOTATIONS; i++)
		intern(trace, INTERNED_ANNOTATION, i, annotations[i]);
	for (size_t i = 0; i < exported->functions.count; i++)
		intern(trace, INTERNED_NAME, i + 1, exported->functions.keys[i]);
	trace->regions = exported->functions.count + 1;
	for (size_t i = 0; i < exported->regions.count; i++)
		intern(trace, INTERNED_NAME, trace->regions + i, exported->regions.keys[i]);
	trace->calls = trace->regions + exported->regions.count;
	intern(trace, INTERNED_NAME, trace->calls, "malloc");
	intern(trace, INTERNED_NAME, trace->calls + 1, "free");
	for (size_t i = 0; i < exported->objects.count; i++)
		intern(trace, INTERNED_STRING, i + 1, exported->objects.keys[i]);
	trace->levels = exported->objects.count + 1;
	for (unsigned i = 0; i <= fm_exported_levels(exported); i++)
		intern(trace, INTERNED_STRING, trace->levels + i, fm_exported_level_name(exported, i));
	for (size_t i = 0; i < exported->recording->codes_count; i++)
		intern_location(trace, i);
}

/* Tracks */

static void describe(struct trace *trace, struct fm_wire *track, uint64_t number, uint64_t parent, const char *name)
{
	struct fm_wire packet = {.used = 0};

	fm_wire_number(track, TRACK_ID, number);
	if (parent)
		fm_wire_number(track, TRACK_PARENT, parent);
	if (name)
		wire_text(track, TRACK_NAME, name);
	fm_wire_message(&packet, PACKET_TRACK, track);
	put(trace, &packet);
}

static void describe_process(struct trace *trace, size_t index)
{
	const struct fm_recorded_sampled_process *row = &trace->exported->recording->sampled_processes[index];
	struct fm_wire process = {.used = 0}, track = {.used = 0};

	fm_wire_number(&process, PROCESS_NUMBER, row->process & INT32_MAX);
	if (*row->arguments)
		wire_text(&process, PROCESS_COMMAND, row->arguments);
	wire_text(&process, PROCESS_NAME, *row->program ? row->program : "process");
	fm_wire_message(&track, TRACK_PROCESS, &process);
	describe(trace, &track, TRACK(OF_PROCESS, index), 0, NULL);
}

static void describe_thread(struct trace *trace, size_t index)
{
	const struct fm_recording *recording = trace->exported->recording;
	const struct fm_recorded_sampled_thread *row = &recording->sampled_threads[index];
	struct fm_wire thread = {.used = 0}, track = {.used = 0};

	fm_wire_number(&thread, THREAD_PROCESS, recording->sampled_processes[row->process].process & INT32_MAX);
	fm_wire_number(&thread, THREAD_NUMBER, row->thread & INT32_MAX);
	wire_text(&thread, THREAD_NAME, *row->name ? row->name : "thread");
	fm_wire_message(&track, TRACK_THREAD, &thread);
	describe(trace, &track, TRACK(OF_THREAD, index), TRACK(OF_PROCESS, row->process), NULL);
}

static void describe_counter(struct trace *trace, uint64_t number, const char *name, const char *unit)
{
	struct fm_wire counter = {.used = 0}, track = {.used = 0};

	wire_text(&counter, COUNTER_UNIT_NAME, unit);
	fm_wire_message(&track, TRACK_COUNTER, &counter);
	describe(trace, &track, number, 0, name);
}

/* Lanes are numbered by thread. */
static uint64_t lane_track(const struct trace *trace, size_t instance)
{
	uint32_t thread = trace->exported->recording->instances[instance].thread;

	return trace->lanes[instance] ? TRACK(OF_LANE, (uint64_t)thread * FM_LANES_MAX + trace->lanes[instance])
	                              : TRACK(OF_THREAD, thread);
}

static int describe_lanes(struct trace *trace)
{
	const struct fm_recording *recording = trace->exported->recording;
	bool *said = calloc(recording->sampled_threads_count * FM_LANES_MAX + 1, sizeof(*said));

	if (!said)
		return -ENOMEM;
	for (size_t i = 0; i < recording->instances_count; i++) {
		size_t thread = recording->instances[i].thread, lane = trace->lanes[i];
		struct fm_wire track = {.used = 0};

		if (!lane || said[thread * FM_LANES_MAX + lane])
			continue;
		said[thread * FM_LANES_MAX + lane] = true;
		describe(trace, &track, lane_track(trace, i), TRACK(OF_THREAD, thread), "regions that overlap");
	}
	free(said);
	return 0;
}

static int describe_tracks(struct trace *trace)
{
	const struct fm_exported *exported = trace->exported;
	const struct fm_recording *recording = exported->recording;
	char name[FM_SERVED_NAME + 32];

	for (size_t i = 0; i < recording->sampled_processes_count; i++)
		describe_process(trace, i);
	for (size_t i = 0; i < recording->sampled_threads_count; i++)
		describe_thread(trace, i);
	for (unsigned i = 0; trace->bins && i <= fm_exported_levels(exported); i++) {
		snprintf(name, sizeof(name), "Samples from %s", fm_exported_level_name(exported, i));
		describe_counter(trace, TRACK(OF_LEVEL, i), name,
		                 exported->references ? "% of the references" : "% of the sampled processor time");
	}
	for (size_t part = 0; part < exported->series.parts; part++)
		for (size_t i = 0; i < exported->series.counter_count; i++) {
			char long_name[256];

			if (part < recording->parts_count && recording->parts[part].thread > 0)
				snprintf(long_name, sizeof(long_name), "%s (thread %lld)",
				         exported->series.counters[i].name, (long long)recording->parts[part].thread);
			else
				snprintf(long_name, sizeof(long_name), "%s", exported->series.counters[i].name);
			describe_counter(trace, TRACK(OF_COUNTER, part * exported->series.counter_count + i), long_name,
			                 *exported->series.counters[i].unit ? exported->series.counters[i].unit
			                                                    : "per interval");
		}
	return describe_lanes(trace);
}

/* Events */

static void put_event(struct trace *trace, uint64_t at, const struct fm_wire *event)
{
	struct fm_wire packet;

	packet.used = 0;
	fm_wire_number(&packet, PACKET_TIMESTAMP, at);
	fm_wire_message(&packet, PACKET_EVENT, event);
	put(trace, &packet);
}

static void begin_event(struct fm_wire *event, unsigned type, uint64_t track)
{
	event->used = 0;
	fm_wire_number(event, EVENT_TYPE, type);
	fm_wire_number(event, EVENT_TRACK, track);
}

static void annotate(struct fm_wire *event, enum annotation name, unsigned kind, uint64_t value)
{
	uint8_t bytes[24];
	size_t used = 0;

	bytes[used++] = ANNOTATION_NAME << 3;
	bytes[used++] = (uint8_t)name;
	used += fm_wire_varint(bytes + used, (uint64_t)kind << 3);
	used += fm_wire_varint(bytes + used, value);
	fm_wire_bytes(event, EVENT_ANNOTATION, bytes, used);
}

static void put_count(struct trace *trace, uint64_t at, uint64_t track, double value)
{
	struct fm_wire event;

	begin_event(&event, TYPE_COUNTER, track);
	fm_wire_double(&event, EVENT_REAL, value);
	put_event(trace, at, &event);
}

static void put_sample(struct trace *trace, const struct fm_moment *moment)
{
	const struct fm_exported *exported = trace->exported;
	const struct fm_recorded_sample *sample = &exported->recording->samples[moment->index];
	struct fm_wire event;
	double probability;
	unsigned level;
	uint64_t cost;

	begin_event(&event, TYPE_INSTANT, TRACK(OF_THREAD, sample->thread));
	fm_wire_number(&event, EVENT_CATEGORY,
	               !(sample->kind & FM_SAMPLE_STORE) ? LOAD
	               : sample->kind & FM_SAMPLE_LOAD   ? LOAD_AND_STORE
	                                                 : STORE);
	fm_wire_number(&event, EVENT_NAME, exported->function_of[sample->code] + 1ull);
	fm_wire_number(&event, EVENT_LOCATION, sample->code + 1ull);
	annotate(&event, ADDRESS, ANNOTATION_POINTER, sample->address);
	annotate(&event, OBJECT, ANNOTATION_STRING, fm_exported_object(exported, sample) + 1ull);
	level = fm_exported_level(exported, moment->index, &probability);
	annotate(&event, LEVEL, ANNOTATION_STRING, trace->levels + level);
	if (level)
		annotate(&event, PROBABILITY, ANNOTATION_UNSIGNED, (uint64_t)llround(100 * probability));
	if (fm_exported_cost(sample, &cost))
		annotate(&event, COST, ANNOTATION_UNSIGNED, cost);
	annotate(&event, BYTES, ANNOTATION_UNSIGNED, sample->size);
	annotate(&event, WEIGHT, ANNOTATION_UNSIGNED, fm_exported_weight(exported, sample));
	annotate(&event, CPU, ANNOTATION_UNSIGNED, sample->cpu);
	put_event(trace, moment->at, &event);
}

static void put_region(struct trace *trace, const struct fm_moment *moment)
{
	bool begins = moment->kind == FM_MOMENT_REGION_BEGIN;
	struct fm_wire event;

	begin_event(&event, begins ? TYPE_BEGIN : TYPE_END, lane_track(trace, moment->index));
	if (begins) {
		fm_wire_number(&event, EVENT_CATEGORY, REGION);
		fm_wire_number(&event, EVENT_NAME, trace->regions + trace->exported->region_of[moment->index]);
	}
	put_event(trace, moment->at, &event);
}

static void put_allocation(struct trace *trace, const struct fm_moment *moment)
{
	const struct fm_exported *exported = trace->exported;
	const struct fm_recorded_memory *memory = &exported->recording->memories[moment->index];
	struct fm_wire event;

	begin_event(&event, TYPE_INSTANT, TRACK(OF_THREAD, fm_timeline_allocator(exported, memory)));
	fm_wire_number(&event, EVENT_CATEGORY, ALLOCATION);
	fm_wire_number(&event, EVENT_NAME, trace->calls + (moment->kind == FM_MOMENT_FREED));
	annotate(&event, ADDRESS, ANNOTATION_POINTER, memory->address);
	annotate(&event, OBJECT, ANNOTATION_STRING, exported->object_of[moment->index] + 1ull);
	annotate(&event, BYTES, ANNOTATION_UNSIGNED, memory->bytes);
	put_event(trace, moment->at, &event);
}

static void put_moment(struct trace *trace, const struct fm_moment *moment)
{
	const struct fm_series *series = &trace->exported->series;
	const struct fm_series_point *point;

	switch (moment->kind) {
	case FM_MOMENT_THREAD:
		return;
	case FM_MOMENT_SAMPLE:
		put_sample(trace, moment);
		return;
	case FM_MOMENT_ALLOCATED:
	case FM_MOMENT_FREED:
		put_allocation(trace, moment);
		return;
	case FM_MOMENT_COUNT:
		point = &series->points[moment->index];
		put_count(trace, moment->at, TRACK(OF_COUNTER, point->part * series->counter_count + point->counter),
		          point->value);
		return;
	default:
		put_region(trace, moment);
	}
}

/* Levels over time */

static int fill_bins(struct trace *trace)
{
	const struct fm_exported *exported = trace->exported;

	if (!(exported->has & FM_EXPORT_SAMPLES))
		return 0;
	trace->bins = calloc(BINS, sizeof(*trace->bins));
	if (!trace->bins)
		return -ENOMEM;
	trace->bin_length = exported->duration / BINS + 1;
	for (size_t i = 0; i < exported->count; i++) {
		const struct fm_recorded_sample *sample = fm_exported_sample(exported, i);
		size_t bin = fm_exported_time(sample->at) / trace->bin_length;
		double *levels = trace->bins[bin < BINS ? bin : BINS - 1], shares[FM_SERVED_CLASSES];

		if (sample->flags & FM_SAMPLE_LEVEL_ONLY)
			continue;
		if (!fm_exported_shares(exported, exported->order[i], shares))
			levels[0] += sample->weight;
		else
			for (unsigned k = 0; k < fm_exported_levels(exported); k++)
				levels[1 + k] += sample->weight * shares[k];
	}
	return 0;
}

/* Stretches that begin up to `at`. A stretch without samples keeps the previous value. */
static void put_bins(struct trace *trace, uint64_t until)
{
	unsigned levels = fm_exported_levels(trace->exported);

	for (; trace->bins && trace->next_bin < BINS && trace->next_bin * trace->bin_length <= until;
	     trace->next_bin++) {
		const double *bin = trace->bins[trace->next_bin];
		double sum = 0;

		for (unsigned i = 0; i <= levels; i++)
			sum += bin[i];
		for (unsigned i = 0; sum > 0 && i <= levels; i++)
			put_count(trace, trace->next_bin * trace->bin_length, TRACK(OF_LEVEL, i), 100 * bin[i] / sum);
	}
}

static int write(const struct fm_exported *exported, struct fm_sink *sink, struct fm_error *error)
{
	struct trace trace = {.exported = exported, .sink = sink};
	struct fm_timeline timeline = {0};
	struct fm_moment moment;
	int r = fm_lanes_make(exported->recording, &trace.lanes);

	if (!r)
		r = fill_bins(&trace);
	if (!r)
		r = fm_timeline_begin(&timeline, exported);
	if (!r) {
		intern_all(&trace);
		r = describe_tracks(&trace);
	}
	while (!r && !fm_sink_is_over(sink) && fm_timeline_next(&timeline, &moment)) {
		put_bins(&trace, moment.at);
		put_moment(&trace, &moment);
	}
	fm_timeline_end(&timeline);
	free(trace.lanes);
	free(trace.bins);
	return r ? fm_error_set(error, -r, "out of memory") : 0;
}

const struct fm_exporter fm_exporter_perfetto = {
    .name = "perfetto",
    .suffixes = {".pftrace", NULL},
    .opens = "https://ui.perfetto.dev",
    .words = "trace for Perfetto's UI: samples, regions, allocations on threads' tracks; counts over time",
    .can = FM_EXPORT_SAMPLES | FM_EXPORT_SERIES,
    .write = write,
};
