/* Lines that windows took for lines of memory, and which a cache had: a window knows only what was touched in it, and
   what the last cache holds may take longer to touch than a window lasts. How many lines come from memory in the whole
   run is known from lines that are followed; the others came from the last cache, in its time. */
#ifndef FATHOM_OBSERVE_FALSE_READS_H
#define FATHOM_OBSERVE_FALSE_READS_H

#include "simulator/description.h"

/* Of the cycles that waited for the bandwidth of memory, and of those in which stores waited, what is left if those
   lines came from the last cache: shares of them. */
struct fm_false_reads {
	double memory;     /* that waited for memory all the same */
	double last_cache; /* that waited for the last cache instead */
	double stores;
};

/* By windows so many lines came from memory, in truth so many; and by windows so many from the last cache. */
struct fm_false_reads fm_false_reads(const struct fm_machine_description *machine, double seen, double truth,
                                     double from_cache);

#endif
