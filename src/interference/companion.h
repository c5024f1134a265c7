/* A process of ours beside the tool, which learns at once that the tool has ended, however it ended. Two things tell
   it: a pipe whose other end only the tool holds, and the tool's process itself (pidfd); either alone may fail, the
   first when somebody else holds a copy of that end, the second on old kernels. */
#ifndef FATHOM_INTERFERENCE_COMPANION_H
#define FATHOM_INTERFERENCE_COMPANION_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

struct fm_companion {
	pid_t process; /* 0: there is none */
	int line;
};

/* Which end this is, in the companion. */
struct fm_companion_side {
	int line;
	int tool; /* pidfd, or -1 */
};

/* Never returns to the caller: the process ends after it. */
typedef void (*fm_companion_function)(void *context, const struct fm_companion_side *side);

/* To be called by a thread that lives as long as the tool. `name` is what ps shows. `dies_with_us`: the kernel kills it
   when we die, even if it hangs; otherwise it has something to put in order first. Of our files it keeps `keep` alone
   (-1: none). */
int fm_companion_start(const char *name, bool dies_with_us, int keep, fm_companion_function work, void *context,
                       struct fm_companion *ret_companion, struct fm_error *error);

/* In the companion: until the tool is gone or wants it to end. */
void fm_companion_wait(const struct fm_companion_side *side);

bool fm_companion_lives(struct fm_companion *companion);

/* It ends, and is waited for; after so many seconds it is killed, with 0 never. */
void fm_companion_stop(struct fm_companion *companion, double patience);

#endif
