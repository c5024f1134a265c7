/* Contention: the cost of lines that several threads use at the same time, from the uses of each line, the work between
   two uses, and the machine's measured costs (docs/decisions/threads.md). */
#ifndef FATHOM_MODEL_CONTENTION_H
#define FATHOM_MODEL_CONTENTION_H

#include <stdbool.h>

#include "profile/profile.h"

struct fm_bounds {
	double value, low, high;
};

/* One thread's use of a line, over the whole run. */
struct fm_line_use {
	double atomics;     /* atomic operations */
	double stores;      /* other stores */
	double loads;       /* other loads */
	double near;        /* share of operations shortly after the previous one, 0 … 1 */
	double own_seconds; /* time of the thread's own work, sum over the whole run */
	double got;         /* transfers of the line from another thread, in the engine's order of turns */
	double distance;    /* between two operations, in the unit of `turn` */
	double turn;        /* length of a thread's turn in the engine */
};

/* Seconds of an operation while a number of threads execute nothing else, and of one transfer. A thread holds the line
   for several operations if they are close together. */
struct fm_contended_costs {
	struct fm_bounds atomic, store, transfer;
	double atomic_kept, store_kept;
	bool measured; /* false: derived from the transfer alone */
};

/* Costs for a (possibly fractional) number of threads. False if the profile lacks even transfers between cores. */
bool fm_contended_costs(const struct fm_machine *profile, double threads, struct fm_contended_costs *ret_costs);

/* The number of threads that use the line, weighted by their use. */
double fm_line_threads(const struct fm_line_use *uses, unsigned count);

/* Extra seconds of one thread: `serial` by serialisation of the accesses, `moving` by transfers, of these `atomic` for
   atomic operations, which do not overlap. Over several lines: the largest serial, and at most the sum of moving, since
   a core waits for several lines at once (fm_contention_sum()). */
struct fm_line_cost {
	struct fm_bounds serial, moving, atomic;
	struct fm_bounds largest; /* over several lines: the largest moving without `atomic` */
};
struct fm_line_cost fm_line_contention(const struct fm_line_use *uses, unsigned count, unsigned which,
                                       const struct fm_contended_costs *costs);

/* Adds the costs of one line to those of a thread; computes the thread's total. */
void fm_contention_add(struct fm_line_cost *sum, const struct fm_line_cost *line);
struct fm_bounds fm_contention_sum(const struct fm_line_cost *sum);

/* Share of a thread's time in which another thread also runs. `available`: share of the time in which a ready thread
   has a processor. Threads that alternate on one processor never run simultaneously. */
struct fm_bounds fm_running_at_once(double available);

#endif
