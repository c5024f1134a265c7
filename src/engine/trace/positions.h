/* Positions of the threads of a traced process (trace/positions.h), classified and written into the results. */
#ifndef FATHOM_ENGINE_TRACE_POSITIONS_H
#define FATHOM_ENGINE_TRACE_POSITIONS_H

struct fm_consumer;

/* After the last entry was read, and the lines that moved between cores are in the results. */
void fm_traced_positions(struct fm_consumer *consumer);

#endif
