#include "simulator/together.h"

#include <errno.h>
#include <stdlib.h>

#include "simulator/numbers.h"
#include "simulator/space.h"

bool fm_together_sweep_next(void *context, struct fm_together_reference *ret_reference)
{
	struct fm_together_sweep *sweep = context;

	*ret_reference =
	    (struct fm_together_reference){sweep->begin + sweep->at * sweep->line_bytes, 8, FM_ACCESS_LOAD};
	sweep->at = sweep->at + 1 < sweep->lines ? sweep->at + 1 : 0;
	return true;
}

bool fm_together_random_next(void *context, struct fm_together_reference *ret_reference)
{
	struct fm_together_random *set = context;
	uint64_t line = fm_random_below(&set->random, set->lines);

	*ret_reference = (struct fm_together_reference){set->begin + line * set->line_bytes, 8, FM_ACCESS_LOAD};
	return true;
}

bool fm_together_array_next(void *context, struct fm_together_reference *ret_reference)
{
	struct fm_together_array *array = context;

	if (array->at >= array->count)
		return false;
	*ret_reference = array->references[array->at++];
	return true;
}

/* A core may be several streams': what it counts belongs to the one that had it last. */
struct owned {
	struct fm_together_stream *owner;
	struct fm_core_counts since;
};

struct run {
	struct fm_hierarchy *hierarchy;
	struct fm_together_stream *streams;
	unsigned count;
	unsigned latency[FM_SERVED_COUNT];
	struct owned *cores;
	uint64_t *until; /* references of each stream */
};

static void settle(struct run *run, unsigned core)
{
	struct owned *owned = &run->cores[core];

	if (!owned->owner)
		return;
	fm_numbers_add(&owned->owner->counts, &run->hierarchy->cores[core].counts, sizeof(owned->since));
	fm_numbers_subtract(&owned->owner->counts, &owned->since, sizeof(owned->since));
	owned->owner = NULL;
}

static void own(struct run *run, struct fm_together_stream *stream)
{
	struct owned *owned = &run->cores[stream->core];

	if (owned->owner == stream)
		return;
	settle(run, stream->core);
	owned->owner = stream;
	owned->since = run->hierarchy->cores[stream->core].counts;
}

static bool is_done(const struct run *run, const struct fm_together_stream *stream)
{
	return stream->ended || stream->references >= run->until[stream - run->streams];
}

/* Registers, one bit each: the loaded data, and the sum over it. */
enum { LOADED = 1, SUM = 2 };

/* The reference and what is computed with it, in the core's own time. Who served it. */
static unsigned execute(const struct fm_together_stream *stream, const struct fm_together_reference *reference)
{
	static const struct fm_instruction load = {.writes = LOADED}, add = {.reads = LOADED | SUM,
	                                                                     .writes = SUM,
	                                                                     .operation = FM_OPERATION_simple};
	struct fm_memory_access accesses[] = {{.address = fm_space_address(stream->space, reference->address),
	                                       .bytes = (uint8_t)reference->bytes,
	                                       .access = FM_ACCESS_LOAD},
	                                      {.address = fm_space_address(stream->space, reference->address),
	                                       .bytes = (uint8_t)reference->bytes,
	                                       .access = (uint8_t)reference->access}};

	fm_core_execute(stream->timing, &load, accesses, reference->access == FM_ACCESS_LOAD ? 1 : 2);
	for (unsigned i = 0; i < stream->gap; i++)
		fm_core_execute(stream->timing, &add, NULL, 0);
	return accesses[0].served;
}

/* One reference. */
static void step(struct run *run, struct fm_together_stream *stream)
{
	struct fm_simulated_core *core = &run->hierarchy->cores[stream->core];
	struct fm_together_reference reference;
	unsigned served;

	if (!stream->next(stream->context, &reference)) {
		stream->ended = true;
		return;
	}
	own(run, stream);
	stream->references++;
	if (stream->timing) {
		stream->served[execute(stream, &reference)]++;
		stream->time = fm_core_now(stream->timing);
		return;
	}
	served = fm_hierarchy_access(run->hierarchy, core, fm_space_address(stream->space, reference.address),
	                             reference.bytes, reference.access);
	stream->served[served]++;
	stream->time += (stream->gap ? stream->gap : 1) + run->latency[served];
}

/* A turn of each stream. False: none has anything left to do. */
static bool step_in_turn(struct run *run, bool first_decides)
{
	bool some = false;

	for (unsigned i = 0; i < run->count; i++) {
		struct fm_together_stream *stream = &run->streams[i];

		for (unsigned k = 0; k < (stream->turn ? stream->turn : 1) && !is_done(run, stream); k++) {
			step(run, stream);
			some = true;
		}
	}
	/* the round is ended first: streams that went on with the first one have gone as far */
	return some && !(first_decides && is_done(run, &run->streams[0]));
}

static bool step_by_time(struct run *run, bool first_decides)
{
	struct fm_together_stream *next = NULL;

	for (unsigned i = 0; i < run->count; i++)
		if (!is_done(run, &run->streams[i]) && (!next || run->streams[i].time < next->time))
			next = &run->streams[i];
	if (!next || (first_decides && is_done(run, &run->streams[0])))
		return false;
	step(run, next);
	return true;
}

int fm_together_run(struct fm_hierarchy *hierarchy, struct fm_together_stream *streams, unsigned count,
                    enum fm_together_order order, const struct fm_together_limits *limits, struct fm_error *error)
{
	const struct fm_machine_description *description = &hierarchy->description;
	struct run run = {.hierarchy = hierarchy, .streams = streams, .count = count};
	int status = 0;

	for (unsigned i = 0; i < count; i++)
		if (streams[i].space >= FM_SPACES || streams[i].core >= hierarchy->core_count)
			return fm_error_set(error, EINVAL, "stream %u: there is no core %u or no address space %u", i,
			                    streams[i].core, streams[i].space);
	run.cores = calloc(hierarchy->core_count, sizeof(*run.cores));
	run.until = calloc(count + 1, sizeof(*run.until));
	if (!run.cores || !run.until)
		status = -ENOMEM;
	for (unsigned i = 0; i < count && !status; i++) {
		run.until[i] =
		    limits->most && !(i && limits->others_go_on) ? streams[i].references + limits->most : UINT64_MAX;
		if (!fm_hierarchy_core(hierarchy, streams[i].core))
			status = -ENOMEM;
	}
	/* of the first cache: part of the gap */
	for (unsigned i = 1; i < description->cache_count; i++)
		run.latency[i] = description->caches[i].latency;
	run.latency[FM_SERVED_MEMORY] = description->memory_latency;
	run.latency[FM_SERVED_REMOTE] = description->memory_remote_latency;
	run.latency[FM_SERVED_CORE] = description->caches[description->cache_count - 1].latency;
	while (!status && (order == FM_TOGETHER_IN_TURN ? step_in_turn(&run, limits->first_decides)
	                                                : step_by_time(&run, limits->first_decides)))
		;
	for (unsigned i = 0; i < hierarchy->core_count && run.cores; i++)
		settle(&run, i);
	free(run.cores);
	free(run.until);
	return status ? fm_error_set(error, ENOMEM, "out of memory") : 0;
}
