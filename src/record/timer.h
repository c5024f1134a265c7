/* A timer on the processor time of the calling thread, which sends a signal to the thread.

   Where the kernel allows it, the timer is a perf event that fires only in the program's own code: no system call of
   the program is interrupted. Kernels from 5.13 on send SIGTRAP directly, without a system call per signal; older ones
   send FM_TIMER_SIGNAL, once. Elsewhere, and at first in new threads, the timer is a POSIX timer, which is cheaper to
   make. */
#ifndef FATHOM_RECORD_TIMER_H
#define FATHOM_RECORD_TIMER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "record/stream.h"

/* Ignored by default: a signal still pending when the process executes another program does no harm. */
#define FM_TIMER_SIGNAL SIGURG

/* Tries which kind of timer is possible. *ret_error: errno why none, or none of the better kind, is possible. */
enum fm_stream_sampler fm_timer_probe(int *ret_error);

/* Makes the calling thread's timer; for the main thread at once a perf event if possible. 0 or a negative errno. */
int fm_timer_start(bool main_thread);
void fm_timer_stop(void);

/* Arms the timer for `ns` of processor time on average: each time is drawn at random. */
void fm_timer_arm(uint64_t ns);

/* Stops the timer until it is armed again. From the handler of its signal. */
void fm_timer_disarm(void);

/* Is this signal to be ignored, since samples are wanted less often? A new thread's first signal comes with the first
   tick of the kernel that finds it running. Short threads are thus found in proportion to their time. */
bool fm_timer_passes_over(void);

/* Processor time that the sample represents: the average of the last fm_timer_arm(). */
uint64_t fm_timer_period(void);

/* Was this signal sent by the calling thread's timer? */
bool fm_timer_is_source(const siginfo_t *information);

/* Does a timer of this process use this file? And the first such file from `file` on; UINT_MAX: none. */
bool fm_timer_has_file(int file);
unsigned fm_timer_next_file(unsigned first);

/* Moves a file of the runtime out of the program's range, and registers it for the two functions above. Returns its
   number. */
long fm_timer_keep_file(long file);
void fm_timer_close_file(int file);

/* The file now belongs to the program. If the calling thread's timer used it, the thread gets a new timer. */
void fm_timer_lost_file(int file);

/* In the child after a fork: drops the timers, which belong to the parent. */
void fm_timer_forked(void);

#endif
