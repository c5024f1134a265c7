/* Finding the colours of a machine by timing alone: which pages drive each other out of the second cache. */
#ifndef FATHOM_COLOURS_DISCOVER_H
#define FATHOM_COLOURS_DISCOVER_H

#include "colours/sets.h"

/* Pages that a discovery wants to have. */
unsigned fm_colours_pages_wanted(const struct fm_colours_geometry *geometry);

struct fm_colours_found {
	double near_ns, beyond_ns; /* a step within the cache, and behind it; 0: the hash was known */
	unsigned attempts;
	unsigned left; /* pages that seem to have no colour */
};

/* Fills in everything of `colours` but geometry, probe and random, which are given, and hash, which is looked for when
   it is 0. The pages must stay where they are as long as the colours are used; their order changes. -ENOTSUP when it
   does not close: there are other colours than the geometry says, or pages without any. */
int fm_colours_discover(struct fm_colours *colours, char **pages, unsigned count, struct fm_colours_found *ret_found,
                        struct fm_error *error);

/* Do all sets still drive their own pages out, and do two of different colours not do so to each other? Pages that lost
   their colour are taken out of their sets. False: some set has too few left, and all of it must be found again. */
bool fm_colours_recheck(struct fm_colours *colours);

/* So many pages get their colour, and once more with the sets in another order: the share that has none or another one
   the second time. */
double fm_colours_disagreement(struct fm_colours *colours, char *const *pages, unsigned count);

#endif
