/* The kernels as streams of instructions for the simulated core: the same accesses in the same order as the real ones,
   with the registers that make them wait for each other. A test runs both and compares. */
#ifndef FATHOM_TRUST_FEED_H
#define FATHOM_TRUST_FEED_H

#include "simulator/core.h"
#include "kernels/kernel.h"

/* One block of FM_BLOCK_BYTES of every stream, starting at these addresses. */
void fm_feed_block(struct fm_core_timing *timing, const struct fm_stream_kernel *kernel, enum fm_isa isa,
                   const uint64_t *streams);

/* Instructions of a block. */
unsigned fm_feed_block_instructions(const struct fm_stream_kernel *kernel, enum fm_isa isa);

/* The same lines in the same order without time: to fill the caches. */
void fm_feed_block_untimed(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core,
                           const struct fm_stream_kernel *kernel, const uint64_t *streams);

/* One pointer and so many multiplications, beside the chain or in it; `index` counts the pointers, since the plain
   chase's loop has sixteen of them. Returns the number of instructions. */
unsigned fm_feed_chase(struct fm_core_timing *timing, uint64_t address, unsigned multiplications, bool in_chain,
                       uint64_t index);

/* A load, a store; one at a time, in order. */
void fm_feed_access(struct fm_core_timing *timing, uint64_t address, unsigned bytes, enum fm_access access);

/* Sixteen dependent additions, and the loop. Returns the number of instructions. */
unsigned fm_feed_adds(struct fm_core_timing *timing);

/* Four elements of a row of a matrix-vector product: two loads, one fused operation. */
void fm_feed_product(struct fm_core_timing *timing, uint64_t matrix, uint64_t vector, unsigned accumulator);

#endif
