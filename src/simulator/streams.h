/* Streams of a prefetcher, and their requests. */
#ifndef FATHOM_SIMULATOR_STREAMS_H
#define FATHOM_SIMULATOR_STREAMS_H

#include <stddef.h>
#include <stdint.h>

#include "simulator/parts.h"
#include "simulator/tuning.h"

/* A stream of the prefetcher: lines of one page, in one direction. */
struct stream {
	uint64_t page; /* plus one */
	uint64_t last;
	uint64_t expected;  /* the line that continues the stream, if its prefetching has begun; else none */
	int8_t direction;   /* lines from one access to the next */
	uint8_t confidence; /* from 1 to FM_STREAM_SURE */
	uint8_t remote;     /* its page is on another socket */
	uint8_t steady;     /* prefetch per line, see enum fm_steady */
	int8_t step;        /* the latest one, in lines */
	uint64_t ahead;     /* the last line prefetched */
	uint64_t beyond;    /* … into the last cache only */
	uint64_t used;      /* for replacement */
	uint64_t brought;   /* unused lines of the page prefetched by jumps, one bit each */
} __attribute__((aligned(64)));

enum { FM_STREAM_PLACES = 4 };
#define FM_STREAM_NO_LINE UINT64_MAX

/* A stream at its full distance continues line by line to the end of its page. Each access prefetches one line, and
   with FM_STEADY_FAR another one into the last cache. */
enum fm_steady { FM_STEADY_NOT, FM_STEADY_NEAR, FM_STEADY_FAR };

struct fm_stream_table {
	uint64_t clock;
	unsigned count;
	unsigned places; /* entries in the group of a page's stream; groups */
	unsigned groups;
	unsigned mask;    /* groups - 1 if `groups` is a power of two from two on, with FM_STREAM_PLACES each; else 0 */
	unsigned strides; /* largest stride that is followed */
	unsigned gaps;  /* largest of uneven steps that form a stream; 0: two lines, without prefetch of skipped ones */
	unsigned steps; /* the larger of both: longer steps are jumps */
	bool back;      /* a step back does not end a stream */
	unsigned jumps; /* lines prefetched by a jump; 0: none */
	unsigned worth; /* credit of jumps, see fm_streams_jump() */
	unsigned idle;  /* consecutive jumps without prefetch for lack of credit */
	struct stream streams[];
};

/* Prefetches a line into a private cache, unless it is there or in another core; the second into the last cache. */
void fm_hierarchy_prefetch_line(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, unsigned level,
                                uint64_t line, bool store);
void fm_hierarchy_prefetch_beyond(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, unsigned level,
                                  uint64_t line, bool store);

/* Do streams prefetch into the last cache alone? Not if that holds only evicted lines of other caches. */
static inline bool fm_hierarchy_goes_beyond(const struct fm_hierarchy *hierarchy)
{
	return fm_hierarchy_has_shared(hierarchy) &&
	       hierarchy->description.caches[fm_hierarchy_last_cache(hierarchy)].inclusion != FM_INCLUSION_VICTIM;
}

/* The following functions are compiled into each of the two paths. */
#define FM_STREAMS_HOT static inline __attribute__((always_inline))

/* The shift from a line to its 4 KiB: hardware follows physical addresses within these, whatever the size of the
   pages. */
/* The line to prefetch with a missed one; the line itself: none. `page_shift`: from a line to its 4 KiB. */
static inline uint64_t fm_streams_neighbour(const struct fm_cache_description *cache, uint64_t line,
                                            unsigned page_shift)
{
	if (cache->adjacent == FM_ADJACENT_PAIR)
		return line ^ 1;
	return (line + 1) >> page_shift == line >> page_shift ? line + 1 : line;
}

/* The shift from a line to its 4 KiB: hardware follows physical addresses within these, whatever the page size. */
static inline unsigned fm_streams_shift(const struct fm_hierarchy *hierarchy)
{
	return 12 - (hierarchy->line_shift < 12 ? hierarchy->line_shift : 12);
}

FM_STREAMS_HOT struct stream *fm_streams_group(struct fm_stream_table *table, uint64_t page)
{
	return __builtin_expect(table->mask != 0, 1) ? &table->streams[(page & table->mask) * FM_STREAM_PLACES]
	                                             : &table->streams[page % table->groups * table->places];
}

FM_STREAMS_HOT struct stream *fm_streams_find_of(struct stream *place, unsigned places, uint64_t page)
{
	for (unsigned i = 0; i < places; i++)
		if (place[i].page == page + 1)
			return &place[i];
	return NULL;
}

