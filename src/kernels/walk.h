/* Chains that are regular in a way that prefetchers may follow (walks.def), laid so that each of their lines comes from
   memory: pointers are written past the caches, which lose the lines with that. */
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
	FM_WALK_BYTES = 4 << 20, /* of memory that walks lie in, its beginning aligned to 64 KiB */
	FM_WALK_AHEAD_MOST = 31, /* lines ahead of a stream that are tried */
	FM_WALK_AHEAD_PLACES = 32,
	FM_WALK_AHEAD_STEPS = 34, /* of each place, of which one is ahead */
	FM_WALK_STREAMS_MOST = 64,
	FM_WALK_BACK = 16,         /* of uneven walks: steps go back, too */
	FM_WALK_IN_PARALLEL = 960, /* lines of fm_walk_lay_parallel() */
	FM_WALK_CHAIN_COUNTS = 12,
	FM_WALK_STREAMS = 8,        /* chains of fm_walk_lay_streams() */
	FM_WALK_STREAM_LINES = 128, /* of each */
};

/* How many chains are walked side by side. */
extern const unsigned fm_walk_chain_counts[FM_WALK_CHAIN_COUNTS];

const char *fm_walk_name(enum fm_walk_kind kind);
unsigned fm_walk_values(enum fm_walk_kind kind);
unsigned fm_walk_value(enum fm_walk_kind kind, unsigned index);
fm_kernel_function fm_walk_function(enum fm_walk_kind kind);

/* Of each walk, a multiple of 16. */
uint64_t fm_walk_steps(enum fm_walk_kind kind, unsigned value);

/* Lays a walk; returns its steps and where it begins. Pages are taken at random. */
uint64_t fm_walk_lay(enum fm_walk_kind kind, unsigned value, void *memory, uint64_t seed, void **ret_start);

/* Lays `chains` chains of FM_WALK_IN_PARALLEL lines in all. The neighbours of these lines, which prefetchers would
   bring along, are in the caches already, or not. Returns the steps of each chain. */
uint64_t fm_walk_lay_parallel(unsigned chains, bool neighbours, void *memory, uint64_t seed, void **ret_starts);

/* Lays FM_WALK_STREAMS chains, each of FM_WALK_STREAM_LINES lines one after the other. Returns the steps of each. */
uint64_t fm_walk_lay_streams(void *memory, uint64_t seed, void **ret_starts);

#endif
