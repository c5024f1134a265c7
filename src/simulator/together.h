/* Streams of addresses side by side on one simulated machine: each comes from a generator, has an address space and a
   core, and its counts are its own even where streams share a core. Which one is next is a fixed schedule, or simulated
   time: the stream furthest behind.

   It works for one thread of ours at a time, and is repeatable: the same streams give the same counts. */
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

/* The next reference; false: there are no more. */
typedef bool fm_together_function(void *context, struct fm_together_reference *ret_reference);

struct fm_together_stream {
	/* what it is, by the caller */
	fm_together_function *next;
	void *context;
	unsigned space, core;
	unsigned turn; /* in a fixed schedule: references in a row when it is its turn; 0 is 1 */
	unsigned gap;  /* by time: cycles from one reference to the next, to which a miss adds its latency; 0 is 1 */
	/* With core timing (simulator/core.h) of its core, which no other stream has: its time is the core's. Each
	   reference is one instruction, followed by `gap` additions that each need the result of the one before and of
	   the reference; references overlap as far as the core's queues and the bandwidth of memory allow. A store
	   reads what it changes. NULL: none. */
	struct fm_core_timing *timing;
	/* what it has done so far; zeroed by the caller before the first run */
	struct fm_core_counts counts;
	uint64_t references;
	uint64_t served[FM_SERVED_COUNT]; /* references, by who served them */
	uint64_t time;                    /* cycles */
	bool ended;
};

enum fm_together_order {
	FM_TOGETHER_IN_TURN, /* the first, the second … and the first again */
	FM_TOGETHER_BY_TIME, /* the one furthest behind; of several, the first */
};

/* Lets each stream go on until it has ended, or, with `most`, has made so many references more; with `first_decides`
   all stop when that is true of the first one, and with `others_go_on` the others have no other limit. Called again,
   the streams go on where they are, and counts are added. -EINVAL for a core that the machine does not have or a space
   there is not, -ENOMEM. */
struct fm_together_limits {
	uint64_t most; /* 0: none */
	bool first_decides, others_go_on;
};

int fm_together_run(struct fm_hierarchy *hierarchy, struct fm_together_stream *streams, unsigned count,
                    enum fm_together_order order, const struct fm_together_limits *limits, struct fm_error *error);

/* Generators. None of them ends but the array. */

/* Loads of one line after the other, over and over. */
struct fm_together_sweep {
	uint64_t begin, lines;
	unsigned line_bytes;
	uint64_t at; /* the line that is next */
};
fm_together_function fm_together_sweep_next;

/* Loads of lines at random, each as likely as the others and independent of what was before. */
struct fm_together_random {
	uint64_t begin, lines;
	unsigned line_bytes;
	struct fm_random random;
};
fm_together_function fm_together_random_next;

/* These references. */
struct fm_together_array {
	const struct fm_together_reference *references;
	uint64_t count, at;
};
fm_together_function fm_together_array_next;

#endif
