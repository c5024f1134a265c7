#include "colours/geometry.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/sysfs.h"

int fm_colours_geometry_check(const struct fm_colours_geometry *geometry, struct fm_error *error)
{
	if (!geometry->first_ways || !geometry->ways || !geometry->sets)
		return fm_error_set(error, ENOTSUP, "the kernel does not report the ways and sets of the L2");
	if (geometry->ways > FM_COLOURS_WAYS_MOST || geometry->first_ways > FM_COLOURS_WAYS_MOST)
		return fm_error_set(error, ENOTSUP, "the L2 has %u ways; only %d can be distinguished", geometry->ways,
		                    FM_COLOURS_WAYS_MOST);
	if (geometry->colours * FM_PAGE_LINES != geometry->sets || geometry->colours < FM_COLOURS_LEAST ||
	    geometry->colours > FM_COLOURS_MOST || (geometry->colours & (geometry->colours - 1)))
		return fm_error_set(error, ENOTSUP,
		                    "an L2 of %u sets has no usable page colours: %d to %d, a power of two, are needed",
		                    geometry->sets, FM_COLOURS_LEAST, FM_COLOURS_MOST);
	return 0;
}

static uint32_t number_of(unsigned cpu, unsigned index, const char *name)
{
	long long value;

	return fm_sysfs_read_number(&value, "devices/system/cpu/cpu%u/cache/index%u/%s", cpu, index, name) ||
	               value < 0 || value > UINT32_MAX
	           ? 0
	           : (uint32_t)value;
}

int fm_colours_geometry_read(unsigned cpu, struct fm_colours_geometry *ret_geometry, struct fm_error *error)
{
	struct fm_colours_geometry geometry = {0};
	char type[32];
	int r;

	if (sysconf(_SC_PAGESIZE) != FM_PAGE_BYTES)
		return fm_error_set(error, ENOTSUP, "pages have %ld bytes, and only those of %d are known here",
		                    sysconf(_SC_PAGESIZE), FM_PAGE_BYTES);
	for (unsigned i = 0;
	     !fm_sysfs_read_line(type, sizeof(type), "devices/system/cpu/cpu%u/cache/index%u/type", cpu, i); i++) {
		uint32_t level = number_of(cpu, i, "level"), line = number_of(cpu, i, "coherency_line_size");

		if (level <= 2 && line && line != FM_LINE_BYTES)
			return fm_error_set(error, ENOTSUP, "lines have %u bytes, and only those of %d are known here",
			                    line, FM_LINE_BYTES);
		if (level == 1 && !strcmp(type, "Data")) {
			geometry.first_ways = number_of(cpu, i, "ways_of_associativity");
			geometry.first_bytes =
			    geometry.first_ways * number_of(cpu, i, "number_of_sets") * FM_LINE_BYTES;
		} else if (level == 2 && strcmp(type, "Instruction") != 0) {
			geometry.ways = number_of(cpu, i, "ways_of_associativity");
			geometry.sets = number_of(cpu, i, "number_of_sets");
		}
	}
	geometry.colours = geometry.sets / FM_PAGE_LINES;
	r = fm_colours_geometry_check(&geometry, error);
	if (!r)
		*ret_geometry = geometry;
	return r;
}
