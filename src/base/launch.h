/* Runs the user's program: the process is created, held until the observer is ready, and released. */
#ifndef FATHOM_BASE_LAUNCH_H
#define FATHOM_BASE_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct fm_launch {
	char *const *program; /* searched in PATH; an unknown file format is not passed to a shell */
	int output;    /* descriptor for its standard output; -1: inherited. With a descriptor, its standard error is
	                  discarded */
	int input;     /* descriptor for its standard input; -1: inherited */
	bool quiet;    /* its standard error is always discarded */
	bool outlives; /* it continues if the tool is killed */
	bool beside;   /* it runs beside the observed program and receives no signals from the tool */
	/* called in the new process before the program starts; async-signal-safe */
	void (*prepare)(void *context);
	void *context;
};

struct fm_launched {
	pid_t process;
	int go, failed;
	uint64_t begun; /* time of the release in ns */
	bool beside;
	bool unseen; /* its output is discarded; a request to end is enforced after a second */
};

struct fm_launch_end {
	double seconds;                     /* wall-clock time */
	double cpu_seconds, kernel_seconds; /* all threads; of these in the kernel */
	uint64_t switches;                  /* voluntary context switches */
	uint64_t preemptions;               /* involuntary context switches */
	uint64_t faults, major_faults;      /* page faults without and with disk access */
	int status;                         /* 0 … 255, or 128 + the signal */
	int signal;
};

/* Saves the dispositions of handled signals at the start of the tool, for its programs. Call first in main(). */
void fm_launch_remember_signals(void);

/* Creates and holds the process. Until its end, signals to the tool are forwarded to it (pass_signals.h). */
int fm_launch_begin(const struct fm_launch *launch, struct fm_launched *ret_launched, struct fm_error *error);

/* Releases the process. -ENOENT or -EACCES: the program cannot be run, and the process has ended. */
int fm_launch_release(struct fm_launched *launched, const char *name, struct fm_error *error);

/* Ends a held process. */
void fm_launch_abandon(struct fm_launched *launched);

/* Waits for the end of the process; with `wait` false, returns false if it still runs. An unseen program is killed one
   second after a request to end. */
bool fm_launch_wait(struct fm_launched *launched, bool wait, struct fm_launch_end *ret_end);

#endif
