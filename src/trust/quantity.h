/* The truth of a benchmark run, in numbers that follow from the kernel. Atoms are the finest distinguishable parts.
   Quantities are sums of atoms that a correct event may count.

   Atoms are places times causes. Lines: delivered by a cache for loads in order (visible to prefetchers) or at random,
   for ownership before a store, or written back. Also accesses by width, arithmetic, and transfers between cores. A
   counter that counts a quantity except one atom is blind to that atom; the atom's name is the name of the
   blindness. */
#ifndef FATHOM_TRUST_QUANTITY_H
#define FATHOM_TRUST_QUANTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "simulator/description.h"

enum {
	FM_WIDTHS = 4,     /* accesses of 8, 16, 32, 64 bytes */
	FM_PLACES_MAX = 5, /* sources of lines for the first cache: caches below it, memory, remote memory */
	FM_ATOMS_MAX = 48, /* atoms of a machine; a set of them is a word of bits */
	FM_QUANTITIES_MAX = 64,
};

/* Causes of line movements. */
enum fm_cause { FM_CAUSE_ORDER, FM_CAUSE_RANDOM, FM_CAUSE_OWNERSHIP, FM_CAUSE_WRITTEN, FM_CAUSE_COUNT };

struct fm_atom {
	char name[48];   /* in files: L2.read_in_order */
	char words[64];  /* in text: "lines read in order from L2" */
	char access[40]; /* without the place: "lines read in order" */
	char kind[40];   /* name of a counter's blindness to it: "prefetched lines", "RFO", "accesses of 32 bytes" */
};

struct fm_quantity {
	char name[48];
	char words[80];
	uint64_t atoms;
	bool shared;    /* by cores: causes are not distinguishable */
	unsigned bytes; /* moved per count: 64 of lines, 0 if variable or not applicable */
};

struct fm_quantities {
	unsigned cache_count; /* the first is L1 */
	char caches[FM_SIMULATED_CACHES_MAX][12];
	bool remote; /* another socket exists */
	unsigned line_bytes;

	unsigned atom_count;
	struct fm_atom atoms[FM_ATOMS_MAX];
	unsigned quantity_count;
	struct fm_quantity quantities[FM_QUANTITIES_MAX];

	/* indices of atoms */
	unsigned loads[FM_WIDTHS], stores[FM_WIDTHS];
	unsigned place_count;                          /* caches below the first, memory, remote memory */
	unsigned lines[FM_PLACES_MAX][FM_CAUSE_COUNT]; /* [place][cause] */
	unsigned nontemporal[2];                       /* lines past the caches to local and remote memory */
	unsigned flops, vector_calculations, instructions, cycles;
	unsigned transfers[2]; /* of changed lines within and between sockets */
};

/* Builds the quantities of a machine with these caches. */
void fm_quantities_build(struct fm_quantities *quantities, unsigned cache_count, const char (*names)[12], bool remote,
                         unsigned line_bytes);

/* Index of a quantity, or -1. */
int fm_quantity_find(const struct fm_quantities *quantities, const char *name);
int fm_atom_find(const struct fm_quantities *quantities, const char *name);

/* The place of memory. Places are the levels that supply lines to the cache above; place 0 is the second cache. */
static inline unsigned fm_place_memory(const struct fm_quantities *quantities)
{
	return quantities->cache_count - 1;
}

/* Index of a width: 0 … 3 for 8, 16, 32, 64 bytes. */
unsigned fm_width_index(unsigned bytes);

#endif
