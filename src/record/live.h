/* The set of addresses of kept, live allocations. Nothing here takes a lock, allocates by a function that may be
   interposed, or changes errno. Every function may be called in a signal handler, and interrupted by one.

   A filter of small counters precedes the set: one load excludes nearly every absent address. The set is a row of hash
   tables, each twice as large as the one before. They are added on demand and never moved: 8 bytes per slot, at least
   half of them in use after growth, for FM_LIVE_MOST addresses. */
#ifndef FATHOM_RECORD_LIVE_H
#define FATHOM_RECORD_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FM_LIVE_FILTER = 1 << 19, FM_LIVE_MOST = 1 << 24 };

extern uint8_t fm_live_filter[FM_LIVE_FILTER] __attribute__((visibility("hidden")));

/* Index of the counter of an address. One counter per 64 bytes: addresses of a page share a part of the filter, which
   takes 1/64 of the heap in cache and memory. Up to a heap of 32 MiB only neighbours share a counter. More counters
   would exceed the second cache, fewer would let more addresses through. Aligned addresses and heaps spread over the
   whole filter. */
static inline size_t fm_live_place(const void *address)
{
	uintptr_t x = (uintptr_t)address;

	return (x >> 6 ^ x >> 13) % FM_LIVE_FILTER;
}

/* May the set contain the address? False: certainly not. */
static inline bool fm_live_maybe(const void *address)
{
	return __atomic_load_n(&fm_live_filter[fm_live_place(address)], __ATOMIC_RELAXED) != 0;
}

/* Inserts an address. 0; -EEXIST: already present, its release was not seen; -ENOMEM: no room. */
int fm_live_insert(const void *address);

/* Removes an address. Was it present? */
bool fm_live_remove(const void *address);

/* Makes fm_live_maybe() true for this address, permanently. */
void fm_live_suspect(const void *address);

/* The number of tables: the cost of a lookup depends on it. */
unsigned fm_live_tables(void);

/* Memory of the filter and the set, in bytes. */
size_t fm_live_bytes(void);

#endif
