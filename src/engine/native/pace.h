/* How much slower code runs that is counted and whose lines are followed, from the episodes of a run (native/pace.h).
 */
#ifndef FATHOM_ENGINE_NATIVE_PACE_H
#define FATHOM_ENGINE_NATIVE_PACE_H

#include "engine/results.h"
#include "native/trace.h"

/* Sets ratio, its ends, and how many episodes there were; all 0 where there were too few. */
void fm_pace_estimate(const struct fm_trace_episode *episodes, unsigned count, struct fm_result_pace *ret_pace);

#endif
