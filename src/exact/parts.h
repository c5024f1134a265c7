/* What the parts of the hierarchy need of each other: the quick path of the general one, both of the prefetchers. */
#ifndef FATHOM_EXACT_PARTS_H
#define FATHOM_EXACT_PARTS_H

#include "exact/hierarchy.h"

struct fm_array;

/* Is the line's home in another socket's memory? */
bool fm_hierarchy_is_remote(const struct fm_hierarchy *hierarchy, const struct fm_simulated_core *core, uint64_t line);

/* A mask of cores, by number modulo FM_PAGE_CORES, that touched the page and may be others than this one. */
uint64_t fm_hierarchy_touched_by_others(struct fm_hierarchy *hierarchy, const struct fm_simulated_core *core,
                                        uint64_t line);

/* First touch decides where a page lives. */
void fm_hierarchy_touch_page(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t page);

static inline unsigned fm_hierarchy_last_cache(const struct fm_hierarchy *hierarchy)
{
	return hierarchy->description.cache_count - 1;
}

static inline bool fm_hierarchy_has_shared(const struct fm_hierarchy *hierarchy)
{
	return hierarchy->private_caches < hierarchy->description.cache_count;
}

/* Find the page in the translation buffers and count. */
void fm_hierarchy_translate(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t page);

/* Every private copy below an inclusive cache must go with its line; true when one was modified. */
bool fm_hierarchy_back_invalidate(struct fm_hierarchy *hierarchy, const struct fm_array *shared, uint64_t line);

/* A line, not there yet, into the shared cache; what has to go for it goes. */
void fm_hierarchy_insert_shared(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t *set,
                                uint64_t line, unsigned state);

/* A line, not there yet, into a private cache. */
void fm_hierarchy_insert_private(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, unsigned level,
                                 uint64_t line, unsigned state);

/* A line leaves the last private cache. */
void fm_hierarchy_leave_private(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t entry);

/* A load waits for a level below the second cache: the first cache's prefetcher asks the second for the next line. It
   is given what is there; what is not is not fetched. */
void fm_hierarchy_ask_next(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t line);

/* Does the cache have prefetchers? Then a demand access that reaches it trains them. */
bool fm_hierarchy_prefetches(const struct fm_hierarchy *hierarchy, unsigned level);
void fm_hierarchy_train(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, unsigned level, uint64_t line,
                        bool miss, bool store);

#endif
