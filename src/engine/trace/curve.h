/* Stack distances of all lines, for the misses of caches of any size (reuse/stack.h). Only misses of the first cache
   are recorded: its hits also hit any larger cache, and their effect on the order of touches is negligible for caches
   several times its size. */
#ifndef FATHOM_ENGINE_TRACE_CURVE_H
#define FATHOM_ENGINE_TRACE_CURVE_H

#include "engine/trace/state.h"

/* 0, or -ENOMEM. */
int fm_traced_curve_create(struct fm_consumer *consumer);

/* Records an access that missed the first cache. */
void fm_traced_curve_touch(struct fm_consumer *consumer, uint64_t address);

/* Writes the histogram into the results. */
void fm_traced_curve_finish(struct fm_consumer *consumer);

#endif
