/* Threads of the program: each gets a place in the cache when it begins, and gives it back at its end. */
#ifndef FATHOM_NATIVE_THREADS_H
#define FATHOM_NATIVE_THREADS_H

#include "native/place.h"

/* The calling thread, which runs natively, goes on in the cache, if there is a place. */
void fm_thread_begin(void);

/* In a forked child, outside of the cache and with all signals blocked: the calling thread is the only one. False: it
   runs natively from now on. */
bool fm_threads_forked(void);
/* … and is not to be traced. */
void fm_threads_abandon(void);

/* The calling thread runs natively from now on, until fm_thread_return(); it may be in the cache or not. Returns its
   place, with all signals blocked if there is one. */
struct fm_place *fm_thread_step_out(uint64_t *ret_mask);
void fm_thread_return(struct fm_place *place, uint64_t mask);

#endif
