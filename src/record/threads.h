/* Threads of the program. A thread gets a number, a timer and room in the log at its start, and returns them at its
   end. */
#ifndef FATHOM_RECORD_THREADS_H
#define FATHOM_RECORD_THREADS_H

#include <stdbool.h>

int fm_threads_open(void);

/* Registers the calling thread: the main thread or, in a forked child, the only one. */
void fm_thread_begin(bool main_thread, unsigned long stack_bytes);
void fm_thread_end(void);

/* Notes the processor time of threads that could be sampled. At the end of the process. */
void fm_threads_sum_up(void);
/* In a forked child: other threads do not exist there. */
void fm_threads_forked(void);

/* Logs the current name of the calling thread. Inside (self.h). */
void fm_thread_name(void);

#endif
