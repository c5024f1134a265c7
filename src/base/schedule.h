/* What the scheduler says of the threads of a running program: how long each ran, waited for a processor, and was
   there. It is looked up while the program runs (/proc/PID/task/TID/schedstat), since nothing is left of a thread that
   has ended. */
#ifndef FATHOM_BASE_SCHEDULE_H
#define FATHOM_BASE_SCHEDULE_H

#include <stdbool.h>
#include <sys/types.h>

enum { FM_SCHEDULED_MAX = 256 };

/* Seconds, up to the last look. What is missing is sleeping: blocked in the kernel for something. */
struct fm_scheduled {
	pid_t process, thread;
	double ran, delayed; /* on a processor; ready, and waiting for one */
	double began, lived; /* when it was first seen, and for how long */
	/* from one look to the next where hardly any thread of the process waited for a processor, and nothing else
	   was known to hold them up: on a processor, and blocked */
	double quiet_ran, quiet_blocked;
};

struct fm_schedule;

/* Looks at one process when it is told to: fm_schedule_look(). Its first thread may have executed another program
   before: what it did until now is not counted. NULL: there is no memory. */
struct fm_schedule *fm_schedule_create(pid_t process);
/* `held_up`: seconds for which its threads were held up by something else, since it began. */
void fm_schedule_look(struct fm_schedule *schedule, double held_up);

/* Looks at a process and what it makes, in a thread of its own. NULL: there is no memory, or no thread. */
struct fm_schedule *fm_schedule_begin(pid_t process);

/* Process by process as they came, threads in the order in which they were made. Returns how many there are; the
   schedule is gone. */
unsigned fm_schedule_end(struct fm_schedule *schedule, struct fm_scheduled ret_threads[FM_SCHEDULED_MAX]);

/* Of several processes, leaves the threads of the one that ran longest: shells and the like only start it. Returns how
   many are left. */
unsigned fm_schedule_busiest(struct fm_scheduled *threads, unsigned count);

/* The numbers of a line of schedstat: nanoseconds on a processor and waiting for one. False: it is none. */
bool fm_schedule_parse(const char *line, double *ret_ran, double *ret_delayed);

#endif
