/* Running the program on this machine itself, again and again, for back ends whose times vary. */
#ifndef FATHOM_SQUEEZE_LIVE_H
#define FATHOM_SQUEEZE_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/launch.h"
#include "counters/markers.h"
#include "observe/observe.h"

/* Of a sweep, zeroed at first. */
struct fm_live {
	unsigned runs;
	int status;                       /* of the first run */
	int64_t output_bytes;             /* of the first run that was not seen; -1: none yet */
	const struct fm_markers *markers; /* the program finds these; NULL: none */
	/* while it runs, again and again; NULL: it is waited for */
	void (*watch)(void *context);
	void *watch_context;
};

struct fm_live_run {
	/* in the new process, before the program begins: only what is safe after fork, and setenv */
	void (*prepare)(void *context);
	void *context;
	/* once the process exists and is held, and when it has ended; may be NULL. -errno of the first ends the run */
	int (*ready)(void *context, pid_t process, struct fm_error *error);
	void (*over)(void *context);
};

struct fm_live_end {
	struct fm_launch_end end;
	uint64_t begun; /* ns of fm_clock_now() */
	bool disturbed; /* the hypervisor had the CPU for a noticeable part of it */
};

/* The program of the wishes once. The first run's output is ours, that of the others is only measured; standard input
   is rewound. -ECANCELED when it ends otherwise than at first, or writes more or less; -EINTR when interrupted; -ENOENT
   and -EACCES for the program. */
int fm_live_execute(struct fm_live *live, const struct fm_observation *wanted, const struct fm_live_run *run,
                    struct fm_live_end *ret_end, struct fm_error *error);

#endif
