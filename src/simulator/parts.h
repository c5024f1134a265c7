/* What the parts of the hierarchy need of each other: the quick path of the general one, both of the prefetchers. */
#ifndef FATHOM_SIMULATOR_PARTS_H
#define FATHOM_SIMULATOR_PARTS_H

#include <sched.h>

#include "simulator/hierarchy.h"

struct fm_array;

/* What the hardware threads of a core have in common. */
struct fm_physical_core {
	atomic_flag lock;
	struct fm_simulated_core *first; /* of its threads, to be used; NULL: none yet */
	struct fm_array *arrays[FM_SIMULATED_CACHES_MAX], *tlbs[FM_SIMULATED_TLBS_MAX]; /* private ones */
	struct fm_stream_table *streams;
	struct fm_shared_timing *timing; /* for core timing */
} __attribute__((aligned(128)));

void fm_shared_timing_destroy(struct fm_shared_timing *shared);

enum { FM_HIERARCHY_SPINS = 256 };

/* Locks, while the hierarchy is concurrent. The fast path of a core takes its own (all its hardware threads the same)
   for the length of one look-up; whatever concerns several cores happens under the lock of the hierarchy, which takes
   cores' locks one at a time. Nobody waits for the hierarchy's lock while holding a core's. */
static inline void fm_hierarchy_lock(struct fm_hierarchy *hierarchy, atomic_flag *flag)
{
	if (!hierarchy->concurrent)
		return;
	for (unsigned spins = 1; atomic_flag_test_and_set_explicit(flag, memory_order_acquire); spins++) {
		/* whoever has it may be waiting for this very processor */
		if (spins % FM_HIERARCHY_SPINS == 0)
			sched_yield();
#if defined(__x86_64__)
		else
			__builtin_ia32_pause();
#endif
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

/* A mask of physical cores, by number modulo FM_PAGE_CORES, that touched the page and may be others than this one. */
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

/* Which of the last caches is the core's; the last group of a socket may be smaller than the others. */
static inline unsigned fm_hierarchy_group(const struct fm_hierarchy *hierarchy, const struct fm_simulated_core *core)
{
	const struct fm_machine_description *description = &hierarchy->description;
	unsigned shared_by = description->caches[description->cache_count - 1].shared_by,
	         groups = (description->cores + shared_by - 1) / shared_by;

	return core->socket * groups + core->core % description->cores / shared_by;
}

/* What other cores have of a line. */
struct fm_found {
	bool any;
	bool modified;
	unsigned from;
};

/* Look for copies in other cores that touched the page. With `take` they lose them, otherwise they keep them shared. */
struct fm_found fm_hierarchy_ask_others(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t line,
                                        bool take);

/* The core gets the line from there. Counted by who asks for it. */
enum fm_asker { FM_ASKER_LOAD, FM_ASKER_STORE, FM_ASKER_PREFETCHER };
void fm_hierarchy_count_transfer(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t line,
                                 const struct fm_found *found, enum fm_asker asker);

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
static inline bool fm_hierarchy_prefetches(const struct fm_hierarchy *hierarchy, unsigned level)
{
	const struct fm_cache_description *cache = &hierarchy->description.caches[level];

	return cache->adjacent || cache->streams;
}
void fm_hierarchy_train(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, unsigned level, uint64_t line,
                        bool miss, bool store);

#endif
