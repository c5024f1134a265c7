/* Decides when the windows so far suffice, so that further windows may become rare. */
#ifndef FATHOM_ENGINE_TRACE_ENOUGH_H
#define FATHOM_ENGINE_TRACE_ENOUGH_H

#include <stdbool.h>

#include "engine/results.h"

/* True if the lines filled into each cache per instruction are known to `precision` (0.05: within 5 %), by the
   differences between windows. Caches with very few such lines are ignored. */
bool fm_windows_are_enough(const struct fm_result_window *windows, unsigned count, unsigned caches, double precision);

#endif
