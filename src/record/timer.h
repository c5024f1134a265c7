/* A timer of the calling thread that counts its processor time and sends it a signal when it is due.

   Where the kernel allows it, it is a perf event that fires only while the program's own code runs, so that no system
   call of the program is ever interrupted. Newer kernels (5.13) send SIGTRAP from it, which needs no system call for
   each signal; older ones FM_TIMER_SIGNAL, once. Elsewhere, and in new threads until they have lived for a while, it is
   a POSIX timer, which costs less to make. */
#ifndef FATHOM_RECORD_TIMER_H
#define FATHOM_RECORD_TIMER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "record/stream.h"

/* By default this signal is ignored, so one that is still pending when the process executes another program does no
   harm there. */
#define FM_TIMER_SIGNAL SIGURG

/* Which kind is possible here; tried out. *ret_error says why there is none, or none of the better kind. */
enum fm_stream_sampler fm_timer_probe(int *ret_error);

/* Makes the calling thread's timer; the main thread's at once as a perf event if that is possible. */
int fm_timer_start(bool main_thread);
void fm_timer_stop(void);

/* Fires next after so much processor time, on average: the time is drawn at random around it. */
void fm_timer_arm(uint64_t ns);

/* Does not fire any more, until it is armed again. From its signal's handler. */
void fm_timer_disarm(void);

/* A new thread's first signal comes with the first tick of the kernel that finds it running: however short threads
   live, they are found in proportion to their time. Whether this signal is to be passed over, since samples are to be
   taken less often than that. */
bool fm_timer_passes_over(void);

/* The processor time that the sample stands for: the average for which it was armed last. */
uint64_t fm_timer_period(void);

/* Was this signal sent by the calling thread's timer? */
bool fm_timer_is_source(const siginfo_t *information);

/* Does a timer of this process have this file? And the first such file from there on; UINT_MAX: none. */
bool fm_timer_has_file(int file);
unsigned fm_timer_next_file(unsigned first);

/* Another file of ours: moved out of the program's way, and known to the two above. Returns its number. */
long fm_timer_keep_file(long file);
void fm_timer_close_file(int file);

/* The file is somebody else's from now on. If it was the calling thread's, it gets another. */
void fm_timer_lost_file(int file);

/* In the child after a fork: its timers are its parent's. */
void fm_timer_forked(void);

#endif
