/* What really happened in a benchmark run, as numbers whose truth is known from the kernel: atoms, the finest parts
   that can be told apart, and quantities, sums of atoms that an event may honestly count.

   Atoms are places times causes: lines that a cache delivered for loads in order (which prefetchers see coming) or at
   random, for ownership before a store, lines written back; accesses by width; arithmetic; transfers between cores. A
   counter that counts a quantity but for one of its atoms is blind to it, and the atom's name says to what. */
#ifndef FATHOM_TRUST_QUANTITY_H
#define FATHOM_TRUST_QUANTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "simulator/description.h"

enum {
	FM_WIDTHS = 4,     /* accesses of 8, 16, 32, 64 bytes */
	FM_PLACES_MAX = 5, /* who delivers lines to the first cache: caches below it, memory, remote memory */
	FM_ATOMS_MAX = 48, /* atoms of a machine; a set of them is a word of bits */
	FM_QUANTITIES_MAX = 64,
};

/* What lines are moved for. */
enum fm_cause { FM_CAUSE_ORDER, FM_CAUSE_RANDOM, FM_CAUSE_OWNERSHIP, FM_CAUSE_WRITTEN, FM_CAUSE_COUNT };

struct fm_atom {
	char name[48];   /* for files: L2.read_in_order */
	char words[64];  /* for people: "lines read in order from L2" */
	char access[40]; /* without the place: "lines read in order" */
	char kind[40];   /* what a counter without it is blind to: "prefetched lines", "RFO", "accesses of 32 bytes" */
};

struct fm_quantity {
	char name[48];
	char words[80];
	uint64_t atoms;
	bool shared;    /* by cores: which of them causes it cannot be told */
	unsigned bytes; /* moved by one: 64 of lines, 0 where that depends or does not apply */
};

struct fm_quantities {
	unsigned cache_count; /* the first is L1 */
	char caches[FM_SIMULATED_CACHES_MAX][12];
	bool remote; /* there is another socket */
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

/* For a machine with these caches. */
void fm_quantities_build(struct fm_quantities *quantities, unsigned cache_count, const char (*names)[12], bool remote,
                         unsigned line_bytes);

/* Index, or -1. */
int fm_quantity_find(const struct fm_quantities *quantities, const char *name);
int fm_atom_find(const struct fm_quantities *quantities, const char *name);

/* Which places are at or below a cache: those whose lines come into the cache above it. Place 0 is the second cache. */
static inline unsigned fm_place_memory(const struct fm_quantities *quantities)
{
	return quantities->cache_count - 1;
}

/* 8, 16, 32, 64 bytes: 0 … 3. */
unsigned fm_width_index(unsigned bytes);

#endif
