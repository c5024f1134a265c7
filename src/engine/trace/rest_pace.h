/* The pace of native rests, in instructions per ns. Plain code shows the pace of each place in the code; positions show
   in which places the rests were. */
#ifndef FATHOM_ENGINE_TRACE_REST_PACE_H
#define FATHOM_ENGINE_TRACE_REST_PACE_H

#include "trace/shared.h"

/* Mean over the positions of all threads in rests. 0: too few positions. */
double fm_rest_pace(const struct fm_trace_file *trace);

#endif
