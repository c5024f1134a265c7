/* Sets of pages, one per colour: the set that evicts a page gives its colour. These functions run inside other
   programs, so they do not allocate or print and need no other library. */
#ifndef FATHOM_COLOURS_SETS_H
#define FATHOM_COLOURS_SETS_H

#include <stdbool.h>

#include "base/random.h"
#include "colours/probe.h"

enum { FM_COLOURS_SET_PAGES = 64, FM_COLOURS_PASSES_MOST = 8 };

struct fm_colours_set {
	uint32_t count;
	char *pages[FM_COLOURS_SET_PAGES];
};

struct fm_colours {
	struct fm_colours_geometry geometry;
	struct fm_colours_probe probe;
	struct fm_random random;
	/* Bit v: lines of a page whose numbers differ by XOR v may be in the same set, since some indexes fold such
	   bits of the address. The set bits form a vector space under XOR; bit 0 alone: a plain index. */
	uint64_t hash;
	struct fm_colours_lines lines;
	uint32_t threshold; /* in cycles; above, the lines were not in the cache */
	uint32_t longest;   /* in cycles; above, the measurement was disturbed */
	uint32_t passes;    /* passes over a set that evict a page of its colour */
	/* pages of any colour, as a control */
	char *const *others;
	uint32_t other_count;
	uint32_t count;
	struct fm_colours_set sets[FM_COLOURS_MOST];
};

/* Chooses the lines for a hash: whole orbits, at least eight lines, without two equal strides in a row, which would
   start prefetchers. */
void fm_colours_choose_lines(struct fm_colours *colours);

/* Number of trials in which the pages evicted the target. Repeats batches in which the control pages also evict the
   target. */
unsigned fm_colours_score(struct fm_colours *colours, char *target, char *const *pages, unsigned count, unsigned passes,
                          unsigned trials);

/* True if the page has this colour; it may be part of the set. `sure`: with a second confirmation. */
bool fm_colours_is(struct fm_colours *colours, unsigned colour, char *page, bool sure);

/* The colour of a page, searched from `first` on among the first `among` colours; -1: none of them. */
int fm_colours_find(struct fm_colours *colours, char *page, unsigned first, unsigned among);

/* Copies the pages of the set except `page`. Returns their number. */
unsigned fm_colours_others(const struct fm_colours_set *set, const char *page, char **ret_pages);

/* Shuffles the pages. */
void fm_colours_shuffle(struct fm_random *random, char **pages, unsigned count);

/* ns per step of a chase over all lines of these pages, in random order; the minimum of three. `lines` has room for all
   lines. */
double fm_colours_chase(struct fm_colours *colours, char *const *pages, unsigned count, char **lines);

#endif
