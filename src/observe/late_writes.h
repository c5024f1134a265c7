/* Write-backs that windows cannot see. A large cache takes longer to fill than a window lasts: lines are written to it,
   and none of them goes on to memory before the window ends. In the whole run they do, and take their share of memory's
   bandwidth. */
#ifndef FATHOM_OBSERVE_LATE_WRITES_H
#define FATHOM_OBSERVE_LATE_WRITES_H

#include "simulator/description.h"

/* Of the whole run, as windows have it. */
struct fm_memory_use {
	double reads, writes;                    /* lines */
	double bandwidth_stalls;                 /* cycles that waited for the bandwidth of memory */
	double store_stalls;                     /* … for stores, whatever holds the lines that they write */
	double written[FM_SIMULATED_CACHES_MAX]; /* lines from each cache to the next, by the estimates … */
	double written_to_memory;                /* … and in the end */
};

/* Cycles that pass in addition. *ret_stores is the part of them in which stores wait. */
double fm_late_writes_cost(const struct fm_machine_description *machine, const struct fm_memory_use *use,
                           double *ret_stores);

#endif
