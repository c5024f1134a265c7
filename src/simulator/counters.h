/* The counters of the simulator by number: an index into struct fm_work, fm_core_counts, fm_cache_counts or
   fm_timing_counts, which have only 64-bit members. */
#ifndef FATHOM_SIMULATOR_COUNTERS_H
#define FATHOM_SIMULATOR_COUNTERS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "simulator/core.h"
#include "simulator/work.h"

typedef struct fm_work fm_row_of_WORK;
typedef struct fm_core_counts fm_row_of_COUNTS;
typedef struct fm_timing_counts fm_row_of_TIMING;

/* FM_WORK_instructions, FM_COUNTS_loads, FM_TIMING_cycles, FM_CACHE_load_hits, …; of an array the first element. */
enum fm_counter {
#define NUMBER(kind, member) FM_##kind##_##member = offsetof(fm_row_of_##kind, member) / sizeof(uint64_t),
#define ARRAY(kind, member, length) FM_##kind##_##member = offsetof(fm_row_of_##kind, member) / sizeof(uint64_t),
#define CACHE(member) FM_CACHE_##member = offsetof(struct fm_cache_counts, member) / sizeof(uint64_t),
#include "simulator/counters.def"
#undef NUMBER
#undef ARRAY
#undef CACHE
	FM_COUNTS_caches = offsetof(struct fm_core_counts, caches) / sizeof(uint64_t),
	FM_WORK_NUMBERS = sizeof(struct fm_work) / sizeof(uint64_t),
	FM_COUNTS_NUMBERS = sizeof(struct fm_core_counts) / sizeof(uint64_t),
	FM_CACHE_NUMBERS = sizeof(struct fm_cache_counts) / sizeof(uint64_t),
	FM_TIMING_NUMBERS = sizeof(struct fm_timing_counts) / sizeof(uint64_t),
};

/* The index in struct fm_core_counts of a cache's counter. */
static inline unsigned fm_counter_of_cache(unsigned cache, unsigned counter)
{
	return FM_COUNTS_caches + cache * FM_CACHE_NUMBERS + counter;
}

static inline uint64_t fm_counter_get(const void *counters, unsigned index)
{
	uint64_t value;

	memcpy(&value, (const char *)counters + index * sizeof(value), sizeof(value));
	return value;
}

static inline void fm_counter_set(void *counters, unsigned index, uint64_t value)
{
	memcpy((char *)counters + index * sizeof(value), &value, sizeof(value));
}

#endif
