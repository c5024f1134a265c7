/* The lines of code that a core keeps apart from data: its instruction cache. Lines that are looked for are taken in;
   of those of a set the one that was not wanted for longest leaves. */
#ifndef FATHOM_SIMULATOR_CODE_CACHE_H
#define FATHOM_SIMULATOR_CODE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

struct fm_code_cache;

/* NULL: out of memory. */
struct fm_code_cache *fm_code_cache_create(unsigned bytes, unsigned ways, unsigned line_bytes);
void fm_code_cache_destroy(struct fm_code_cache *cache);

/* Was the line there? It is now. */
bool fm_code_cache_touch(struct fm_code_cache *cache, uint64_t line);

/* The same of anything else that goes by where the code is, such as a branch: it is in the set of its line. */
bool fm_code_cache_touch_in(struct fm_code_cache *cache, uint64_t line, uint64_t what);

#endif
