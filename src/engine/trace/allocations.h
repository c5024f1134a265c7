/* Reads the allocations of the program (trace/shared.h), for heap objects. */
#ifndef FATHOM_ENGINE_TRACE_ALLOCATIONS_H
#define FATHOM_ENGINE_TRACE_ALLOCATIONS_H

struct fm_consumer;

/* All that were kept so far. */
void fm_traced_allocations(struct fm_consumer *consumer);

#endif
