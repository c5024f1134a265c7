/* The lines of one cache (or the pages of a translation buffer): sets of ways with a replacement policy. Inline,
   because the simulator spends its time here. An entry is FM_LINE_KEY of the line with its state in the low bits; 0 is
   empty. Sets are padded to a multiple of four ways, so that four are compared and moved at once; padding is always
   empty. */
#ifndef FATHOM_SIMULATOR_ARRAY_H
#define FATHOM_SIMULATOR_ARRAY_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "base/memory.h"
#include "simulator/hierarchy.h"

enum { FM_ARRAY_STEP = 4, FM_ARRAY_WAYS_OF = 20, FM_ARRAY_HUGE = 2 << 20 };

struct fm_array {
	/* data of every lookup, on one line */
	uint64_t *entries;
	uint64_t mask; /* sets-1 when that is a power of two, else 0 */
	/* 0 for a power of two, else 2^(64+shift) / sets, rounded up: the remainder by multiplication, exact below 2^58
	   lines */
	uint64_t inverse;
	uint64_t sets;
	/* Lines in physical memory: 0: at their addresses; otherwise the seed of a hash that places granules of
	   lines. */
	uint64_t seed;
	unsigned shift;
	unsigned ways;
	unsigned stride; /* ways with the padding */
	uint32_t fewer;  /* of 2^32 sets, number with one way less */
	enum fm_replacement replacement;
	unsigned granule_shift;
	uint64_t within, frames; /* masks of a line's place in its granule, and of the granule's place */
	uint32_t *trees;         /* one bit per inner node, for tree replacement */
	uint64_t random;
	struct fm_wide *wide; /* of a translation buffer with many ways: see wide.h; else NULL */
};

/* The set number of a line. */
static inline uint64_t fm_array_index(const struct fm_array *array, uint64_t line)
{

	if (__builtin_expect(array->seed != 0, 0)) {
		uint64_t granule = ((line >> array->granule_shift) ^ array->seed) * 0x9e3779b97f4a7c15u;

		granule = (granule ^ granule >> 29) * 0xbf58476d1ce4e5b9u;
		line = (line & array->within) + ((granule ^ granule >> 32) & array->frames);
	}
	if (array->inverse)
		return line -
		       ((uint64_t)((unsigned __int128)line * array->inverse >> 64) >> array->shift) * array->sets;
	return line & array->mask;
}

static inline uint64_t *fm_array_set(const struct fm_array *array, uint64_t line)
{
	return array->entries + fm_array_index(array, line) * array->stride;
}

static inline uint64_t fm_array_random(struct fm_array *array)
{
	array->random ^= array->random << 13;
	array->random ^= array->random >> 7;
	array->random ^= array->random << 17;
	return array->random;
}

/* The number of used ways of a set. Sets with one less are spread evenly, by the golden ratio. */
static inline unsigned fm_array_ways(const struct fm_array *array, const uint64_t *set)
{
	if (!array->fewer)
		return array->ways;
	return array->ways -
	       ((uint32_t)((uint64_t)(set - array->entries) / FM_ARRAY_STEP * 0x9e3779b1u) < array->fewer);
}

/* The ways, of four, that hold the line of this key: one bit each. */
static inline unsigned fm_array_match(const uint64_t *ways, uint64_t key)
{
#if defined(__AVX2__)
	__m256i entries = _mm256_loadu_si256((const __m256i *)ways);
	__m256i lines = _mm256_and_si256(entries, _mm256_set1_epi64x((long long)~(uint64_t)FM_LINE_FLAGS));

	return (unsigned)_mm256_movemask_pd(
	    _mm256_castsi256_pd(_mm256_cmpeq_epi64(lines, _mm256_set1_epi64x((long long)key))));
#else
	return (unsigned)((ways[0] ^ key) <= FM_LINE_FLAGS) | (unsigned)((ways[1] ^ key) <= FM_LINE_FLAGS) << 1 |
	       (unsigned)((ways[2] ^ key) <= FM_LINE_FLAGS) << 2 | (unsigned)((ways[3] ^ key) <= FM_LINE_FLAGS) << 3;
#endif
}

/* The ways, of four, that have exactly this entry. */
static inline unsigned fm_array_match_entry(const uint64_t *ways, uint64_t entry)
{
#if defined(__AVX2__)
	return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(
	    _mm256_cmpeq_epi64(_mm256_loadu_si256((const __m256i *)ways), _mm256_set1_epi64x((long long)entry))));