/* The stream of a page, from a group of four entries chosen by its number. NULL: none. */
FM_STREAMS_HOT struct stream *fm_streams_find(struct fm_stream_table *table, uint64_t page)
{
	struct stream *place = fm_streams_group(table, page);

	return __builtin_expect(table->mask != 0, 1) ? fm_streams_find_of(place, FM_STREAM_PLACES, page)
	                                             : fm_streams_find_of(place, table->places, page);
}

/* Continues a known stream from the page before. */
static inline bool fm_streams_continue(struct fm_stream_table *table, struct stream *stream, uint64_t line,
                                       unsigned shift)
{
	unsigned places = table->places;

	for (int step = -1; step <= 1; step += 2) {
		uint64_t page = (line >> shift) - (uint64_t)(int64_t)step;
		const struct stream *place = fm_streams_group(table, page);

		for (unsigned i = 0; i < places; i++)
			if (&place[i] != stream && place[i].page == page + 1 && place[i].direction == step &&
			    place[i].confidence >= FM_STREAM_SURE &&
			    (line - place[i].last) * (uint64_t)(int64_t)step <= (table->gaps ? table->gaps : 1)) {
				stream->last = place[i].last;
				stream->direction = (int8_t)step;
				stream->confidence = FM_STREAM_SURE;
				stream->ahead =
				    (step > 0 ? place[i].ahead > line : place[i].ahead < line) ? place[i].ahead : line;
				return true;
			}
	}
	return false;
}

/* Are steps in one direction neither even nor wide? If so, all lines are prefetched. */
static inline bool fm_streams_is_uneven(const struct fm_stream_table *table, const struct stream *stream, int64_t step)
{
	uint64_t lines = (uint64_t)(step < 0 ? -step : step);
	bool again = lines > 1 && lines <= table->strides && (step == stream->step || !table->gaps);
	/* a stream of consecutive lines continues */
	bool runs = stream->confidence >= FM_STREAM_SURE && (stream->direction == 1 || stream->direction == -1);

	return table->gaps ? lines <= table->gaps && (!again || runs) : !again;
}

/* Handles an unexpected step of some lines in either direction, or of none. */
static __attribute__((noinline, unused)) struct stream *fm_streams_step(const struct fm_hierarchy *hierarchy,
                                                                        const struct fm_simulated_core *core,
                                                                        struct stream *stream, uint64_t line)
{
	int8_t step = line > stream->last ? 1 : -1;

	/* a first short step back: the stream continues from its position */
	if (core->streams->back && stream->direction * step < 0 && stream->direction * stream->step > 0)
		return NULL;
	stream->expected = FM_STREAM_NO_LINE;
	stream->steady = FM_STEADY_NOT;
	if (line == stream->last) {
		stream->direction = 0;
		return NULL;
	}
	if (stream->direction == 0 || stream->direction == step ||
	    (core->streams->gaps && stream->direction * step > 0))
		stream->confidence += stream->confidence < FM_STREAM_SURE;
	else
		stream->confidence = 1;
	if (stream->confidence <= 2 ||
	    (core->streams->gaps && (int64_t)((stream->ahead - line) * (uint64_t)(int64_t)step) < 0))
		stream->ahead = line;
	stream->direction = stream->confidence > 1 ? step : 0;
	stream->last = line;
	if (stream->confidence < FM_STREAM_SURE)
		return NULL;
	stream->expected = line + (uint64_t)(int64_t)step;
	/* if the page has no home, this access decides it */
	stream->remote = fm_hierarchy_is_remote(hierarchy, core, line);
	return stream;
}

/* Handles a step of more than one line, up to the largest stride: two equal steps form a stream. */
static __attribute__((noinline, unused)) struct stream *fm_streams_stride(const struct fm_hierarchy *hierarchy,
                                                                          const struct fm_simulated_core *core,
                                                                          struct stream *stream, uint64_t line)
{
	int8_t step = (int8_t)(int64_t)(line - stream->last);

	stream->steady = FM_STEADY_NOT;
	stream->expected = FM_STREAM_NO_LINE;
	stream->ahead = stream->last = line;
	stream->confidence = (core->streams->gaps ? stream->step : stream->direction) == step ? FM_STREAM_SURE : 2;
	stream->direction = step;
	if (stream->confidence < FM_STREAM_SURE)
		return NULL;
	stream->expected = line + (uint64_t)(int64_t)step;
	stream->remote = fm_hierarchy_is_remote(hierarchy, core, line);
	return stream;
}

