/* The kernels as streams of instructions for the simulated core: same accesses, order and register dependences as the
   real ones. A test compares both. */
#ifndef FATHOM_TRUST_FEED_H
#define FATHOM_TRUST_FEED_H

#include "simulator/core.h"
#include "kernels/kernel.h"

/* Feeds one block of FM_BLOCK_BYTES of every stream, from these addresses on. */
void fm_feed_block(struct fm_core_timing *timing, const struct fm_stream_kernel *kernel, enum fm_isa isa,
                   const uint64_t *streams);

/* Number of instructions in a block. */
unsigned fm_feed_block_instructions(const struct fm_stream_kernel *kernel, enum fm_isa isa);

/* Feeds the same lines in the same order without time, to fill the caches. */
void fm_feed_block_untimed(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core,
                           const struct fm_stream_kernel *kernel, const uint64_t *streams);

/* Feeds one pointer load with a number of multiplications, beside the chain or in it. `index`: number of the pointer;
   the plain chase's loop has sixteen. Returns the number of instructions. */
unsigned fm_feed_chase(struct fm_core_timing *timing, uint64_t address, unsigned multiplications, bool in_chain,
                       uint64_t index);

/* Feeds one load or store, in order with the others. */
void fm_feed_access(struct fm_core_timing *timing, uint64_t address, unsigned bytes, enum fm_access access);

/* Feeds sixteen dependent additions, and the loop. Returns the number of instructions. */
unsigned fm_feed_adds(struct fm_core_timing *timing);

/* Feeds four elements of a row of a matrix-vector product: two loads, one fused operation. */
void fm_feed_product(struct fm_core_timing *timing, uint64_t matrix, uint64_t vector, unsigned accumulator);

#endif
