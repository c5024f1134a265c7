/* Reads the allocations of the program (trace/shared.h), for heap objects. */
#ifndef FATHOM_ENGINE_TRACE_ALLOCATIONS_H
#define FATHOM_ENGINE_TRACE_ALLOCATIONS_H

struct fm_consumer;

/* Reads all that were kept so far: often, so that the ring has room. */
void fm_traced_allocations(struct fm_consumer *consumer);

/* Makes them visible to the accounting. */
void fm_traced_allocations_settle(struct fm_consumer *consumer);

#endif
