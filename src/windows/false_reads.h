/* Lines that windows count as read from memory although a cache had them. A window knows only lines touched in it, and
   a last cache may hold more than a window touches. Followed lines give the true number of lines from memory; the
   others came from the last cache, in its time. */
#ifndef FATHOM_WINDOWS_FALSE_READS_H
#define FATHOM_WINDOWS_FALSE_READS_H

#include "simulator/description.h"

/* Cycles that remain if those lines came from the last cache: shares of the cycles waiting for memory bandwidth, and of
   those in which stores wait. */
struct fm_false_reads {
	double memory;     /* still waiting for memory */
	double last_cache; /* waiting for the last cache instead */
	double stores;
};

/* `seen`: lines from memory by windows; `truth`: lines from memory; `from_cache`: lines from the last cache by
   windows. */
struct fm_false_reads fm_false_reads(const struct fm_machine_description *machine, double seen, double truth,
                                     double from_cache);

#endif
