/* Heap memory by the call stack that allocated it. Of small allocations only some are known: each stands for its page,
   and for neighbouring pages without one. Releases are not known: the latest allocation of an address wins. */
#ifndef FATHOM_ENGINE_ACCOUNT_HEAP_H
#define FATHOM_ENGINE_ACCOUNT_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/results.h"

enum {
	FM_HEAP_PAGE = 4096,
	FM_HEAP_NEIGHBOURS = 8, /* pages, on each side */
	FM_HEAP_SITES = 2048,
	FM_HEAP_SEGMENTS = 1 << 22, /* more are lost */
	FM_HEAP_MANY = 100000,      /* segments, from which on large allocations wait until they are some, too */
	FM_HEAP_SHORT = 3,          /* frames of a site, once half of the sites are used: recursion makes many stacks */
};

#define FM_HEAP_NOWHERE UINT32_MAX

struct fm_heap_segment {
	uint64_t begin, end;
	uint64_t time;
	uint32_t site; /* index; FM_HEAP_NOWHERE: none, because there are too many */
	uint32_t small;
};

struct fm_heap_site {
	uint64_t frames[FM_RESULT_ALLOCATION_FRAMES];
	uint64_t largest; /* bytes of a block */
	uint32_t result;  /* object in the results, plus one; 0: none yet */
};

struct fm_heap {
	struct fm_heap_segment *segments; /* sorted, without overlaps */
	size_t count, room;
	struct fm_heap_segment *fresh; /* in the order of time, not in `segments` yet */
	size_t fresh_count, fresh_room;
	bool fresh_large;
	struct fm_heap_site *sites;
	size_t site_count, site_room;
	uint64_t time;
	uint64_t lost; /* allocations without memory */
};

/* Adds an allocation, the latest so far. `small`: it stands for its page. */
void fm_heap_add(struct fm_heap *heap, uint64_t address, uint64_t size, bool small,
                 const uint64_t frames[FM_RESULT_ALLOCATION_FRAMES]);

/* Makes added allocations visible: large ones always, small ones if they are many compared with those that are; or, if
   `all`, any. True: something changed. */
bool fm_heap_settle(struct fm_heap *heap, bool all);

/* The first segment that ends beyond the address: an index, up to `count`. */
size_t fm_heap_find(const struct fm_heap *heap, uint64_t address);

void fm_heap_free(struct fm_heap *heap);

#endif
