/* The second cache as sysfs describes it, and what follows from that for pages: a page holds lines of one part of the
   cache's sets, its colour. */
#ifndef FATHOM_COLOURS_GEOMETRY_H
#define FATHOM_COLOURS_GEOMETRY_H

#include <stdint.h>

#include "base/error.h"

enum { FM_PAGE_BYTES = 4096, FM_LINE_BYTES = 64, FM_PAGE_LINES = FM_PAGE_BYTES / FM_LINE_BYTES };

/* So many colours, and ways, can be told apart. */
enum { FM_COLOURS_MOST = 128, FM_COLOURS_LEAST = 4, FM_COLOURS_WAYS_MOST = 32 };

struct fm_colours_geometry {
	uint32_t first_ways, first_bytes; /* of the first data cache */
	uint32_t ways, sets;
	uint32_t colours; /* sets in units of a page */
};

static inline double fm_colours_bytes(const struct fm_colours_geometry *geometry)
{
	return (double)geometry->ways * geometry->sets * FM_LINE_BYTES;
}

/* What sysfs says of the CPU. -ENOTSUP when it does not tell, or the cache has no colours that could be used. */
int fm_colours_geometry_read(unsigned cpu, struct fm_colours_geometry *ret_geometry, struct fm_error *error);

/* The same for numbers that were found elsewhere. */
int fm_colours_geometry_check(const struct fm_colours_geometry *geometry, struct fm_error *error);

#endif
