/* Rounds of the laboratory of a traced process (trace/laboratory.h), written into the results. */
#ifndef FATHOM_ENGINE_TRACE_TIMINGS_H
#define FATHOM_ENGINE_TRACE_TIMINGS_H

struct fm_consumer;

/* After the end of the process. */
void fm_traced_timings(struct fm_consumer *consumer);

#endif
