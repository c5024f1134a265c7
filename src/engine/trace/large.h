/* Large rings (trace/shared.h): mapping, and their affordable number. */
#ifndef FATHOM_ENGINE_TRACE_LARGE_H
#define FATHOM_ENGINE_TRACE_LARGE_H

#include "trace/shared.h"

/* Maps the large rings of the trace file; NULL if the file is too short or no address space is left. */
const struct fm_trace_large *fm_large_map(const char *path);

/* The number of large rings that take a small part of the available memory. */
unsigned fm_large_affordable(void);

#endif
