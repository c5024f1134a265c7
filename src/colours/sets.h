/* Sets of pages of one colour each, by which the colour of other pages is found: a page is of the colour whose set
   drives it out of the cache. Nothing here allocates, prints or needs another library, so that it can run inside other
   people's programs. */
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
	/* Bit v: lines of a page whose numbers differ by XOR v can be in the same set, as the index of some caches
	   folds such bits of the address in. A space under XOR; bit 0 alone: a plain index. */
	uint64_t hash;
	struct fm_colours_lines lines;
	uint32_t threshold; /* more cycles: the lines were not in the cache */
	uint32_t longest;   /* more cycles: something else happened */
	uint32_t passes;    /* over a set, so that it drives out what is of its colour */
	/* pages of any colour, for the control */
	char *const *others;
	uint32_t other_count;
	uint32_t count;
	struct fm_colours_set sets[FM_COLOURS_MOST];
};

/* Choose the lines for a hash: whole orbits, at least eight lines, in an order in which no two strides in a row are
   equal, since that would wake prefetchers. */
void fm_colours_choose_lines(struct fm_colours *colours);

/* In how many of so many trials the pages drove the target out. Batches in which pages that cannot drive it out seem to
   do so are done again. */
unsigned fm_colours_score(struct fm_colours *colours, char *target, char *const *pages, unsigned count, unsigned passes,
                          unsigned trials);

/* Is the page of this colour? It may be one of the set. `sure`: with a second confirmation. */
bool fm_colours_is(struct fm_colours *colours, unsigned colour, char *page, bool sure);

/* Its colour, looked for from `first` on among the first `among` colours; -1: none of these. */
int fm_colours_find(struct fm_colours *colours, char *page, unsigned first, unsigned among);

/* The pages of the set but this one, which need not be in it. Returns how many. */
unsigned fm_colours_others(const struct fm_colours_set *set, const char *page, char **ret_pages);

/* A random order. */
void fm_colours_shuffle(struct fm_random *random, char **pages, unsigned count);

/* ns of a step of a chase over all lines of these pages, in random order; the least of three. `lines` has room for all
   lines. */
double fm_colours_chase(struct fm_colours *colours, char *const *pages, unsigned count, char **lines);

#endif
