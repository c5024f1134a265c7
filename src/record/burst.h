/* Takes samples. The timer's signal sends the thread into a code cache for some hundred references; one of them is
   chosen and timed. */
#ifndef FATHOM_RECORD_BURST_H
#define FATHOM_RECORD_BURST_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

/* Initialises bursts, once per process. 0 or a negative errno. */
int fm_burst_open(void);

/* Begins a burst of this thread, in the timer's signal handler. */
void fm_burst_begin(ucontext_t *context);

/* Handles a fault of the calling thread. True: the runtime caused it; the context is repaired, and the handler returns.
   False: the program caused it; the context is as it would be without the runtime. */
bool fm_burst_mend(ucontext_t *context);

/* Code at these addresses may have changed. */
void fm_burst_code_changed(uint64_t begin, uint64_t size);

/* Marks memory of a device, which is read only where necessary. */
void fm_burst_device(uint64_t begin, uint64_t size);

/* Did a watched line send this signal? If so, the hit is noted. */
bool fm_burst_is_watch(const siginfo_t *information);

/* Ends all watches: the thread or the process is about to end. Inside (self.h). */
void fm_burst_end_watches(void);

/* Ends the bursts of a thread that ends. */
void fm_burst_end_thread(void);

/* In the child after a fork. */
void fm_burst_forked(void);

#endif
