/* Signals of the program. Its handlers run natively and see original addresses; after them the thread continues in the
   cache. A timer checks the thread, brings it back into the cache, and begins windows. All of this runs with all
   signals blocked, the program's handlers with the mask that they expect. */
#ifndef FATHOM_TRACE_SIGNALS_H
#define FATHOM_TRACE_SIGNALS_H

#include "trace/place.h"

/* Ignored by default: a signal still pending when the process executes another program does no harm. The program may
   use it too. */
#define FM_TICK SIGURG
#define FM_TICK_BIT ((uint64_t)1 << (FM_TICK - 1))

/* Installs the handlers, once per process. 0 or a negative errno. */
int fm_handlers_open(void);

/* Restores the program's handlers in the kernel, permanently. */
void fm_handlers_close(void);

/* Begins the ticks of the calling thread. */
void fm_signals_begin_ticks(struct fm_place *place);
void fm_signals_end_ticks(struct fm_place *place);

/* Removes handlers that were left by a jump, judged by a stack pointer. */
void fm_signals_drop_dead(struct fm_place *place, uint64_t stack, const stack_t *alternate);

/* Takes over the C library's cancellation handler, which its first use installs. */
void fm_signals_take_cancellation(void);

/* Makes the thread of the place check whether tracing has stopped. */
void fm_signals_poke(const struct fm_place *place);

#endif
