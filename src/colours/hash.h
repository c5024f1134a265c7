/* Which bits of an address within its page the index of the second cache folds into those above. */
#ifndef FATHOM_COLOURS_HASH_H
#define FATHOM_COLOURS_HASH_H

#include "colours/sets.h"

/* Sets colours->hash from the geometry, the probe and so many pages of any colour, whose order changes. -ENOTSUP when
   what is found is no space under XOR, or does not stand apart: the geometry is not that of the cache, or the machine
   is too disturbed. `near_ns` and `beyond_ns`: a step within the cache, and behind it. */
int fm_colours_find_hash(struct fm_colours *colours, char **pages, unsigned count, double *ret_near_ns,
                         double *ret_beyond_ns, struct fm_error *error);

/* Is colours->hash, which was found before, still what this cache has? -ENOTSUP when it is not. Much quicker than to
   find it. */
int fm_colours_check_hash(struct fm_colours *colours, char **pages, unsigned count, struct fm_error *error);

#endif