FM_STREAMS_HOT uint64_t fm_streams_bit(uint64_t line)
{
	return 1ull << (line & 63);
}

/* Handles the use of a line prefetched by a jump. */
FM_STREAMS_HOT void fm_streams_use(struct fm_stream_table *table, struct stream *stream, uint64_t line)
{
	if (!(stream->brought & fm_streams_bit(line)))
		return;
	stream->brought &= ~fm_streams_bit(line);
	table->worth += FM_STREAM_JUMP_LINES;
	if (table->worth > FM_STREAM_JUMP_WORTH)
		table->worth = FM_STREAM_JUMP_WORTH;
}

/* Handles a jump within the page, which forms no stream: prefetches the next lines in its direction, up to `ahead`.
   Learning is the same as without the prefetch. */
static __attribute__((noinline, unused)) struct stream *fm_streams_jump(const struct fm_hierarchy *hierarchy,
                                                                        const struct fm_simulated_core *core,
                                                                        struct stream *stream, uint64_t line,
                                                                        uint64_t from, unsigned shift)
{
	struct fm_stream_table *table = core->streams;
	uint64_t step = line > from ? 1 : UINT64_MAX;

	if (!table->worth && ++table->idle < FM_STREAM_JUMP_TRIES)
		return NULL;
	table->idle = 0;
	stream->ahead = line;
	for (unsigned i = 0; i < table->jumps && !(((stream->ahead + step) ^ line) >> shift); i++) {
		stream->ahead += step;
		stream->brought |= fm_streams_bit(stream->ahead);
		table->worth -= table->worth > 0;
	}
	if (stream->ahead == line)
		return NULL;
	stream->remote = fm_hierarchy_is_remote(hierarchy, core, line);
	return stream;
}

/* A stream arrives on a page of its own. */
static __attribute__((noinline, unused)) struct stream *fm_streams_enter(const struct fm_hierarchy *hierarchy,
                                                                         const struct fm_simulated_core *core,
                                                                         struct stream *stream, uint64_t line,
                                                                         unsigned shift)
{
	return fm_streams_continue(core->streams, stream, line, shift) ? fm_streams_step(hierarchy, core, stream, line)
	                                                               : NULL;
}

/* Replaces the least recently used stream by one for the line. */
static __attribute__((noinline, unused)) struct stream *fm_streams_begin(const struct fm_hierarchy *hierarchy,
                                                                         const struct fm_simulated_core *core,
                                                                         uint64_t line, unsigned shift, bool crosses)
{
	struct fm_stream_table *table = core->streams;
	struct stream *place = fm_streams_group(table, line >> shift), *oldest = place;

	/* mostly a constant for the compiler */
	if (__builtin_expect(table->mask != 0, 1)) {
		for (unsigned i = 1; i < FM_STREAM_PLACES; i++)
			oldest = place[i].used < oldest->used ? &place[i] : oldest;
	} else {
		for (unsigned i = 1; i < table->places; i++)
			oldest = place[i].used < oldest->used ? &place[i] : oldest;
	}
	*oldest = (struct stream){.page = (line >> shift) + 1,
	                          .last = line,
	                          .expected = FM_STREAM_NO_LINE,
	                          .confidence = 1,
	                          .ahead = line,
	                          .used = ++table->clock};
	return crosses ? fm_streams_enter(hierarchy, core, oldest, line, shift) : NULL;
}

/* Advances a stream to its expected line. */
FM_STREAMS_HOT void fm_streams_go_on(struct fm_stream_table *table, struct stream *stream, uint64_t line)
{
	stream->used = ++table->clock;
	stream->last = line;
	stream->step = stream->direction;
	stream->expected = line + (uint64_t)(int64_t)stream->direction;
}

/* Trains on an access. Returns its stream if that prefetches, or if a jump prefetches lines; else NULL. */
FM_STREAMS_HOT struct stream *fm_streams_learn(const struct fm_hierarchy *hierarchy,
                                               const struct fm_simulated_core *core, uint64_t line, unsigned shift,
                                               bool crosses)
{
	struct fm_stream_table *table = core->streams;
	struct stream *stream = fm_streams_find(table, line >> shift);
	uint64_t from;

	if (__builtin_expect(!stream, 0))
		return fm_streams_begin(hierarchy, core, line, shift, crosses);
	if (line == stream->expected) {
		fm_streams_go_on(table, stream, line);
		return stream;
	}
	stream->used = ++table->clock;
	if (__builtin_expect(table->jumps, 0))
		fm_streams_use(table, stream, line);
	if (line - stream->last + table->steps <= 2ull * table->steps) {
		int64_t step = (int64_t)(line - stream->last);
		bool uneven = fm_streams_is_uneven(table, stream, step);
		struct stream *result = uneven ? fm_streams_step(hierarchy, core, stream, line)
		                               : fm_streams_stride(hierarchy, core, stream, line);

		stream->step = (int8_t)step;
		return result;
	}
	/* a jump: start over from here */
	stream->step = 0;
	from = stream->last;
	stream->confidence = 1;
	stream->direction = 0;
	stream->steady = FM_STEADY_NOT;
	stream->last = line;
	stream->expected = FM_STREAM_NO_LINE;
	return __builtin_expect(table->jumps, 0) ? fm_streams_jump(hierarchy, core, stream, line, from, shift) : NULL;
}

