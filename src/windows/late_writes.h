/* Write-backs after the end of a window. A large cache fills slower than a window lasts: the window writes lines to the
   cache, and none reaches memory before its end. In the whole run they do, and use memory bandwidth. */
#ifndef FATHOM_WINDOWS_LATE_WRITES_H
#define FATHOM_WINDOWS_LATE_WRITES_H

#include "simulator/description.h"

/* Memory traffic of the whole run, as extrapolated from windows. */
struct fm_memory_use {
	double reads, writes;                    /* lines */
	double bandwidth_stalls;                 /* cycles waiting for memory bandwidth */
	double store_stalls;                     /* cycles in which stores wait, for any level */
	double written[FM_SIMULATED_CACHES_MAX]; /* estimated lines from each cache to the next … */
	double written_to_memory;                /* … and to memory */
};

/* Additional cycles of late write-backs. *ret_stores: the part in which stores wait. */
double fm_late_writes_cost(const struct fm_machine_description *machine, const struct fm_memory_use *use,
                           double *ret_stores);

#endif
