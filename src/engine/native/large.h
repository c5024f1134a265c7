/* Large rings (native/trace.h): which of them there are, and how many are worth their memory. */
#ifndef FATHOM_ENGINE_NATIVE_LARGE_H
#define FATHOM_ENGINE_NATIVE_LARGE_H

#include "native/trace.h"

/* Those of the trace at this path, mapped; NULL: its file is too short for them, or there are no addresses left. */
const struct fm_trace_large *fm_large_map(const char *path);

/* So many may be used: together they take a small part of the memory that is left. */
unsigned fm_large_affordable(void);

#endif
