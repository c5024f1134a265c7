/* Mapping of the traces that the preloaded library writes. */
#ifndef FATHOM_ENGINE_TRACE_MAP_H
#define FATHOM_ENGINE_TRACE_MAP_H

#include "trace/shared.h"

/* Maps the trace of that name in the folder of the run. Only its size is checked; the contents are not trusted. NULL:
   no trace, or not yet. */
struct fm_trace_file *fm_trace_map(const char *folder, const char *name);

/* The process number in the tool's namespace, which may differ from the process's own. */
static inline uint32_t fm_trace_process(const struct fm_trace_head *head)
{
	return head->known_as ? head->known_as : head->process;
}

#endif
