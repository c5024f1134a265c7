/* A translation buffer of many ways, least recently used. Sets of few ways keep their pages in the order of use, which
   here would move pages all the time. Pages stay in place and have the time of their last use; an index finds most of
   them at once. */
#ifndef FATHOM_SIMULATOR_WIDE_H
#define FATHOM_SIMULATOR_WIDE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/array.h"

enum { FM_WIDE_WAYS = 9, FM_WIDE_PLACES = 256 };

struct fm_wide_place {
	uint64_t entry; /* of the page used last among those of this place; 0: none, or evicted */
	uint64_t *used; /* address of its time of last use */
};

struct fm_wide {
	uint64_t latest; /* entry of the page used last; 0: none yet */
	uint64_t clock;
	uint64_t *used; /* per entry of the array; padding entries are never the oldest */
	struct fm_wide_place places[FM_WIDE_PLACES];
	uint16_t counts[FM_WIDE_PLACES]; /* number of buffered pages per place */
};

/* The place of a page. Regions of a process begin at round addresses, so the low bits alone collide too often. */
static inline unsigned fm_wide_index(uint64_t page)
{
	return (unsigned)(page ^ page >> 8) % FM_WIDE_PLACES;
}

static inline void fm_wide_empty(const struct fm_array *array)
{
	struct fm_wide *wide = array->wide;
	uint64_t *used = wide->used;

	*wide = (struct fm_wide){.used = used};
	for (uint64_t set = 0; set < array->sets; set++)
		for (unsigned way = 0; way < array->stride; way++)
			used[set * array->stride + way] = way < array->ways ? 0 : INT64_MAX;
}

/* Makes the array, still empty, use an index. */
static inline bool fm_wide_create(struct fm_array *array)
{
	struct fm_wide *wide = fm_memory_apart(1, sizeof(*wide));

	array->wide = wide;
	if (!wide)
		return false;
	wide->used = fm_memory_apart(array->sets * array->stride, sizeof(*wide->used));
	if (wide->used)
		fm_wide_empty(array);
	return wide->used;
}

static inline void fm_wide_destroy(struct fm_array *array)
{
	if (!array || !array->wide)
		return;
	free(array->wide->used);
	free(array->wide);
	array->wide = NULL;
}

static inline void fm_wide_use(struct fm_wide *wide, uint64_t *used, uint64_t entry)
{
	*used = ++wide->clock;
	wide->latest = entry;
}

/* Looks for a page that the index does not have. */
static __attribute__((noinline, unused)) bool fm_wide_search(const struct fm_array *array, uint64_t page)
{
	struct fm_wide *wide = array->wide;
	struct fm_wide_place *place = &wide->places[fm_wide_index(page)];
	const uint64_t *set = fm_array_set(array, page);
	int way = fm_array_locate(set, array->stride, FM_LINE_KEY(page));

	if (way < 0)
		return false;
	place->entry = FM_LINE_KEY(page) | FM_LINE_EXCLUSIVE;
	place->used = wide->used + (set - array->entries) + way;
	fm_wide_use(wide, place->used, place->entry);
	return true;
}

/* Is the page in the buffer? If so, it becomes the page used last. */
static inline bool fm_wide_find(const struct fm_array *array, uint64_t page)
{
	struct fm_wide *wide = array->wide;
	const struct fm_wide_place *place = &wide->places[fm_wide_index(page)];

	if (place->entry == (FM_LINE_KEY(page) | FM_LINE_EXCLUSIVE)) {
		fm_wide_use(wide, place->used, place->entry);
		return true;
	}
	/* no other page of this place is there */
	if (wide->counts[fm_wide_index(page)] == (place->entry != 0))
		return false;
	return fm_wide_search(array, page);
}

/* The least recently used way. Times are below 2^63. */
static inline unsigned fm_wide_oldest(const uint64_t *used, unsigned stride)
{
#if defined(__AVX2__)
	__m256i least = _mm256_loadu_si256((const __m256i *)used), at = _mm256_setr_epi64x(0, 1, 2, 3), ways = at;
	uint64_t times[FM_ARRAY_STEP], places[FM_ARRAY_STEP];
	unsigned best = 0;

	for (unsigned way = FM_ARRAY_STEP; way < stride; way += FM_ARRAY_STEP) {
		__m256i four = _mm256_loadu_si256((const __m256i *)(used + way));
		__m256i older = _mm256_cmpgt_epi64(least, four);

		at = _mm256_add_epi64(at, _mm256_set1_epi64x(FM_ARRAY_STEP));
		least = _mm256_blendv_epi8(least, four, older);
		ways = _mm256_blendv_epi8(ways, at, older);
	}
	_mm256_storeu_si256((__m256i *)times, least);
	_mm256_storeu_si256((__m256i *)places, ways);
	for (unsigned i = 1; i < FM_ARRAY_STEP; i++)
		best = times[i] < times[best] ? i : best;
	return (unsigned)places[best];
#else
	unsigned best = 0;

	for (unsigned way = 1; way < stride; way++)
		best = used[way] < used[best] ? way : best;
	return best;
#endif
}

/* Inserts an absent page in place of the least recently used one. */
static inline void fm_wide_insert(const struct fm_array *array, uint64_t page)
{
	struct fm_wide *wide = array->wide;
	struct fm_wide_place *place = &wide->places[fm_wide_index(page)];
	uint64_t *set = fm_array_set(array, page), *used = wide->used + (set - array->entries);
	unsigned way = fm_wide_oldest(used, array->stride);

	if (set[way]) {
		unsigned out = fm_wide_index(FM_LINE_OF(set[way]));

		wide->counts[out]--;
		if (wide->places[out].entry == set[way])
			wide->places[out].entry = 0;
	}
	set[way] = FM_LINE_KEY(page) | FM_LINE_EXCLUSIVE;
	wide->counts[fm_wide_index(page)]++;
	place->entry = set[way];
	place->used = used + way;
	fm_wide_use(wide, place->used, place->entry);
}

#endif
