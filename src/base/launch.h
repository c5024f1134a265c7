/* Running the user's program: one way for all that run it. It is made, held until whoever observes it is ready, let go,
   and waited for. */
#ifndef FATHOM_BASE_LAUNCH_H
#define FATHOM_BASE_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct fm_launch {
	char *const *program; /* looked up in PATH; what is no program is not given to a shell */
	int output;           /* descriptor for its standard output; -1: ours. Then its errors are thrown away */
	int input;            /* … for its standard input; -1: ours */
	bool quiet;           /* its errors are thrown away in any case */
	bool outlives;        /* it goes on when we are killed */
	bool beside;          /* it runs beside the program that people want: signals are not passed on to it */
	/* in the new process, before the program begins; only what is safe after fork */
	void (*prepare)(void *context);
	void *context;
};

struct fm_launched {
	pid_t process;
	int go, failed;
	uint64_t begun; /* ns, when it was let go */
	bool beside;
	bool unseen; /* its output is thrown away: asked to end, it is not waited for long */
};

struct fm_launch_end {
	double seconds;                     /* of the wall clock */
	double cpu_seconds, kernel_seconds; /* of all its threads; of these in the kernel */
	uint64_t switches;                  /* how often its threads gave their processor away to wait */
	uint64_t preemptions;               /* how often it was taken from them */
	uint64_t faults, major_faults;      /* page faults without and with waiting for a disk */
	int status;                         /* 0 … 255, or 128 + the signal */
	int signal;
};

/* What the signals that we handle ourselves were set to when we were started: programs get that. Before anything else.
 */
void fm_launch_remember_signals(void);

/* Made and held. From here to its end, signals that are sent to us are passed on to it (pass_signals.h). */
int fm_launch_begin(const struct fm_launch *launch, struct fm_launched *ret_launched, struct fm_error *error);

/* Let go. -ENOENT and -EACCES when there is no such program or it cannot be run; then it is gone. */
int fm_launch_release(struct fm_launched *launched, const char *name, struct fm_error *error);

/* Never let go. */
void fm_launch_abandon(struct fm_launched *launched);

/* Wait for its end; false when it has not ended and `wait` is false. A program whose output nobody sees is ended a
   second after it was asked to end. */
bool fm_launch_wait(struct fm_launched *launched, bool wait, struct fm_launch_end *ret_end);

#endif
