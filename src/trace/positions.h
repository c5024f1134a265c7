/* Positions: where threads are at the ticks of their processor time, while they run natively or in plain code. They
   show where the time is spent at the program's own speed, and which threads work at the same time. All functions need
   blocked signals. */
#ifndef FATHOM_TRACE_POSITIONS_H
#define FATHOM_TRACE_POSITIONS_H

#include <ucontext.h>

#include "trace/place.h"

/* A new thread has the place. */
void fm_positions_begin(struct fm_place *place);

/* Native or plain code begins: time before it is not represented. */
void fm_positions_resume(struct fm_place *place);

/* At a tick of the thread. `context`: of the interrupted code, as the kernel passed it. */
void fm_positions_note(struct fm_place *place, const ucontext_t *context);

/* The latest position, in plain code, stands for this number of instructions. */
void fm_positions_count(struct fm_place *place, uint64_t instructions);

#endif
