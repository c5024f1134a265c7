/* Threads of the program: each gets a number, a timer and room in the log when it begins, and gives them back at its
 * end.
 */
#ifndef FATHOM_RECORD_THREADS_H
#define FATHOM_RECORD_THREADS_H

#include <stdbool.h>

int fm_threads_open(void);

/* The calling thread begins: the main one, or, in a forked child, the only one. */
void fm_thread_begin(bool main_thread, unsigned long stack_bytes);
void fm_thread_end(void);

/* Notes how much of the processor time was spent by threads that could be sampled. At the end of the process. */
void fm_threads_sum_up(void);
/* In a forked child: other threads do not exist there. */
void fm_threads_forked(void);

/* Writes the calling thread's name down, as it is now. Inside. */
void fm_thread_name(void);

#endif
