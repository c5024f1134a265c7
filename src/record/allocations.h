/* Heap and mapped memory: live allocations and their call stacks. Interposes the allocating functions. */
#ifndef FATHOM_RECORD_ALLOCATIONS_H
#define FATHOM_RECORD_ALLOCATIONS_H

#include "record/self.h"

/* Looks up the next functions; notes whether the program has its own malloc before the interposed one. */
void fm_allocations_open(void);

/* After fork, in the child. */
void fm_allocations_forked(void);

/* From now on keeps one small allocation in `interval` (1: all), chosen at random. Large ones, from 4096 bytes, and
   mappings are all kept up to an interval of 127, above it one in interval / 64. Threads notice within 4096 calls.
   Callable by any thread at any time (costs.h). */
void fm_allocations_set_interval(uint64_t interval);

/* Cost of tracking in this process so far, in ticks: kept calls as measured, others by the measured cost of the short
   way. */
uint64_t fm_allocations_cost(void);

#endif