#else
	return (unsigned)(ways[0] == entry) | (unsigned)(ways[1] == entry) << 1 | (unsigned)(ways[2] == entry) << 2 |
	       (unsigned)(ways[3] == entry) << 3;
#endif
}

/* The ways, of eight, that hold the line. */
static inline unsigned fm_array_match_eight(const uint64_t *ways, uint64_t key)
{
	return fm_array_match(ways, key) | fm_array_match(ways + FM_ARRAY_STEP, key) << FM_ARRAY_STEP;
}

/* The way that holds the line of this key, or -1. */
static inline int fm_array_locate(const uint64_t *set, unsigned stride, uint64_t key)
{
	unsigned way = 0, match;

	for (; way + 2 * FM_ARRAY_STEP <= stride; way += 2 * FM_ARRAY_STEP) {
		match = fm_array_match_eight(set + way, key);
		if (match)
			return (int)way + __builtin_ctz(match);
	}
	match = way < stride ? fm_array_match(set + way, key) : 0;
	return match ? (int)way + __builtin_ctz(match) : -1;
}

#if defined(__AVX2__)
static inline __m256i fm_array_four(const uint64_t *ways)
{
	return _mm256_loadu_si256((const __m256i *)ways);
}

/* Moves four ways up by one, after the last of the four before. Avoids a load between the two: a load across two recent
   stores waits for both. */
static inline __m256i fm_array_up(__m256i before, __m256i four)
{
	return _mm256_alignr_epi8(four, _mm256_permute2x128_si256(before, four, 0x21), 8);
}

/* Moves four ways from `set` up by one, with the entry as the first. */
static inline __m256i fm_array_shift_in(const uint64_t *set, uint64_t entry)
{
	__m256i up = _mm256_permute4x64_epi64(fm_array_four(set), 0x90);

	return _mm256_blend_epi32(up, _mm256_castsi128_si256(_mm_cvtsi64_si128((long long)entry)), 3);
}

/* Mask of those, of the four ways from `at` on, that precede a way. */
static inline __m256i fm_array_before(unsigned way, unsigned at)
{
	return _mm256_cmpgt_epi64(_mm256_set1_epi64x(way), _mm256_setr_epi64x(at, at + 1, at + 2, at + 3));
}

static inline __m256i fm_array_choose(__m256i without, __m256i with, __m256i mask)
{
	/* in a register: gcc 12 would otherwise compare the loaded value with zero first */
	__asm__("" : "+x"(mask));
	return _mm256_castpd_si256(
	    _mm256_blendv_pd(_mm256_castsi256_pd(without), _mm256_castsi256_pd(with), _mm256_castsi256_pd(mask)));
}

static inline void fm_array_copy_up(uint64_t *set, unsigned way)
{
	_mm256_storeu_si256((__m256i *)(set + way), _mm256_loadu_si256((const __m256i *)(set + way - 1)));
}
#endif

/* Makes a way the first in a set of four. */
static inline void fm_array_to_front_four(uint64_t *set, unsigned way)
{
#if defined(__AVX2__)
	/* halves of ways in their new order */
	static const _Alignas(32) uint32_t orders[FM_ARRAY_STEP][2 * FM_ARRAY_STEP] = {
	    {0, 1, 2, 3, 4, 5, 6, 7}, {2, 3, 0, 1, 4, 5, 6, 7}, {4, 5, 0, 1, 2, 3, 6, 7}, {6, 7, 0, 1, 2, 3, 4, 5}};

	_mm256_storeu_si256((__m256i *)set,
	                    _mm256_permutevar8x32_epi32(fm_array_four(set), *(const __m256i *)orders[way]));
#else
	uint64_t entry = set[way];

	for (; way; way--)
		set[way] = set[way - 1];
	set[0] = entry;
#endif
}

/* Makes a way the first, with a new entry; earlier ways move up. */
static inline void fm_array_to_front_as(uint64_t *set, unsigned way, uint64_t entry)
{
#if defined(__AVX2__)
	__m256i before = _mm256_set1_epi64x((long long)entry), four = fm_array_four(set);

	for (; way >= FM_ARRAY_STEP; way -= FM_ARRAY_STEP) {
		_mm256_storeu_si256((__m256i *)set, fm_array_up(before, four));
		before = four;
		set += FM_ARRAY_STEP;
		four = fm_array_four(set);
	}
	_mm256_storeu_si256((__m256i *)set,
	                    fm_array_choose(four, fm_array_up(before, four), fm_array_before(way + 1, 0)));
#else
	for (; way; way--)
		set[way] = set[way - 1];
	set[0] = entry;
#endif
}

