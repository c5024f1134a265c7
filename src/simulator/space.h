/* Address spaces. Processes that share simulated caches use equal addresses for different memory. The caller puts the
   number of the space into address bits that no program uses. Caches, translation buffers, prefetchers, pages and their
   homes all use this address, so spaces are separate. Translation buffers behave like hardware with tagged entries.
   With one process, in space 0, nothing changes.

   The set of a line does not depend on its space while a cache is indexed by the program's addresses. With `physical`
   in the machine's description, a page has different places in two spaces. */
#ifndef FATHOM_SIMULATOR_SPACE_H
#define FATHOM_SIMULATOR_SPACE_H

#include <stdint.h>

enum {
	FM_SPACE_SHIFT = 48, /* user addresses of x86-64 have 47 bits, of aarch64 48 */
	FM_SPACE_BITS = 14,  /* a line of 16 bytes still fits its entry: FM_LINE_KEY */
	/* The space of memory shared by several processes, at common addresses: number of the mapped object, and offset
	   in it. All other spaces are processes. */
	FM_SPACE_SHARED = (1 << FM_SPACE_BITS) - 1,
	FM_SPACES = FM_SPACE_SHARED, /* of processes: 0 to FM_SPACES - 1 */
};

#define FM_SPACE_INSIDE ((1ull << FM_SPACE_SHIFT) - 1)

/* The address for the hierarchy. Bits of the program's address at the place of the space (five-level paging, errors)
   are lost: spaces never mix. */
static inline uint64_t fm_space_address(unsigned space, uint64_t address)
{
	return (address & FM_SPACE_INSIDE) | (uint64_t)space << FM_SPACE_SHIFT;
}

static inline unsigned fm_space_of(uint64_t address)
{
	return (unsigned)(address >> FM_SPACE_SHIFT) & FM_SPACE_SHARED;
}

#endif
