/* Threads of the program: each gets a place in the code cache at its start, and returns it at its end. */
#ifndef FATHOM_TRACE_THREADS_H
#define FATHOM_TRACE_THREADS_H

#include "trace/place.h"

/* Moves the calling thread, which runs natively, into the cache, if a place is free. */
void fm_traced_thread_begin(void);

/* In a forked child, outside of the cache with all signals blocked: the calling thread is the only one. False: it now
   runs natively. */
bool fm_traced_threads_forked(void);
/* The same in a child that is not to be traced. */
void fm_threads_abandon(void);

/* Runs the calling thread natively until fm_thread_return(); it may be in the cache or not. Returns its place, with all
   signals blocked if it has one. */
struct fm_place *fm_thread_step_out(uint64_t *ret_mask);
void fm_thread_return(struct fm_place *place, uint64_t mask);

#endif
