/* Heap and mapped memory: which allocations live, where they were made. Interposes the allocating functions. */
#ifndef FATHOM_RECORD_ALLOCATIONS_H
#define FATHOM_RECORD_ALLOCATIONS_H

#include "record/self.h"

/* Finds the functions that come after ours; says whether the program has its own malloc before ours. */
void fm_allocations_open(void);

/* After fork, in the child. */
void fm_allocations_forked(void);

/* One small allocation in `interval` is kept from now on (1: each), chosen at random; large ones, from 4096 bytes, and
   mappings are all kept up to an interval of 127, then one in interval / 64. A thread notices within 4096 calls. May be
   called by any thread at any time: by whoever watches the costs (costs.h). */
void fm_allocations_set_interval(uint64_t interval);

/* What tracking has cost in this process so far, in ticks: the calls that were kept as measured, the others by the
   measured cost of the shortest way through. */
uint64_t fm_allocations_cost(void);

#endif
