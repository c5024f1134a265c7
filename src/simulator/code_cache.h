/* The instruction cache of a core. A lookup inserts an absent line; the least recently used line of the set is
   evicted. */
#ifndef FATHOM_SIMULATOR_CODE_CACHE_H
#define FATHOM_SIMULATOR_CODE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

struct fm_code_cache;

/* Makes a cache. NULL: out of memory. */
struct fm_code_cache *fm_code_cache_create(unsigned bytes, unsigned ways, unsigned line_bytes);
void fm_code_cache_destroy(struct fm_code_cache *cache);

/* Was the line present? Inserts it if not. */
bool fm_code_cache_touch(struct fm_code_cache *cache, uint64_t line);

/* The same for another object indexed by its code address, such as a branch: it is in the set of its line. */
bool fm_code_cache_touch_in(struct fm_code_cache *cache, uint64_t line, uint64_t what);

#endif
