/* The present clock of the core. It falls with the load of the other cores, and on rented machines for reasons
   invisible to a guest. */
#ifndef FATHOM_MEASURE_CLOCK_H
#define FATHOM_MEASURE_CLOCK_H

#include "base/figure.h"

/* In GHz, on the CPU of the calling thread: the mean over 25 ms, after 15 ms in which the clock may rise. Not available
   without undisturbed time. */
struct fm_figure fm_clock_measure(void);

#endif
