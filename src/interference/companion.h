/* A process beside the tool that detects any end of the tool at once. It watches a pipe to the tool, and the tool's
   pidfd. Each alone may fail: the pipe if another process has a copy, the pidfd on old kernels. */
#ifndef FATHOM_INTERFERENCE_COMPANION_H
#define FATHOM_INTERFERENCE_COMPANION_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

struct fm_companion {
	pid_t process; /* 0: none */
	int line;
};

/* The end of the pipe in the companion. */
struct fm_companion_side {
	int line;
	int tool; /* pidfd, or -1 */
};

/* Main function of the companion; its return ends the process. */
typedef void (*fm_companion_function)(void *context, const struct fm_companion_side *side);

/* Call it in a thread with the life of the tool. `name` is shown by ps. `dies_with_us`: the kernel kills the companion
   with the tool; otherwise it cleans up first. It keeps only the file `keep` (-1: none). */
int fm_companion_start(const char *name, bool dies_with_us, int keep, fm_companion_function work, void *context,
                       struct fm_companion *ret_companion, struct fm_error *error);

/* In the companion: waits until the tool has ended or asks for the end. */
void fm_companion_wait(const struct fm_companion_side *side);

bool fm_companion_lives(struct fm_companion *companion);

/* Asks the companion to end and waits; kills it after `patience` seconds (0: never). */
void fm_companion_stop(struct fm_companion *companion, double patience);

#endif
