/* The two measurements behind all colours, as an interface: the caches of this machine, or simulated ones in tests.
   Pages are addresses, and only a probe accesses them. */
#ifndef FATHOM_COLOURS_PROBE_H
#define FATHOM_COLOURS_PROBE_H

#include <stdint.h>

#include "colours/geometry.h"

/* Offsets of the accessed lines of a page. Line `warm` is loaded first, to fill the TLB. */
struct fm_colours_lines {
	uint32_t count;
	uint32_t offsets[FM_PAGE_LINES];
	uint32_t warm;
};

struct fm_colours_probe {
	void *context;
	/* ns per step of a cyclic chase over the lines in the given order, after two loads of each. Writes to the
	   lines. */
	double (*chase)(void *context, char *const *lines, unsigned count, unsigned steps);
	/* Loads the lines of the target, then the lines of all pages `passes` times. Returns the cycles of a serial
	   reload of the target's lines. */
	uint32_t (*reload)(void *context, const struct fm_colours_lines *lines, char *target, char *const *pages,
	                   unsigned count, unsigned passes);
};

/* The caches of this machine. The calling thread must be pinned. */
extern const struct fm_colours_probe fm_colours_probe_live;

#endif
