/* What an access that was not served by the first cache adds to the counts of its instruction and of its object. */
#ifndef FATHOM_ENGINE_ACCOUNT_MISSES_H
#define FATHOM_ENGINE_ACCOUNT_MISSES_H

#include <stdint.h>

#include "engine/results.h"

enum { FM_WALKS = 256, FM_WALK_DIFFERENCES = 3 };

/* Where an instruction of one thread missed the first cache last, and how far apart it did so before. */
struct fm_walk {
	const struct fm_result_site *site;
	uint64_t last;
	uint64_t differences[FM_WALK_DIFFERENCES]; /* the latest first; so many are known: */
	unsigned known;
};

struct fm_engine_side;

/* To be called for every access that says it was served by something else than the first cache, before the next one of
   its core. All lines that have come into the core's caches since the call before came for this access, or by the
   prefetchers that it set off; they are counted for its object too, though a prefetcher may have gone beyond it. Of an
   instruction with several accesses, which core timing executes at once, the first that missed has them all. */
void fm_misses_note(struct fm_engine_side *side, const struct fm_result_site *site, const struct fm_result_slot *slot,
                    uint64_t address, unsigned served);

/* In a forked child, whose cores count from zero. */
void fm_misses_after_fork(void);

#endif
