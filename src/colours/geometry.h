/* Geometry of the second cache from sysfs. The colour of a page is the part of the cache's sets that its lines map
   to. */
#ifndef FATHOM_COLOURS_GEOMETRY_H
#define FATHOM_COLOURS_GEOMETRY_H

#include <stdint.h>

#include "base/error.h"

enum { FM_PAGE_BYTES = 4096, FM_LINE_BYTES = 64, FM_PAGE_LINES = FM_PAGE_BYTES / FM_LINE_BYTES };

/* Limits of colours and ways. */
enum { FM_COLOURS_MOST = 128, FM_COLOURS_LEAST = 4, FM_COLOURS_WAYS_MOST = 32 };

struct fm_colours_geometry {
	uint32_t first_ways, first_bytes; /* of the first data cache */
	uint32_t ways, sets;
	uint32_t colours; /* sets per page */
};

static inline double fm_colours_bytes(const struct fm_colours_geometry *geometry)
{
	return (double)geometry->ways * geometry->sets * FM_LINE_BYTES;
}

/* Reads sysfs for a CPU. -ENOTSUP if it lacks the geometry, or the cache has no usable colours. */
int fm_colours_geometry_read(unsigned cpu, struct fm_colours_geometry *ret_geometry, struct fm_error *error);

/* Checks a geometry from another source; -ENOTSUP as above. */
int fm_colours_geometry_check(const struct fm_colours_geometry *geometry, struct fm_error *error);

#endif
