/* Counts misses of the first cache for the instruction and the object. */
#ifndef FATHOM_ENGINE_ACCOUNT_MISSES_H
#define FATHOM_ENGINE_ACCOUNT_MISSES_H

#include <stdint.h>

#include "engine/results.h"

enum { FM_WALKS = 256, FM_WALK_DIFFERENCES = 3 };

/* Lines filled into a core's caches that are already attributed to an instruction. */
struct fm_counted_lines {
	_Alignas(64) uint64_t lines[FM_SIMULATED_CACHES_MAX];
	uint64_t requests; /* prefetch requests of all levels */
};

/* An instruction's last miss in one thread, and the distances between its earlier misses. */
struct fm_miss_history {
	const struct fm_result_site *site;
	uint64_t last;
	uint64_t differences[FM_WALK_DIFFERENCES]; /* latest first */
	unsigned known;                            /* number of valid differences */
};

struct fm_account;
struct fm_engine_side;

/* Call after every access that the first cache did not serve, before the core's next access. Attributes all lines
   filled since the last call (demand and prefetch) to this instruction and object; prefetches may lie beyond the
   object. Core timing executes all accesses of an instruction at once: its first miss gets all their lines. */
void fm_misses_note(struct fm_engine_side *side, const struct fm_result_site *site, const struct fm_result_slot *slot,
                    uint64_t address, unsigned served);

/* Resets the state in a forked child, whose cores count from 0. */
void fm_misses_after_fork(struct fm_account *account);

#endif
