/* The program's signal handlers run natively and see the addresses they would see without a cache; after them the
   thread goes on in the cache. A timer looks where the thread is, brings it back if it is outside, and begins windows.
   All of this runs with all signals blocked, the program's handlers with the mask that they expect. */
#ifndef FATHOM_NATIVE_SIGNALS_H
#define FATHOM_NATIVE_SIGNALS_H

#include "native/place.h"

/* By default this signal is ignored, so one that is still pending when the process executes another program does no
   harm there. The program may use it too. */
#define FM_TICK SIGURG
#define FM_TICK_BIT ((uint64_t)1 << (FM_TICK - 1))

/* Once per process. 0 or a negative errno. */
int fm_signals_open(void);

/* Gives the program's handlers back to the kernel, for good. */
void fm_signals_close(void);

/* Of the calling thread. */
void fm_signals_begin_ticks(struct fm_place *place);
void fm_signals_end_ticks(struct fm_place *place);

/* Forgets handlers that were left by a jump, seen from a stack pointer. */
void fm_signals_drop_dead(struct fm_place *place, uint64_t stack, const stack_t *alternate);

/* The C library's handler of cancellation is installed by its first use. */
void fm_signals_take_cancellation(void);

/* Asks the thread of the place to look whether tracing has stopped. */
void fm_signals_poke(const struct fm_place *place);

#endif
