/* Address spaces: processes that share simulated caches have the same addresses for different memory. Whoever feeds the
   hierarchy puts the number of the space into bits of the address that no program has. Caches, translation buffers,
   prefetchers, pages and their homes all go by the address, so that they tell spaces apart by themselves, translation
   buffers as hardware does that tags its entries, and a hierarchy with one process, space 0, does nothing else than
   before.

   Where a line lies in a cache does not depend on its space as long as the cache is indexed by the program's addresses;
   with `physical` in the machine's description the same page of two spaces lies at two places. */
#ifndef FATHOM_SIMULATOR_SPACE_H
#define FATHOM_SIMULATOR_SPACE_H

#include <stdint.h>

enum {
	FM_SPACE_SHIFT = 48, /* user addresses of x86-64 have 47 bits, of aarch64 48 */
	FM_SPACE_BITS = 14,  /* a line of 16 bytes still fits its entry: FM_LINE_KEY */
	/* What several processes have in common will be fed as this space's, at addresses that they agree on: the
	   number of the object it is mapped from, and the place in it. The others are processes. */
	FM_SPACE_SHARED = (1 << FM_SPACE_BITS) - 1,
	FM_SPACES = FM_SPACE_SHARED, /* of processes: 0 to this less one */
};

#define FM_SPACE_INSIDE ((1ull << FM_SPACE_SHIFT) - 1)

/* The address as the hierarchy gets it. What a program has in these bits, by five-level paging or by mistake, is lost:
   spaces never mix. */
static inline uint64_t fm_space_address(unsigned space, uint64_t address)
{
	return (address & FM_SPACE_INSIDE) | (uint64_t)space << FM_SPACE_SHIFT;
}

static inline unsigned fm_space_of(uint64_t address)
{
	return (unsigned)(address >> FM_SPACE_SHIFT) & FM_SPACE_SHARED;
}

#endif
