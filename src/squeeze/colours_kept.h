/* The discovered colours of this machine, in HOST.colours.json beside its profile. */
#ifndef FATHOM_SQUEEZE_COLOURS_KEPT_H
#define FATHOM_SQUEEZE_COLOURS_KEPT_H

#include <stdint.h>

#include "colours/geometry.h"

struct fm_colours_kept {
	uint64_t hash;
	double near_ns, beyond_ns;
	char taken[32]; /* time, UTC */
};

/* Loads the colours. -ENOENT without a file, or for another processor. The file is not trusted: a discovery verifies
   its colours. */
int fm_colours_kept_load(const struct fm_colours_geometry *geometry, struct fm_colours_kept *ret_kept);

/* Saves the colours and sets `taken`. Without a home directory nothing is saved, without an error. */
void fm_colours_kept_save(const struct fm_colours_geometry *geometry, const struct fm_colours_kept *kept);

#endif
