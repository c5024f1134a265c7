/* What the scheduler says of the threads of a running program: how long each ran, waited for a processor, and was
   there. It is looked up while the program runs (/proc/PID/task/TID/schedstat), since nothing is left of a thread that
   has ended. */
#ifndef FATHOM_OBSERVE_SCHEDULE_H
#define FATHOM_OBSERVE_SCHEDULE_H

#include <stdbool.h>
#include <sys/types.h>

enum { FM_SCHEDULED_MAX = 256 };

/* Seconds, up to the last look. What is missing is sleeping: blocked in the kernel for something. */
struct fm_scheduled {
	pid_t thread;
	double ran, delayed; /* on a processor; ready, and waiting for one */
	double began, lived; /* when it was first seen, and for how long */
};

struct fm_schedule; /* looks at one process, in a thread of its own */

/* NULL: there is no memory, or no thread. */
struct fm_schedule *fm_schedule_begin(pid_t process);

/* In the order in which they were made. Returns how many there are. */
unsigned fm_schedule_end(struct fm_schedule *schedule, struct fm_scheduled ret_threads[FM_SCHEDULED_MAX]);

/* The numbers of a line of schedstat: nanoseconds on a processor and waiting for one. False: it is none. */
bool fm_schedule_parse(const char *line, double *ret_ran, double *ret_delayed);

#endif
