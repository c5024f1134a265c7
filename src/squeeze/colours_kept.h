/* What was found out about the colours of this machine, kept beside its profile: HOST.colours.json. */
#ifndef FATHOM_SQUEEZE_COLOURS_KEPT_H
#define FATHOM_SQUEEZE_COLOURS_KEPT_H

#include <stdint.h>

#include "colours/geometry.h"

struct fm_colours_kept {
	uint64_t hash;
	double near_ns, beyond_ns;
	char taken[32]; /* when, UTC */
};

/* -ENOENT: there is nothing, or it is of another processor. The file is not trusted: whoever uses it tests whether
   colours close with it. */
int fm_colours_kept_load(const struct fm_colours_geometry *geometry, struct fm_colours_kept *ret_kept);

/* `taken` is set here. Without a home nothing is kept, which is no error. */
void fm_colours_kept_save(const struct fm_colours_geometry *geometry, const struct fm_colours_kept *kept);

#endif
