/* Data shared by the parts of the hierarchy: the fast path, the general path, and the prefetchers. */
#ifndef FATHOM_SIMULATOR_PARTS_H
#define FATHOM_SIMULATOR_PARTS_H

#include <sched.h>

#include "base/processor.h"
#include "simulator/hierarchy.h"

struct fm_array;

/* Data shared by the hardware threads of a core. */
struct fm_physical_core {
	atomic_flag lock;
	struct fm_simulated_core *first; /* first of its threads in use; NULL: none yet */
	struct fm_array *arrays[FM_SIMULATED_CACHES_MAX], *tlbs[FM_SIMULATED_TLBS_MAX]; /* private ones */
	struct fm_stream_table *streams;
	struct fm_shared_timing *timing; /* for core timing */
} __attribute__((aligned(128)));

void fm_shared_timing_destroy(struct fm_shared_timing *shared);

enum { FM_HIERARCHY_SPINS = 256 };

/* Locks, while the hierarchy is concurrent. The fast path takes its core's lock (common to all hardware threads of the
   core) for one lookup. Work on several cores happens under the hierarchy's lock, and takes cores' locks one at a time.
   Never wait for the hierarchy's lock while holding a core's. */
static inline void fm_hierarchy_lock(struct fm_hierarchy *hierarchy, atomic_flag *flag)
{
	if (!hierarchy->concurrent)
		return;
	for (unsigned spins = 1; atomic_flag_test_and_set_explicit(flag, memory_order_acquire); spins++) {
		/* the owner of the lock may be waiting for this processor */
		if (spins % FM_HIERARCHY_SPINS == 0)
			sched_yield();
		else
			fm_pause();
	}
}

static inline void fm_hierarchy_unlock(struct fm_hierarchy *hierarchy, atomic_flag *flag)
{
	if (hierarchy->concurrent)
		atomic_flag_clear_explicit(flag, memory_order_release);
}

static inline void fm_hierarchy_lock_core(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core)
{
	if (hierarchy->concurrent)
		fm_hierarchy_lock(hierarchy, &core->physical->lock);
}

static inline void fm_hierarchy_unlock_core(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core)
{
	if (hierarchy->concurrent)
		fm_hierarchy_unlock(hierarchy, &core->physical->lock);
}

/* Is the line's home in another socket's memory? */
bool fm_hierarchy_is_remote(const struct fm_hierarchy *hierarchy, const struct fm_simulated_core *core, uint64_t line);

/* A mask of physical cores, by number modulo FM_PAGE_CORES, that touched the page; cores other than this one may share
   its bit. */
uint64_t fm_hierarchy_touched_by_others(struct fm_hierarchy *hierarchy, const struct fm_simulated_core *core,
                                        uint64_t line);

/* The first touch decides the home of a page. */
void fm_hierarchy_touch_page(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t page);

static inline unsigned fm_hierarchy_last_cache(const struct fm_hierarchy *hierarchy)
{
	return hierarchy->description.cache_count - 1;
}

static inline bool fm_hierarchy_has_shared(const struct fm_hierarchy *hierarchy)
{
	return hierarchy->private_caches < hierarchy->description.cache_count;
}

/* The index of the core's last cache; the last group of a socket may be smaller than the others. */
static inline unsigned fm_hierarchy_group(const struct fm_hierarchy *hierarchy, const struct fm_simulated_core *core)
{
	const struct fm_machine_description *description = &hierarchy->description;
	unsigned shared_by = description->caches[description->cache_count - 1].shared_by,
	         groups = (description->cores + shared_by - 1) / shared_by;

	return core->socket * groups + core->core % description->cores / shared_by;
}

/* Copies of a line found in other cores. */
struct fm_found {
	bool any;
	bool modified;
	unsigned from;
};

/* Finds copies in other cores that touched the page. With `take` they are invalidated, otherwise they become shared. */
struct fm_found fm_hierarchy_ask_others(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t line,
                                        bool take);

/* Moves the line from that core to this one. Counted by the kind of request. */
enum fm_asker { FM_ASKER_LOAD, FM_ASKER_STORE, FM_ASKER_PREFETCHER };
void fm_hierarchy_count_transfer(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t line,
                                 const struct fm_found *found, enum fm_asker asker);

/* Looks the page up in the translation buffers and counts. */
void fm_hierarchy_translate(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t page);

/* Invalidates all private copies above an inclusive cache that evicts the line. True: a copy was modified. */
bool fm_hierarchy_back_invalidate(struct fm_hierarchy *hierarchy, const struct fm_array *shared, uint64_t line);

/* Inserts an absent line into the shared cache, with all resulting evictions. */
void fm_hierarchy_insert_shared(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t *set,
                                uint64_t line, unsigned state);

/* Inserts an absent line into a private cache. */
void fm_hierarchy_insert_private(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, unsigned level,
                                 uint64_t line, unsigned state);

/* Handles a line's eviction from the last private cache. */
void fm_hierarchy_leave_private(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t entry);

/* A load waits for a level below the second cache: the first cache's prefetcher asks the second for the next line. It
   receives a line only if present; an absent line is not fetched. */
void fm_hierarchy_ask_next(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t line);

/* Does the cache have prefetchers? If so, demand accesses that reach it train them. */
static inline bool fm_hierarchy_prefetches(const struct fm_hierarchy *hierarchy, unsigned level)
{
	const struct fm_cache_description *cache = &hierarchy->description.caches[level];

	return cache->adjacent || cache->streams;
}
void fm_hierarchy_train(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, unsigned level, uint64_t line,
                        bool miss, bool store);

#endif
