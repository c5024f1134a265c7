/* Discovery of the page colours of a machine by timing: pages that evict each other from the second cache. */
#ifndef FATHOM_COLOURS_DISCOVER_H
#define FATHOM_COLOURS_DISCOVER_H

#include "colours/sets.h"

/* Number of pages for a discovery. */
unsigned fm_colours_pages_wanted(const struct fm_colours_geometry *geometry);

struct fm_colours_found {
	double near_ns, beyond_ns; /* latency within the cache, and beyond it; 0: the hash was known */
	unsigned attempts;
	unsigned left; /* pages without a colour */
};

/* Fills `colours` from its geometry, probe, random and hash (0: to be found). The pages must stay mapped while the
   colours are used; their order changes. -ENOTSUP if the colours contradict the geometry or pages have no colour. */
int fm_colours_discover(struct fm_colours *colours, char **pages, unsigned count, struct fm_colours_found *ret_found,
                        struct fm_error *error);

/* Checks that all sets evict their own pages and no pages of other colours. Pages with another colour are removed from
   their sets. False if a set has too few pages left and a new discovery is necessary. */
bool fm_colours_recheck(struct fm_colours *colours);

/* Determines the colours of `count` pages twice, with different orders of the sets. Returns the share of pages without
   a colour or with two different colours. */
double fm_colours_disagreement(struct fm_colours *colours, char *const *pages, unsigned count);

#endif
