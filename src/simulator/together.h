/* Streams of addresses side by side on one simulated machine. Each stream comes from a generator, and has an address
   space, a core, and its own counts even on a shared core. A fixed schedule or simulated time (the stream furthest
   behind) selects the next stream.

   Call it from one thread at a time. It is repeatable: the same streams give the same counts. */
#ifndef FATHOM_SIMULATOR_TOGETHER_H
#define FATHOM_SIMULATOR_TOGETHER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/random.h"
#include "simulator/core.h"
#include "simulator/hierarchy.h"

struct fm_together_reference {
	uint64_t address; /* in the stream's own space */
	unsigned bytes;   /* up to a line's */
	enum fm_access access;
};

/* Returns the next reference. False: none left. */
typedef bool fm_together_function(void *context, struct fm_together_reference *ret_reference);

struct fm_together_stream {
	/* definition of the stream, by the caller */
	fm_together_function *next;
	void *context;
	unsigned space, core;
	unsigned turn; /* in a fixed schedule: references per turn; 0 is 1 */
	unsigned gap;  /* by time: cycles between references, to which a miss adds its latency; 0 is 1 */
	/* Core timing (simulator/core.h) of a core with this stream only: its time is the core's. Each reference is one
	   instruction, followed by `gap` additions in a dependence chain that starts with the reference. References
	   overlap as far as the core's queues and the bandwidth of memory allow. A store reads what it changes. NULL:
	   none. */
	struct fm_core_timing *timing;
	/* progress so far; zeroed by the caller before the first run */
	struct fm_core_counts counts;
	uint64_t references;
	uint64_t served[FM_SERVED_COUNT]; /* references, by FM_SERVED_… level */
	uint64_t time;                    /* cycles */
	bool ended;
};

enum fm_together_order {
	FM_TOGETHER_IN_TURN, /* cyclically */
	FM_TOGETHER_BY_TIME, /* the stream furthest behind; of several, the first */
};

/* Runs each stream to its end, or, with `most`, for that number of references. With `first_decides` all stop with the
   first stream, and with `others_go_on` the others have no other limit. Another call continues the streams and adds to
   the counts. -EINVAL: a core or a space does not exist; -ENOMEM. */
struct fm_together_limits {
	uint64_t most; /* 0: none */
	bool first_decides, others_go_on;
};

int fm_together_run(struct fm_hierarchy *hierarchy, struct fm_together_stream *streams, unsigned count,
                    enum fm_together_order order, const struct fm_together_limits *limits, struct fm_error *error);

/* Generators. Only the array ends. */

/* Loads of consecutive lines, repeatedly. */
struct fm_together_sweep {
	uint64_t begin, lines;
	unsigned line_bytes;
	uint64_t at; /* the next line */
};
fm_together_function fm_together_sweep_next;

/* Loads of random lines, equally likely and independent. */
struct fm_together_random {
	uint64_t begin, lines;
	unsigned line_bytes;
	struct fm_random random;
};
fm_together_function fm_together_random_next;

/* The given references. */
struct fm_together_array {
	const struct fm_together_reference *references;
	uint64_t count, at;
};
fm_together_function fm_together_array_next;

#endif
