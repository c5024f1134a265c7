/* Resource limits (ulimit) are meant for the program. The tool raises its own limits as far as allowed, and its
   programs get the original ones. */
#ifndef FATHOM_BASE_OWN_LIMITS_H
#define FATHOM_BASE_OWN_LIMITS_H

#include <sys/resource.h>

#include "base/error.h"

/* Call first in main(). */
void fm_own_limits_raise(void);

/* Restores the limits in a new process before the program starts; async-signal-safe. */
void fm_own_limits_give_back(void);

/* Minimum limits of the tool, in bytes and seconds. */
struct fm_own_needs {
	rlim_t memory, file, cpu;
};

/* 0, or -ENOTSUP with a remedy if a hard limit is below the minimum. */
int fm_own_limits_check(const struct fm_own_needs *needs, struct fm_error *error);

/* Calls the function on a separate stack, since the stack of the process may be small (ulimit -s). Returns its
   result. */
int fm_own_limits_on_stack(int (*function)(int, char **), int argc, char **argv);

#endif
