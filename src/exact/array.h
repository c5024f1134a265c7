/* The lines of one cache (or the pages of a translation buffer): sets of ways with a replacement policy. Inline,
   because this is where the simulator spends its time. An entry is the line number shifted by FM_LINE_BITS, with its
   state below; 0 is empty. */
#ifndef FATHOM_EXACT_ARRAY_H
#define FATHOM_EXACT_ARRAY_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "exact/hierarchy.h"

struct fm_array {
	uint64_t *entries;
	uint64_t sets;
	uint64_t mask;    /* sets-1 when that is a power of two, else 0 */
	uint64_t inverse; /* 2^(64+shift) / sets, rounded up: the remainder by multiplication, exact below 2^48 lines */
	unsigned shift;
	unsigned ways;
	enum fm_replacement replacement;
	uint32_t *trees; /* one bit per inner node, for tree replacement */
	uint64_t random;
};

static inline uint64_t *fm_array_set(const struct fm_array *array, uint64_t line)
{
	uint64_t set = line & array->mask;

	if (!array->mask && array->sets > 1)
		set = line - (uint64_t)((unsigned __int128)line * array->inverse >> 64 >> array->shift) * array->sets;
	return array->entries + set * array->ways;
}

/* Make the way the most recent one. Returns where the line stands afterwards. */
static inline uint64_t *fm_array_touch(struct fm_array *array, uint64_t *set, unsigned way)
{
	if (array->replacement == FM_REPLACEMENT_LRU) {
		uint64_t entry = set[way];

		for (; way; way--)
			set[way] = set[way - 1];
		set[0] = entry;
		return set;
	}
	if (array->replacement == FM_REPLACEMENT_TREE) {
		uint32_t *tree = &array->trees[(size_t)(set - array->entries) / array->ways];
		unsigned node = 1;

		/* every node on the way down points to the half not taken */
		for (unsigned half = array->ways / 2; half; half /= 2) {
			unsigned right = (way & half) != 0;

			*tree = right ? *tree & ~(1u << (node & 31)) : *tree | 1u << (node & 31);
			node = 2 * node + right;
		}
	}
	return set + way;
}

/* The entry of a line, made most recent, or NULL. */
static inline uint64_t *fm_array_find(struct fm_array *array, uint64_t line)
{
	uint64_t *set = fm_array_set(array, line);
	uint64_t key = line << FM_LINE_BITS;

	for (unsigned way = 0; way < array->ways; way++)
		if (set[way] - key - 1 < (1u << FM_LINE_BITS) - 1)
			return way || array->replacement != FM_REPLACEMENT_LRU ? fm_array_touch(array, set, way) : set;
	return NULL;
}

/* The same without making it recent. */
static inline uint64_t *fm_array_peek(const struct fm_array *array, uint64_t line)
{
	uint64_t *set = fm_array_set(array, line);
	uint64_t key = line << FM_LINE_BITS;

	for (unsigned way = 0; way < array->ways; way++)
		if (set[way] - key - 1 < (1u << FM_LINE_BITS) - 1)
			return set + way;
	return NULL;
}

/* Put a line that is not there into its set; returns the entry that had to go, 0 when there was room. */
static inline uint64_t fm_array_insert(struct fm_array *array, uint64_t line, unsigned state)
{
	uint64_t *set = fm_array_set(array, line);
	uint64_t entry = line << FM_LINE_BITS | state;
	uint64_t gone;
	unsigned way;

	if (array->replacement == FM_REPLACEMENT_LRU) {
		/* empty ways are kept at the end */
		gone = set[array->ways - 1];
		for (way = array->ways - 1; way; way--)
			set[way] = set[way - 1];
		set[0] = entry;
		return gone;
	}
	for (way = 0; way < array->ways; way++)
		if (!set[way])
			break;
	if (way == array->ways) {
		if (array->replacement == FM_REPLACEMENT_RANDOM) {
			array->random ^= array->random << 13;
			array->random ^= array->random >> 7;
			array->random ^= array->random << 17;
			way = (unsigned)(array->random % array->ways);
		} else {
			uint32_t tree = array->trees[(size_t)(set - array->entries) / array->ways];
			unsigned node = 1;

			way = 0;
			for (unsigned half = array->ways / 2; half; half /= 2) {
				unsigned right = tree >> (node & 31) & 1;

				way |= right ? half : 0;
				node = 2 * node + right;
			}
		}
	}
	gone = set[way];
	set[way] = entry;
	fm_array_touch(array, set, way);
	return gone;
}

/* Take a line out; returns its entry, 0 when it was not there. */
static inline uint64_t fm_array_remove(struct fm_array *array, uint64_t line)
{
	uint64_t *place = fm_array_peek(array, line);
	uint64_t *set, entry;

	if (!place)
		return 0;
	entry = *place;
	if (array->replacement == FM_REPLACEMENT_LRU) {
		set = fm_array_set(array, line);
		memmove(place, place + 1, (size_t)(set + array->ways - 1 - place) * sizeof(*set));
		place = set + array->ways - 1;
	}
	*place = 0;
	return entry;
}

static inline struct fm_array *fm_array_create(uint64_t sets, unsigned ways, enum fm_replacement replacement)
{
	struct fm_array *array = sets && ways ? calloc(1, sizeof(*array)) : NULL;

	if (!array)
		return NULL;
	array->sets = sets;
	array->mask = sets & (sets - 1) ? 0 : sets - 1;
	array->shift = 63 - (unsigned)__builtin_clzll(sets);
	array->inverse = sets > 1 ? (uint64_t)(((unsigned __int128)1 << (64 + array->shift)) / sets) + 1 : 0;
	array->ways = ways;
	array->replacement = replacement;
	array->random = 0x9e3779b97f4a7c15u;
	array->entries = calloc(sets * ways, sizeof(*array->entries));
	array->trees = replacement == FM_REPLACEMENT_TREE ? calloc(sets, sizeof(*array->trees)) : NULL;
	if (!array->entries || (replacement == FM_REPLACEMENT_TREE && !array->trees)) {
		free(array->entries);
		free(array->trees);
		free(array);
		return NULL;
	}
	return array;
}

static inline void fm_array_destroy(struct fm_array *array)
{
	if (!array)
		return;
	free(array->entries);
	free(array->trees);
	free(array);
}

#endif
