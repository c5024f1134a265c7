/* The addresses of the allocations that are kept and still live. Nothing here takes a lock, allocates by a function
   that may be interposed, or changes errno; every function may be called in a signal handler, and interrupted by one.

   In front of the set is a filter of small counters: one load says of nearly every address that it is not there. The
   set is a row of hash tables, each twice the one before, added as the need arises and never moved: 8 bytes for each
   place, half of the places or more in use once it has grown, and room for FM_LIVE_MOST addresses. */
#ifndef FATHOM_RECORD_LIVE_H
#define FATHOM_RECORD_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FM_LIVE_FILTER = 1 << 19, FM_LIVE_MOST = 1 << 24 };

extern uint8_t fm_live_filter[FM_LIVE_FILTER] __attribute__((visibility("hidden")));

/* A counter for each 64 bytes: addresses of one page share a part of the filter, so it takes as much cache and memory
   as the heap in use divided by 64. Up to a heap of 32 MiB only neighbours share a counter, beyond it others too. More
   counters would miss the second cache, fewer would let more addresses through. Aligned addresses and heaps at aligned
   addresses still spread over all of it. */
static inline size_t fm_live_place(const void *address)
{
	uintptr_t x = (uintptr_t)address;

	return (x >> 6 ^ x >> 13) % FM_LIVE_FILTER;
}

/* False: it is certainly not there. */
static inline bool fm_live_maybe(const void *address)
{
	return __atomic_load_n(&fm_live_filter[fm_live_place(address)], __ATOMIC_RELAXED) != 0;
}

/* 0; -EEXIST: it was there already, somebody released it unseen; -ENOMEM: no room. */
int fm_live_insert(const void *address);

/* Whether it was there. */
bool fm_live_remove(const void *address);

/* fm_live_maybe() is true of this address from now on, for good. */
void fm_live_suspect(const void *address);

/* How many tables there are, which is what looking an address up depends on. */
unsigned fm_live_tables(void);

/* What all of it takes. */
size_t fm_live_bytes(void);

#endif
