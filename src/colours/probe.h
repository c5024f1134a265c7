/* The two measurements that everything about colours rests on, behind an interface: this machine's caches, or simulated
   ones in tests. Pages are addresses; only a probe looks at what is there. */
#ifndef FATHOM_COLOURS_PROBE_H
#define FATHOM_COLOURS_PROBE_H

#include <stdint.h>

#include "colours/geometry.h"

/* The lines of a page that are looked at, as offsets. A further one, `warm`, is loaded first so that the page's
   translation is there. */
struct fm_colours_lines {
	uint32_t count;
	uint32_t offsets[FM_PAGE_LINES];
	uint32_t warm;
};

struct fm_colours_probe {
	void *context;
	/* ns for each of so many steps from line to line, round and round in the order given, after everything was
	   loaded twice. Writes to the lines. */
	double (*chase)(void *context, char *const *lines, unsigned count, unsigned steps);
	/* Loads the lines of the target, then those of all pages so many times, and says how many cycles it takes to
	   load those of the target again, one after the other. */
	uint32_t (*reload)(void *context, const struct fm_colours_lines *lines, char *target, char *const *pages,
	                   unsigned count, unsigned passes);
};

/* This machine's caches. The calling thread must stay on one CPU. */
extern const struct fm_colours_probe fm_colours_probe_live;

#endif