static inline void fm_array_to_front(uint64_t *set, unsigned way)
{
	fm_array_to_front_as(set, way, set[way]);
}

/* The same in a set with a number of ways known to the compiler: a multiple of four, up to FM_ARRAY_WAYS_OF. The entry
   may be new. */
static inline __attribute__((always_inline)) void fm_array_to_front_of(uint64_t *set, const unsigned ways, unsigned way,
                                                                       uint64_t entry)
{
#if defined(__AVX2__)
	/* the number of moving ways equals the way; its position selects the mask of each four */
	static const int64_t moves[2 * FM_ARRAY_WAYS_OF] = {[0 ... FM_ARRAY_WAYS_OF - 1] = -1};
	const uint64_t *mask = (const uint64_t *)moves + FM_ARRAY_WAYS_OF - 1 - way;
	__m256i before = fm_array_four(set);

	/* no branch on the way, which is unpredictable */
	_mm256_storeu_si256((__m256i *)set,
	                    fm_array_choose(before, fm_array_shift_in(set, entry), fm_array_four(mask)));
	for (unsigned at = FM_ARRAY_STEP; at < ways; at += FM_ARRAY_STEP) {
		__m256i four = fm_array_four(set + at);

		_mm256_storeu_si256((__m256i *)(set + at),
		                    fm_array_choose(four, fm_array_up(before, four), fm_array_four(mask + at)));
		before = four;
	}
#else
	(void)ways;
	for (; way; way--)
		set[way] = set[way - 1];
	set[0] = entry;
#endif
}

/* As fm_array_locate() in such a set, of eight ways at least. Most hits are recent. */
static inline __attribute__((always_inline)) int fm_array_locate_of(const uint64_t *set, const unsigned ways,
                                                                    uint64_t key)
{
	unsigned match = fm_array_match_eight(set, key);
#if defined(__AVX2__)
	__m256i keys = _mm256_set1_epi64x((long long)key), any = _mm256_setzero_si256();
	__m256i found[FM_ARRAY_WAYS_OF / FM_ARRAY_STEP];

	if (match)
		return __builtin_ctz(match);
	for (unsigned at = 2 * FM_ARRAY_STEP; at < ways; at += FM_ARRAY_STEP) {
		found[at / FM_ARRAY_STEP] = _mm256_cmpeq_epi64(
		    _mm256_and_si256(fm_array_four(set + at), _mm256_set1_epi64x((long long)~(uint64_t)FM_LINE_FLAGS)),
		    keys);
		any = _mm256_or_si256(any, found[at / FM_ARRAY_STEP]);
	}
	if (_mm256_testz_si256(any, any))
		return -1;
	for (unsigned at = 2 * FM_ARRAY_STEP; at < ways; at += FM_ARRAY_STEP)
		match |= (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(found[at / FM_ARRAY_STEP])) << at;
	return __builtin_ctz(match);
#else
	if (match)
		return __builtin_ctz(match);
	for (unsigned at = 2 * FM_ARRAY_STEP; at < ways; at += FM_ARRAY_STEP) {
		match = fm_array_match(set + at, key);
		if (match)
			return (int)at + __builtin_ctz(match);
	}
	return -1;
#endif
}

/* Does such a set hold the line? For callers that do not need the way. Two sets are searched together; the second may
   be NULL, with no ways. */
static inline __attribute__((always_inline)) bool fm_array_has_of(const uint64_t *set, const unsigned ways,
                                                                  const uint64_t *other, const unsigned other_ways,
                                                                  uint64_t key)
{
#if defined(__AVX2__)
	const __m256i keys = _mm256_set1_epi64x((long long)key);
	const __m256i lines = _mm256_set1_epi64x((long long)~(uint64_t)FM_LINE_FLAGS);
	__m256i any = _mm256_setzero_si256();

	for (unsigned at = 0; at < ways; at += FM_ARRAY_STEP)
		any = _mm256_or_si256(any, _mm256_cmpeq_epi64(_mm256_and_si256(fm_array_four(set + at), lines), keys));
	for (unsigned at = 0; at < other_ways; at += FM_ARRAY_STEP)
		any =
		    _mm256_or_si256(any, _mm256_cmpeq_epi64(_mm256_and_si256(fm_array_four(other + at), lines), keys));
	return !_mm256_testz_si256(any, any);
#else
	unsigned match = 0;

	for (unsigned at = 0; at < ways; at += FM_ARRAY_STEP)
		match |= fm_array_match(set + at, key);
	for (unsigned at = 0; at < other_ways; at += FM_ARRAY_STEP)
		match |= fm_array_match(other + at, key);
	return match;
#endif
}

