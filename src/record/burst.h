/* Takes samples: the timer's signal sends the thread into a code cache for some hundred references, one of which is
   chosen and timed. */
#ifndef FATHOM_RECORD_BURST_H
#define FATHOM_RECORD_BURST_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

/* Once per process. */
int fm_burst_open(void);

/* The timer fired in this thread; from the signal's handler. */
void fm_burst_begin(ucontext_t *context);

/* The calling thread has faulted. True: it was the runtime's own doing, and the context is mended: return from the
   handler. False: the fault is the program's, and the context is what it would be without the runtime. */
bool fm_burst_mend(ucontext_t *context);

/* Code at these addresses may be another from now on. */
void fm_burst_code_changed(uint64_t begin, uint64_t size);

/* Memory that must not be read without need: a device. */
void fm_burst_device(uint64_t begin, uint64_t size);

/* Was it sent by a line that is watched? Then it has been noted. */
bool fm_burst_is_watch(const siginfo_t *information);

/* The thread, or the process, is about to end: no line is watched any more. Inside (self.h). */
void fm_burst_end_watches(void);

/* The thread ends. */
void fm_burst_end_thread(void);

/* In the child after a fork. */
void fm_burst_forked(void);

#endif
