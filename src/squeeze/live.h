/* Repeated runs of the program on this machine, for back ends with varying times. */
#ifndef FATHOM_SQUEEZE_LIVE_H
#define FATHOM_SQUEEZE_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/launch.h"
#include "counters/markers.h"
#include "observe/observe.h"

/* State of a sweep, zeroed first. */
struct fm_live {
	unsigned runs;
	int status;                       /* exit status of the first run */
	int64_t output_bytes;             /* of the first hidden run; -1: none yet */
	const struct fm_markers *markers; /* for the program; NULL: none */
	/* called periodically during a run; NULL: wait for its end */
	void (*watch)(void *context);
	void *watch_context;
};

struct fm_live_run {
	/* runs in the new process before the program starts: async-signal-safe functions and setenv */
	void (*prepare)(void *context);
	void *context;
	/* called when the process exists and is held, and after its end; may be NULL. An error of the first ends the
	   run */
	int (*ready)(void *context, pid_t process, struct fm_error *error);
	void (*over)(void *context);
};

struct fm_live_end {
	struct fm_launch_end end;
	uint64_t begun; /* ns of fm_clock_now() */
	bool disturbed; /* noticeable steal time */
};

/* Runs the program once. The output of the first run is inherited, that of others only measured; standard input is
   rewound. -ECANCELED for another exit status or another number of output bytes; -EINTR if interrupted; -ENOENT and
   -EACCES for the program. */
int fm_live_execute(struct fm_live *live, const struct fm_observation *wanted, const struct fm_live_run *run,
                    struct fm_live_end *ret_end, struct fm_error *error);

#endif
