/* Chains of pointers for chases with a given distance between lines. */
#ifndef FATHOM_KERNELS_CHAIN_H
#define FATHOM_KERNELS_CHAIN_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of a chain of `count` lines with a distance of `distance` bytes, a multiple of FM_LINE_BYTES. */
size_t fm_chain_bytes(size_t count, size_t distance);

/* Links one line in each `distance` bytes of `memory` to a single cycle in random order. The offset of the line varies
   between pages, for an even use of all cache sets, also in caches larger than a page per way. Returns the first
   line. */
void *fm_chain_link(void *memory, size_t count, size_t distance, uint64_t seed);

/* fm_chain_link() with equal offsets in each distance: lines of one cache set. */
void *fm_chain_link_same(void *memory, size_t count, size_t distance, uint64_t seed);

/* fm_chain_link() with the offsets for a distance of FM_APART_BYTES: on large pages, both chains use the same cache
   sets. */
void *fm_chain_link_alike(void *memory, size_t count, size_t distance, uint64_t seed);

#endif
