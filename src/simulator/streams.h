/* What a stream prefetcher remembers, and what it does. */
#ifndef FATHOM_SIMULATOR_STREAMS_H
#define FATHOM_SIMULATOR_STREAMS_H

#include <stdint.h>

#include "simulator/parts.h"

/* A stream the prefetcher follows: lines of one page, in one direction. */
struct stream {
	uint64_t page; /* plus one */
	uint64_t last;
	int direction;
	unsigned confidence;
	uint64_t ahead;  /* the last line prefetched */
	uint64_t beyond; /* … into the last cache only */
	uint64_t used;   /* for replacement */
};

enum { FM_STREAM_PLACES = 4 };

struct fm_stream_table {
	uint64_t clock;
	unsigned count;
	unsigned places; /* where the stream of a page may be, of so many groups */
	unsigned groups;
	unsigned mask; /* groups less one if that is a power of two of them, else 0 */
	struct stream streams[];
};

/* Bring a line into a level. */
typedef void fm_prefetch_function(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, unsigned level,
                                  uint64_t line, bool store, const void *context);

/* Ahead of its use into a private cache, unless it is there or with another core; into the last cache. */
fm_prefetch_function fm_hierarchy_prefetch_line, fm_hierarchy_prefetch_beyond;

/* What follows is compiled into each of the two paths, with functions of its own to bring lines. */
#define FM_STREAMS_HOT static inline __attribute__((always_inline))

/* The shift from a line to its 4 KiB: hardware follows physical addresses within these, whatever the size of the pages.
 */
static inline unsigned fm_streams_shift(const struct fm_hierarchy *hierarchy)
{
	return 12 - (hierarchy->line_shift < 12 ? hierarchy->line_shift : 12);
}

FM_STREAMS_HOT struct stream *fm_streams_group(struct fm_stream_table *table, uint64_t page)
{
	uint64_t group = __builtin_expect(table->mask != 0, 1) ? page & table->mask : page % table->groups;

	return &table->streams[group * (__builtin_expect(table->places == FM_STREAM_PLACES, 1) ? FM_STREAM_PLACES
	                                                                                       : table->places)];
}

/* The one used longest ago makes room. */
static __attribute__((noinline, unused)) struct stream *fm_streams_replace(struct stream *place, unsigned places,
                                                                           uint64_t page)
{
	struct stream *oldest = place;

	for (unsigned i = 0; i < places; i++)
		if (place[i].used < oldest->used)
			oldest = &place[i];
	*oldest = (struct stream){.page = page + 1};
	return oldest;
}

/* Four places for a page, chosen by its number. */
FM_STREAMS_HOT struct stream *fm_streams_find(struct fm_stream_table *table, uint64_t page)
{
	struct stream *place = fm_streams_group(table, page);

	if (__builtin_expect(table->places == FM_STREAM_PLACES, 1)) {
		for (unsigned i = 0; i < FM_STREAM_PLACES; i++)
			if (place[i].page == page + 1)
				return &place[i];
	} else {
		for (unsigned i = 0; i < table->places; i++)
			if (place[i].page == page + 1)
				return &place[i];
	}
	return fm_streams_replace(place, table->places, page);
}

/* The stream is as far ahead as its own cache allows: two lines further on into the last one. */
FM_STREAMS_HOT void fm_streams_run_beyond(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core,
                                          unsigned level, struct stream *stream, uint64_t line, bool store,
                                          unsigned shift, fm_prefetch_function *beyond, const void *context)
{
	const struct fm_cache_description *cache = &hierarchy->description.caches[level];
	bool up = stream->direction > 0;

	if (!cache->beyond || !fm_hierarchy_has_shared(hierarchy) ||
	    hierarchy->description.caches[fm_hierarchy_last_cache(hierarchy)].inclusion == FM_INCLUSION_VICTIM)
		return;
	/* nothing beyond yet, or overtaken since */
	if (stream->beyond >> shift != line >> shift ||
	    (up ? stream->beyond < stream->ahead : stream->beyond > stream->ahead))
		stream->beyond = stream->ahead;
	for (int i = 0; i < 2; i++) {
		uint64_t next = up ? stream->beyond + 1 : stream->beyond - 1;

		if ((up ? next - line : line - next) > cache->distance + cache->beyond ||
		    next >> shift != line >> shift)
			return;
		stream->beyond = next;
		beyond(hierarchy, core, level, next, store, context);
	}
}

/* A stream that comes from the page before is known already. */
static inline void fm_streams_continue(struct fm_stream_table *table, struct stream *stream, uint64_t line,
                                       unsigned shift)
{
	unsigned places = table->places;

	for (int step = -1; step <= 1; step += 2) {
		uint64_t page = (line - (uint64_t)(int64_t)step) >> shift;
		const struct stream *place = fm_streams_group(table, page);

		for (unsigned i = 0; i < places; i++)
			if (&place[i] != stream && place[i].page == page + 1 && place[i].direction == step &&
			    place[i].confidence >= 3 && place[i].last == line - (uint64_t)(int64_t)step) {
				stream->last = place[i].last;
				stream->direction = step;
				stream->confidence = 3;
				stream->ahead =
				    (step > 0 ? place[i].ahead > line : place[i].ahead < line) ? place[i].ahead : line;
				return;
			}
	}
}

/* An access to a line: returns its stream if that is one to run ahead of, else NULL. */
FM_STREAMS_HOT struct stream *fm_streams_learn(struct fm_stream_table *table, uint64_t line, unsigned shift,
                                               bool crosses)
{
	struct stream *stream = fm_streams_find(table, line >> shift);
	int step;

	if (!stream->confidence && crosses)
		fm_streams_continue(table, stream, line, shift);
	stream->used = ++table->clock;
	if (stream->confidence && (line == stream->last || line - stream->last + 2 > 4)) {
		/* the same line again, or a jump: start over from here */
		stream->confidence = line == stream->last ? stream->confidence : 1;
		stream->direction = 0;
		stream->last = line;
		return NULL;
	}
	step = line > stream->last ? 1 : -1;
	if (stream->confidence && (stream->direction == 0 || stream->direction == step))
		stream->confidence++;
	else
		stream->confidence = 1;
	if (stream->confidence <= 2)
		stream->ahead = line;
	stream->direction = stream->confidence > 1 ? step : 0;
	stream->last = line;
	return stream->confidence < 3 ? NULL : stream;
}

/* Two lines a time, until far enough ahead or at the end of the page; then into the last cache only. */
FM_STREAMS_HOT void fm_streams_run(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, unsigned level,
                                   struct stream *stream, uint64_t line, bool store, unsigned shift,
                                   fm_prefetch_function *prefetch, fm_prefetch_function *beyond, const void *context)
{
	const struct fm_cache_description *cache = &hierarchy->description.caches[level];
	int step = stream->direction;

	for (int i = 0; i < 2; i++) {
		uint64_t next = stream->ahead + (uint64_t)(int64_t)step;
		uint64_t lead = step > 0 ? next - line : line - next;

		if (next >> shift != line >> shift && !cache->crosses)
			return;
		if (lead > cache->distance) {
			fm_streams_run_beyond(hierarchy, core, level, stream, line, store, shift, beyond, context);
			return;
		}
		stream->ahead = next;
		prefetch(hierarchy, core, level, next, store, context);
	}
}

#endif
