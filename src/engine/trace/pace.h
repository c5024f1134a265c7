/* Slowdown of code with counting and followed lines, from the episodes of a run (trace/pace.h). */
#ifndef FATHOM_ENGINE_TRACE_PACE_H
#define FATHOM_ENGINE_TRACE_PACE_H

#include "engine/results.h"
#include "trace/shared.h"

/* Sets ratio, low, high and episodes; all 0 with too few episodes. */
void fm_pace_estimate(const struct fm_trace_episode *episodes, unsigned count, struct fm_result_pace *ret_pace);

#endif
