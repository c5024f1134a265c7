/* Traces that the library in the program writes, as both sides of the engine read them. */
#ifndef FATHOM_ENGINE_NATIVE_MAP_H
#define FATHOM_ENGINE_NATIVE_MAP_H

#include "native/trace.h"

/* The trace of that name in the folder of the run, of which nothing is trusted but that it is a file of the right size.
   NULL: there is none, or not yet. */
struct fm_trace_file *fm_trace_map(const char *folder, const char *name);

/* The number of the process for us, which may be another than its own. */
static inline uint32_t fm_trace_process(const struct fm_trace_head *head)
{
	return head->known_as ? head->known_as : head->process;
}

#endif