/* Removes a way of such a set; later ways move down. */
static inline __attribute__((always_inline)) void fm_array_take_out_of(uint64_t *set, const unsigned ways, unsigned way)
{
#if defined(__AVX2__)
	for (unsigned at = 0; at < ways; at += FM_ARRAY_STEP) {
		__m256i four = fm_array_four(set + at), next = _mm256_setzero_si256(), down;

		if (at + FM_ARRAY_STEP < ways)
			next = fm_array_four(set + at + FM_ARRAY_STEP);
		down = _mm256_alignr_epi8(_mm256_permute2x128_si256(four, next, 0x21), four, 8);
		_mm256_storeu_si256((__m256i *)(set + at), fm_array_choose(down, four, fm_array_before(way, at)));
	}
#else
	for (; way + 1 < ways; way++)
		set[way] = set[way + 1];
	set[way] = 0;
#endif
}

/* Puts an entry first in such a set. Returns the evicted last entry. */
static inline __attribute__((always_inline)) uint64_t fm_array_push_of(uint64_t *set, const unsigned ways,
                                                                       uint64_t entry)
{
	uint64_t gone = set[ways - 1];
#if defined(__AVX2__)
	__m256i before = fm_array_four(set);

	_mm256_storeu_si256((__m256i *)set, fm_array_shift_in(set, entry));
	for (unsigned at = FM_ARRAY_STEP; at < ways; at += FM_ARRAY_STEP) {
		__m256i four = fm_array_four(set + at);

		_mm256_storeu_si256((__m256i *)(set + at), fm_array_up(before, four));
		before = four;
	}
#else
	for (unsigned way = ways - 1; way; way--)
		set[way] = set[way - 1];
	set[0] = entry;
#endif
	return gone;
}

/* The same in a set without recent stores: a load across two completed stores does not wait, and takes half the
   instructions. */
static inline __attribute__((always_inline)) uint64_t fm_array_push_of_old(uint64_t *set, const unsigned ways,
                                                                           uint64_t entry)
{
#if defined(__AVX2__)
	uint64_t gone = set[ways - 1];

	for (unsigned at = ways - FM_ARRAY_STEP; at; at -= FM_ARRAY_STEP)
		fm_array_copy_up(set, at);
	_mm256_storeu_si256((__m256i *)set, fm_array_shift_in(set, entry));
	return gone;
#else
	return fm_array_push_of(set, ways, entry);
#endif
}

/* Puts an entry first. Returns the evicted last entry. */
static inline uint64_t fm_array_push(uint64_t *set, unsigned ways, unsigned stride, uint64_t entry)
{
	uint64_t gone = set[ways - 1];
#if defined(__AVX2__)
	for (unsigned at = stride - FM_ARRAY_STEP; at; at -= FM_ARRAY_STEP)
		fm_array_copy_up(set, at);
	_mm256_storeu_si256((__m256i *)set, fm_array_shift_in(set, entry));
	if (ways != stride)
		set[ways] = 0;
#else
	(void)stride;
	for (unsigned way = ways - 1; way; way--)
		set[way] = set[way - 1];
	set[0] = entry;
#endif
	return gone;
}

/* Makes a way the most recent. Returns the new place of the line. */
static inline uint64_t *fm_array_touch(struct fm_array *array, uint64_t *set, unsigned way)
{
	if (array->replacement == FM_REPLACEMENT_LRU) {
		fm_array_to_front(set, way);
		return set;
	}
	if (array->replacement == FM_REPLACEMENT_TREE) {
		uint32_t *tree = &array->trees[(size_t)(set - array->entries) / array->stride];
		unsigned node = 1;

		/* every node on the path points to the other half */
		for (unsigned half = array->ways / 2; half; half /= 2) {
			unsigned right = (way & half) != 0;

			*tree = right ? *tree & ~(1u << (node & 31)) : *tree | 1u << (node & 31);
			node = 2 * node + right;
		}
	}
	return set + way;
}

/* The entry of a line, without making it recent, or NULL. */
static inline uint64_t *fm_array_peek(const struct fm_array *array, uint64_t line)
{
	uint64_t *set = fm_array_set(array, line);
	int way = fm_array_locate(set, array->stride, FM_LINE_KEY(line));

	return way < 0 ? NULL : set + way;
}

