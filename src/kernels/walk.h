/* Chains with the regularity that a prefetcher may follow (walks.def). All their lines come from memory: the pointers
   are written past the caches, which evicts the lines. */
#ifndef FATHOM_KERNELS_WALK_H
#define FATHOM_KERNELS_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/kernel.h"

enum fm_walk_kind {
#define WALK(identifier, ...) FM_WALK_##identifier,
#include "kernels/walks.def"
#undef WALK
	FM_WALK_KINDS
};

enum {
	FM_WALK_VALUES_MAX = 32,
	FM_WALK_BYTES = 4 << 20, /* memory of a walk, aligned to 64 KiB */
	FM_WALK_AHEAD_MOST = 31, /* tried lines ahead of a stream */
	FM_WALK_AHEAD_PLACES = 32,
	FM_WALK_AHEAD_STEPS = 34, /* steps per place, one of these ahead */
	FM_WALK_STREAMS_MOST = 64,
	FM_WALK_BACK = 16,         /* occasional steps back of uneven walks */
	FM_WALK_IN_PARALLEL = 960, /* lines of fm_walk_lay_parallel() */
	FM_WALK_CHAIN_COUNTS = 12,
	FM_WALK_STREAMS = 8,        /* chains of fm_walk_lay_streams() */
	FM_WALK_STREAM_LINES = 128, /* of each */
};

/* Numbers of parallel chains. */
extern const unsigned fm_walk_chain_counts[FM_WALK_CHAIN_COUNTS];

const char *fm_walk_name(enum fm_walk_kind kind);
unsigned fm_walk_values(enum fm_walk_kind kind);
unsigned fm_walk_value(enum fm_walk_kind kind, unsigned index);
fm_kernel_function fm_walk_function(enum fm_walk_kind kind);

/* Steps of a walk, a multiple of 16. */
uint64_t fm_walk_steps(enum fm_walk_kind kind, unsigned value);

/* Lays a walk on pages in random order; returns its steps and its first line. */
uint64_t fm_walk_lay(enum fm_walk_kind kind, unsigned value, void *memory, uint64_t seed, void **ret_start);

/* Lays `chains` chains with FM_WALK_IN_PARALLEL lines in all. The neighbours of these lines, which a prefetcher may
   fetch, are in the caches or not. Returns the steps of each chain. */
uint64_t fm_walk_lay_parallel(unsigned chains, bool neighbours, void *memory, uint64_t seed, void **ret_starts);

/* Lays FM_WALK_STREAMS chains of FM_WALK_STREAM_LINES sequential lines. Returns the steps of each. */
uint64_t fm_walk_lay_streams(void *memory, uint64_t seed, void **ret_starts);

#endif
