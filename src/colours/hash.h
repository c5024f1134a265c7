/* Hash of the second cache's index: the page-offset bits that it combines with higher address bits. */
#ifndef FATHOM_COLOURS_HASH_H
#define FATHOM_COLOURS_HASH_H

#include "colours/sets.h"

/* Finds colours->hash with the geometry, the probe and `count` pages of any colour; the order of the pages changes.
   -ENOTSUP if the result is unclear or no vector space under XOR: another geometry, or a disturbed machine. `near_ns`
   and `beyond_ns`:
   latency within the cache, and beyond it. */
int fm_colours_find_hash(struct fm_colours *colours, char **pages, unsigned count, double *ret_near_ns,
                         double *ret_beyond_ns, struct fm_error *error);

/* Checks a known colours->hash, much faster than fm_colours_find_hash(). -ENOTSUP if it differs. */
int fm_colours_check_hash(struct fm_colours *colours, char **pages, unsigned count, struct fm_error *error);

#endif