/* The entry of a line, made most recent, or NULL. */
static inline uint64_t *fm_array_find_in(struct fm_array *array, uint64_t *set, uint64_t line)
{
	int way = fm_array_locate(set, array->stride, FM_LINE_KEY(line));

	return way < 0 ? NULL : fm_array_touch(array, set, (unsigned)way);
}

static inline uint64_t *fm_array_find(struct fm_array *array, uint64_t line)
{
	return fm_array_find_in(array, fm_array_set(array, line), line);
}

/* Inserts an absent line into its set. Returns the evicted entry, 0 if a way was free. */
static inline uint64_t fm_array_insert_in(struct fm_array *array, uint64_t *set, uint64_t line, unsigned state)
{
	uint64_t entry = FM_LINE_KEY(line) | state;
	uint64_t gone;
	unsigned way, ways = fm_array_ways(array, set);

	/* empty ways are kept at the end */
	if (array->replacement == FM_REPLACEMENT_LRU)
		return fm_array_push(set, ways, array->stride, entry);
	for (way = 0; way < ways; way++)
		if (!set[way])
			break;
	if (way == ways) {
		if (array->replacement == FM_REPLACEMENT_RANDOM) {
			/* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): there is at least one way */
			way = (unsigned)(fm_array_random(array) % ways);
		} else {
			uint32_t tree = array->trees[(size_t)(set - array->entries) / array->stride];
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

static inline uint64_t fm_array_insert(struct fm_array *array, uint64_t line, unsigned state)
{
	return fm_array_insert_in(array, fm_array_set(array, line), line, state);
}

/* Removes a line. Returns its entry, 0 if absent. */
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

static inline size_t fm_array_bytes(const struct fm_array *array)
{
	return array->sets * array->stride * sizeof(*array->entries);
}

/* Zeroed memory. Large caches' tables are accessed at random: huge pages, if available, keep them in the host's
   translation buffers. */
static inline uint64_t *fm_array_memory(size_t bytes)
{
	size_t unit = bytes >= FM_ARRAY_HUGE / 2 ? FM_ARRAY_HUGE : FM_APART;
	size_t rounded = (bytes + unit - 1) / unit * unit;
	uint64_t *memory = aligned_alloc(unit, rounded);

	if (!memory)
		return NULL;
	if (unit == FM_ARRAY_HUGE)
		madvise(memory, rounded, MADV_HUGEPAGE);
	memset(memory, 0, rounded);
	return memory;
}

static inline struct fm_array *fm_array_create(uint64_t sets, unsigned ways, enum fm_replacement replacement)
{
	struct fm_array *array = sets && ways ? fm_memory_apart(1, sizeof(*array)) : NULL;

	if (!array)
		return NULL;
	array->sets = sets;
	array->mask = sets & (sets - 1) ? 0 : sets - 1;
	array->shift = 63 - (unsigned)__builtin_clzll(sets);
	array->inverse = sets & (sets - 1) ? (uint64_t)(((unsigned __int128)1 << (64 + array->shift)) / sets) + 1 : 0;
	array->ways = ways;
	array->stride = (ways + FM_ARRAY_STEP - 1) / FM_ARRAY_STEP * FM_ARRAY_STEP;
	array->replacement = replacement;
	array->random = 0x9e3779b97f4a7c15u;
	array->entries = fm_array_memory(fm_array_bytes(array));
	array->trees = replacement == FM_REPLACEMENT_TREE ? fm_memory_apart(sets, sizeof(*array->trees)) : NULL;
	if (!array->entries || (replacement == FM_REPLACEMENT_TREE && !array->trees)) {
		free(array->entries);
		free(array->trees);
		free(array);
		return NULL;
	}
	return array;
}

/* Places lines by a hash: 2^granule_shift of them stay together, at multiples of a distance, or anywhere. */
static inline void fm_array_scatter(struct fm_array *array, uint64_t seed, unsigned granule_shift, bool anywhere)
{
	array->within = (1ull << granule_shift) - 1;
	/* no effect where the granule does not matter */
	if (!anywhere && !array->inverse && array->sets <= array->within + 1)
		return;
	array->seed = seed * 0xd6e8feb86659fd93u | 1;
	array->granule_shift = granule_shift;
	array->frames = ((1ull << 36) - 1) & ~(anywhere ? 0 : array->within);
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
