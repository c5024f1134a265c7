/* What it costs threads that several of them want a line at the same time: arithmetic on how often each uses it and how
   long its own work between two uses takes, with what the machine was measured to take (docs/decisions/threads.md). */
#ifndef FATHOM_MODEL_CONTENTION_H
#define FATHOM_MODEL_CONTENTION_H

#include <stdbool.h>

#include "machine/machine.h"

struct fm_range {
	double value, low, high;
};

/* One thread's use of a line, over the whole run. */
struct fm_line_use {
	double atomics;     /* atomic operations */
	double stores;      /* others */
	double loads;       /* others */
	double near;        /* share of the operations that are close to one before, 0 … 1 */
	double own_seconds; /* that its own work takes in these, all of them together */
	double got;         /* times it got the line from another thread, as the engine let them take turns */
	double distance;    /* from one operation to the next, in the units of … */
	double turn;        /* … how far a thread went at a time in the engine */
};

/* What operations take while so many threads do nothing else, and what one transfer takes; s. A thread that gets the
   line keeps it for a while, in which it can do several operations if they are close enough together. */
struct fm_contended_costs {
	struct fm_range atomic, store, transfer;
	double atomic_kept, store_kept;
	bool measured; /* false: from the transfer alone */
};

/* For so many threads, which need not be a whole number. False: not even transfers between cores were measured. */
bool fm_contended_costs(const struct fm_machine *profile, double threads, struct fm_contended_costs *ret_costs);

/* How many threads use the line: those that hardly do count for little. */
double fm_line_threads(const struct fm_line_use *uses, unsigned count);

/* Seconds that one of them takes longer, since the line can be in one place only (serial), and since it has to come
   from elsewhere (moving; of this `atomic`: for atomic operations, which nothing overtakes). Of several lines the
   largest serial, and the sum of moving at most: a core waits for several lines at once, see fm_contention_sum(). */
struct fm_line_cost {
	struct fm_range serial, moving, atomic;
	struct fm_range largest; /* of several lines: of moving without `atomic`, the most that one has */
};
struct fm_line_cost fm_line_contention(const struct fm_line_use *uses, unsigned count, unsigned which,
                                       const struct fm_contended_costs *costs);

/* Add one line's to what the thread loses on others; and in all. */
void fm_contention_add(struct fm_line_cost *sum, const struct fm_line_cost *line);
struct fm_range fm_contention_sum(const struct fm_line_cost *sum);

/* Share of a thread's time in which another thread runs, too: `available` is the share of the time in which a ready
   thread has a processor. Threads that take turns on one processor never meet. */
struct fm_range fm_running_at_once(double available);

#endif
