/* Limits that were set for the program (ulimit) are not meant for the tool: it raises its own as far as it may, and
   each program that it starts gets them back as they were. */
#ifndef FATHOM_BASE_OWN_LIMITS_H
#define FATHOM_BASE_OWN_LIMITS_H

#include <sys/resource.h>

#include "base/error.h"

/* Before anything else in main(). */
void fm_own_limits_raise(void);

/* In a new process, before the program begins; only what is safe after fork. */
void fm_own_limits_give_back(void);

/* What the tool cannot do with less, in bytes and seconds. */
struct fm_own_needs {
	rlim_t memory, file, cpu;
};

/* 0, or -ENOTSUP where a limit that cannot be raised leaves less than that, with what to do. */
int fm_own_limits_check(const struct fm_own_needs *needs, struct fm_error *error);

/* Calls it on a stack of its own, since that of the process may be small (ulimit -s). Returns its result. */
int fm_own_limits_on_stack(int (*function)(int, char **), int argc, char **argv);

#endif
