#include "engine/account/heap.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum { FRESH_PART = 8, FRESH_LARGE_PART = 64 };

/* Recursion: each frame once in a row, and only the innermost ones when sites become rare. */
static void shorten(const struct fm_heap *heap, const uint64_t *frames, uint64_t shortened[FM_RESULT_ALLOCATION_FRAMES])
{
	unsigned most = heap->site_count < FM_HEAP_SITES / 2 ? FM_RESULT_ALLOCATION_FRAMES : FM_HEAP_SHORT, used = 0;

	memset(shortened, 0, FM_RESULT_ALLOCATION_FRAMES * sizeof(*shortened));
	for (unsigned i = 0; i < FM_RESULT_ALLOCATION_FRAMES && frames[i] && used < most; i++)
		if (!used || shortened[used - 1] != frames[i])
			shortened[used++] = frames[i];
}

static uint32_t find_site(struct fm_heap *heap, const uint64_t *frames, uint64_t size)
{
	uint64_t shortened[FM_RESULT_ALLOCATION_FRAMES];
	struct fm_heap_site *site;

	shorten(heap, frames, shortened);
	/* programs allocate at few places, and at the latest ones again */
	for (size_t i = heap->site_count; i-- > 0;)
		if (!memcmp(heap->sites[i].frames, shortened, sizeof(shortened))) {
			if (size > heap->sites[i].largest)
				heap->sites[i].largest = size;
			return (uint32_t)i;
		}
	if (heap->site_count == FM_HEAP_SITES || !fm_array_grow(heap->sites, heap->site_count, heap->site_room))
		return FM_HEAP_NOWHERE;
	site = &heap->sites[heap->site_count];
	*site = (struct fm_heap_site){.largest = size};
	memcpy(site->frames, shortened, sizeof(site->frames));
	return (uint32_t)heap->site_count++;
}

void fm_heap_add(struct fm_heap *heap, uint64_t address, uint64_t size, bool small,
                 const uint64_t frames[FM_RESULT_ALLOCATION_FRAMES])
{
	struct fm_heap_segment own = {.begin = address, .end = address + size, .small = small};

	if (!size || own.end < own.begin)
		return;
	if (small) {
		own.begin = address / FM_HEAP_PAGE * FM_HEAP_PAGE;
		own.end = own.begin + FM_HEAP_PAGE;
	}
	own.site = find_site(heap, frames, size);
	if (heap->count + heap->fresh_count >= FM_HEAP_SEGMENTS ||
	    !fm_array_grow(heap->fresh, heap->fresh_count, heap->fresh_room)) {
		heap->lost++;
		return;
	}
	own.time = ++heap->time;
	heap->fresh_large |= !small;
	heap->fresh[heap->fresh_count++] = own;
}

static int by_begin(const void *left, const void *right)
{
	const struct fm_heap_segment *a = left, *b = right;

	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	return (a->time > b->time) - (a->time < b->time);
}

/* Segments that have begun, the latest on top; those that have ended are removed when they are on top. */
struct open {
	const struct fm_heap_segment **list;
	size_t count;
};

static void push(struct open *open, const struct fm_heap_segment *segment)
{
	size_t at = open->count++;

	for (; at && open->list[(at - 1) / 2]->time < segment->time; at = (at - 1) / 2)
		open->list[at] = open->list[(at - 1) / 2];
	open->list[at] = segment;
}

static void pop(struct open *open)
{
	const struct fm_heap_segment *last = open->list[--open->count];
	size_t at = 0, next;

	while ((next = 2 * at + 1) < open->count) {
		next += next + 1 < open->count && open->list[next + 1]->time > open->list[next]->time;
		if (open->list[next]->time <= last->time)
			break;
		open->list[at] = open->list[next];
		at = next;
	}
	open->list[at] = last;
}

struct output {
	struct fm_heap_segment *list;
	size_t count, room;
};

/* Continues the last segment if it is of the same site; small ones also across a few pages of which nothing is known.
 */
static bool put(struct output *output, const struct fm_heap_segment *from, uint64_t begin, uint64_t end)
{
	struct fm_heap_segment *last = output->count ? &output->list[output->count - 1] : NULL;
	uint64_t gap = from->small && last && last->small ? 2 * FM_HEAP_NEIGHBOURS * FM_HEAP_PAGE : 0;

	if (last && last->site == from->site && last->small == from->small && begin - last->end <= gap) {
		last->end = end;
		if (from->time > last->time)
			last->time = from->time;
		return true;
	}
	if (!fm_array_grow(output->list, output->count, output->room))
		return false;
	output->list[output->count] = *from;
	output->list[output->count].begin = begin;
	output->list[output->count++].end = end;
	return true;
}

/* At each address, the latest of the segments that cover it. `all` is sorted. */
static bool sweep(const struct fm_heap_segment *all, size_t count, struct output *output)
{
	struct open open = {malloc((count + 1) * sizeof(*open.list)), 0};
	uint64_t at = 0;
	bool done = open.list;

	for (size_t next = 0; done && (next < count || open.count);) {
		uint64_t until;

		while (open.count && open.list[0]->end <= at)
			pop(&open);
		if (!open.count) {
			if (next == count)
				break;
			at = all[next].begin;
		}
		while (next < count && all[next].begin <= at)
			push(&open, &all[next++]);
		while (open.count && open.list[0]->end <= at)
			pop(&open);
		if (!open.count)
			continue;
		until = open.list[0]->end;
		if (next < count && all[next].begin < until)
			until = all[next].begin;
		done = put(output, open.list[0], at, until);
		at = until;
	}
	free((void *)open.list);
	return done;
}

bool fm_heap_settle(struct fm_heap *heap, bool all)
{
	struct fm_heap_segment *together;
	struct output output = {0};
	size_t count = heap->count + heap->fresh_count;

	bool urgent =
	    heap->fresh_large && (heap->count < FM_HEAP_MANY || heap->fresh_count >= heap->count / FRESH_LARGE_PART);

	if (!heap->fresh_count || (!all && !urgent && heap->fresh_count < heap->count / FRESH_PART))
		return false;
	together = malloc(count * sizeof(*together));
	if (!together)
		return false;
	if (heap->count)
		memcpy(together, heap->segments, heap->count * sizeof(*together));
	memcpy(together + heap->count, heap->fresh, heap->fresh_count * sizeof(*together));
	qsort(together, count, sizeof(*together), by_begin);
	if (sweep(together, count, &output)) {
		free(heap->segments);
		heap->segments = output.list;
		heap->count = output.count;
		heap->room = output.room;
	} else {
		free(output.list);
		heap->lost += heap->fresh_count;
	}
	free(together);
	heap->fresh_count = 0;
	heap->fresh_large = false;
	return true;
}

size_t fm_heap_find(const struct fm_heap *heap, uint64_t address)
{
	size_t low = 0, high = heap->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (heap->segments[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void fm_heap_free(struct fm_heap *heap)
{
	free(heap->segments);
	free(heap->fresh);
	free(heap->sites);
	*heap = (struct fm_heap){0};
}
