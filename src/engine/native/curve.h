/* How far apart the touches of each line are, for misses of caches of any size (reuse/stack.h). Only what misses the
   first cache is noted: what hits it would hit any larger one, and the last touches before that make no difference to
   caches a few times its size. */
#ifndef FATHOM_ENGINE_NATIVE_CURVE_H
#define FATHOM_ENGINE_NATIVE_CURVE_H

#include "engine/native/state.h"

/* 0, or -ENOMEM. */
int fm_native_curve_create(struct fm_consumer *consumer);

/* An access that missed the first cache. */
void fm_native_curve_touch(struct fm_consumer *consumer, uint64_t address);

/* Into the results. */
void fm_native_curve_finish(struct fm_consumer *consumer);

#endif
