/* The scheduler's account of the threads of a running program: time on a processor, time ready without one, and
   lifetime. It is read while the program runs (/proc/PID/task/TID/schedstat), since ended threads leave no account. */
#ifndef FATHOM_BASE_SCHEDULE_H
#define FATHOM_BASE_SCHEDULE_H

#include <stdbool.h>
#include <sys/types.h>

enum { FM_SCHEDULED_MAX = 256 };

/* Seconds up to the last reading. The rest of the lifetime is sleeping in the kernel. */
struct fm_scheduled {
	pid_t process, thread;
	double ran, delayed; /* on a processor; ready without one */
	double began, lived; /* time of the first reading; lifetime */
	/* time on a processor and time blocked, in intervals between readings with hardly any delay of any thread */
	double quiet_ran, quiet_blocked;
	double alone; /* time in which no other watched thread ran; error of some milliseconds per interval */
};

struct fm_schedule;

/* Watches one process, read at each fm_schedule_look(). Times before this call, perhaps of another program, are
   subtracted. NULL without memory. */
struct fm_schedule *fm_schedule_create(pid_t process);
/* Reads the accounts, unless the time for that would be more than a hundredth of all. `held_up`: seconds since the
 * start with other delays of the threads. */
void fm_schedule_look(struct fm_schedule *schedule, double held_up);

/* Watches a process and its children from a separate thread. NULL without memory or thread. */
struct fm_schedule *fm_schedule_begin(pid_t process);

/* Processes in order of appearance, threads in order of creation. Returns their number and frees the schedule. */
unsigned fm_schedule_end(struct fm_schedule *schedule, struct fm_scheduled ret_threads[FM_SCHEDULED_MAX]);

/* Keeps only the threads of the process with the most processor time, which drops shells. Returns their number. */
unsigned fm_schedule_busiest(struct fm_scheduled *threads, unsigned count);

/* Parses a line of schedstat: time on a processor and time ready without one, in seconds. False if it is malformed. */
bool fm_schedule_parse(const char *line, double *ret_ran, double *ret_delayed);

#endif
