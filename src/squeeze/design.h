/* Which amounts of a resource to try next: runs go where the answer is uncertain. A point is an amount and the time the
   program took with it, with an interval where times vary.

   First everything and the least amount; then the knee, the amount below which the program is slower, is bracketed by
   bisection; then the curve is filled in where it is steep and its points do not yet foretell each other.

   A point is degraded when its whole interval is slower than what is noticeable, clear when its whole interval is not;
   otherwise it is undecided and is tried again, up to `repeats` times. One that stays undecided widens the answer. */
#ifndef FATHOM_SQUEEZE_DESIGN_H
#define FATHOM_SQUEEZE_DESIGN_H

#include <stdbool.h>

enum { FM_DESIGN_POINTS = 64 };

struct fm_design_point {
	double amount, time;
	double low, high; /* of the time; the others are compared with the full amount, whose time is exact here */
	unsigned runs;    /* that it rests on */
};

struct fm_design {
	double least, full;
	double noticeable; /* slower by this share is degraded */
	double precision;  /* the knee is located when both its sides are within this ratio */
	bool inverse;      /* between two points the time goes with 1 / amount, as under a limit of bandwidth, not with
	                      the amount */
	unsigned repeats;  /* runs at most at one undecided amount; 0: times do not vary */
	/* the only amounts there are, ascending, the least and the full one among them; 0: any */
	unsigned amount_count;
	double amounts[FM_DESIGN_POINTS];
	unsigned count;
	struct fm_design_point points[FM_DESIGN_POINTS]; /* by amount, ascending */
};

/* False: there is no room for it. An amount that is there already is replaced. */
bool fm_design_add(struct fm_design *design, double amount, double time);

/* The same with the interval of the time, from so many runs. */
bool fm_design_add_interval(struct fm_design *design, const struct fm_design_point *point);

/* The next amount to try; false: the knee is located and the curve is known. `knee_only`: the latter does not matter.
 */
bool fm_design_next(const struct fm_design *design, bool knee_only, double *ret_amount);

/* What the program uses: more than `low`, with which it is degraded, and no more than `high`, with which it is not. Not
   sensitive: it is not degraded with the least amount either; low is 0, high the least amount. Not decided: runs with
   less than `high` do not tell whether it is degraded. False without points. */
struct fm_design_knee {
	bool sensitive, decided;
	double low, high;
};
bool fm_design_knee(const struct fm_design *design, struct fm_design_knee *ret_knee);

/* The time with any amount between the least and the full one, and the times of the points around it; false outside. */
bool fm_design_at(const struct fm_design *design, double amount, double *ret_time, double *ret_low, double *ret_high);

#endif
