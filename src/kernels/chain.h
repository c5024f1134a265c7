/* Chains of pointers for chases, where the distance between lines matters. */
#ifndef FATHOM_KERNELS_CHAIN_H
#define FATHOM_KERNELS_CHAIN_H

#include <stddef.h>
#include <stdint.h>

/* How many bytes a chain of `count` lines takes that lie `distance` bytes apart, a multiple of FM_LINE_BYTES. */
size_t fm_chain_bytes(size_t count, size_t distance);

/* Links lines of `memory`, one in each `distance` bytes, to a single cycle in random order. From each 4 KiB to the next
   they lie at another place, so that they use all sets of a cache evenly, also one whose sets reach over several pages.
   Returns where to begin. */
void *fm_chain_link(void *memory, size_t count, size_t distance, uint64_t seed);

/* The same with every line at the same place of its distance: lines of one set, of a cache with so many sets. */
void *fm_chain_link_same(void *memory, size_t count, size_t distance, uint64_t seed);

/* The same with every line at the place of its distance where fm_chain_link has it that lie FM_APART_BYTES apart: on
   large pages both then use the same sets of the caches. */
void *fm_chain_link_alike(void *memory, size_t count, size_t distance, uint64_t seed);

#endif