/* The distance from `line` to `next` in the stream's direction. */
FM_STREAMS_HOT uint64_t fm_streams_lead(uint64_t next, uint64_t line, uint64_t step)
{
	uint64_t down = -(step >> 63);

	return ((next - line) ^ down) - down;
}

/* Numbers of lines to prefetch, consecutively in the stream's direction: into the stream's cache, on the page of the
   access and on the next one, then into the last cache. */
struct fm_stream_plan {
	uint64_t step;
	uint64_t next;
	uint64_t beyond;
	unsigned near, across, far;
};

/* At the full distance of the stream's cache: plans two lines further, into the last cache. */
FM_STREAMS_HOT void fm_streams_plan_beyond(const struct fm_cache_description *cache, struct stream *stream,
                                           uint64_t line, unsigned shift, struct fm_stream_plan *plan)
{
	uint64_t step = plan->step, next = stream->beyond;
	uint64_t lead = fm_streams_lead(next, line, step), most = cache->distance + cache->beyond;

	/* none beyond yet, or overtaken meanwhile */
	if ((next ^ line) >> shift || (int64_t)lead < (int64_t)fm_streams_lead(stream->ahead, line, step)) {
		next = stream->ahead;
		lead = fm_streams_lead(next, line, step);
	}
	plan->beyond = next + step;
	for (unsigned i = 0; i < 2 && lead + 1 <= most && !(((next + step) ^ line) >> shift); i++) {
		next += step;
		lead++;
		plan->far++;
	}
	stream->beyond = next;
	if (lead == most && !cache->crosses && stream->ahead == line + step * cache->distance)
		stream->steady = FM_STEADY_FAR;
}

/* Plans the lines of a jump. */
FM_STREAMS_HOT struct fm_stream_plan fm_streams_plan_jump(const struct stream *stream, uint64_t line)
{
	uint64_t step = stream->ahead > line ? 1 : UINT64_MAX;

	return (struct fm_stream_plan){
	    .step = step, .next = line + step, .near = (unsigned)fm_streams_lead(stream->ahead, line, step)};
}

/* Plans two steps at a time, more after a gap, up to the full distance or the end of the page; then into the last cache
   only, if allowed. */
FM_STREAMS_HOT struct fm_stream_plan fm_streams_plan(const struct fm_cache_description *cache, struct stream *stream,
                                                     uint64_t line, unsigned shift, bool far)
{
	uint64_t next = stream->ahead;
	struct fm_stream_plan plan = {.step = (uint64_t)(int64_t)stream->direction};
	uint64_t lead = fm_streams_lead(next, line, plan.step), lines = fm_streams_lead(plan.step, 0, plan.step);
	unsigned gap = (unsigned)(stream->step < 0 ? -stream->step : stream->step),
	         most = lines > 1 || gap < 3 ? 2 : gap + 1;

	if (__builtin_expect(stream->expected == FM_STREAM_NO_LINE, 0))
		return fm_streams_plan_jump(stream, line);
	plan.next = next + plan.step;
	for (unsigned i = 0; i < most; i++) {
		bool across = ((next + plan.step) ^ line) >> shift;

		if (__builtin_expect(across, 0) && !cache->crosses)
			break;
		lead += lines;
		if (lead > cache->distance * lines) {
			stream->ahead = next;
			if (__builtin_expect(lines > 1, 0))
				return plan;
			if (far && cache->beyond)
				fm_streams_plan_beyond(cache, stream, line, shift, &plan);
			else if (lead == cache->distance + 1ull && !cache->crosses)
				stream->steady = FM_STEADY_NEAR;
			return plan;
		}
		next += plan.step;
		plan.near += !across;
		plan.across += across;
	}
	stream->ahead = next;
	return plan;
}

#endif
