/* The choice of the next amount of a resource: runs go to the uncertain parts of the curve. A point is an amount with
   the time of the program, and an interval if times vary.

   The full and the least amount come first. Bisection then brackets the knee, below which the program is slower. The
   curve is refined where it is steep and its points do not predict each other.

   A point is degraded if its whole interval is noticeably slower, clear if none of it is. Otherwise it is undecided and
   repeated up to `repeats` times. A point that stays undecided widens the answer. */
#ifndef FATHOM_SQUEEZE_DESIGN_H
#define FATHOM_SQUEEZE_DESIGN_H

#include <stdbool.h>

enum { FM_DESIGN_POINTS = 64 };

struct fm_design_point {
	double amount, time;
	double low, high; /* interval of the time; the time of the full amount is exact here */
	unsigned runs;    /* number of runs */
};

struct fm_design {
	double least, full;
	double noticeable; /* share by which degraded points are slower */
	double precision;  /* ratio within which the knee is located */
	bool inverse;      /* interpolate over 1 / amount, as for limits of bandwidth, instead of the amount */
	unsigned repeats;  /* most runs at an undecided amount; 0: times do not vary */
	/* the possible amounts, ascending, with the least and the full one; 0: any */
	unsigned amount_count;
	double amounts[FM_DESIGN_POINTS];
	unsigned count;
	struct fm_design_point points[FM_DESIGN_POINTS]; /* by amount, ascending */
};

/* Replaces the point of a known amount. False if there is no room. */
bool fm_design_add(struct fm_design *design, double amount, double time);

/* The same with an interval from several runs. */
bool fm_design_add_interval(struct fm_design *design, const struct fm_design_point *point);

/* The next amount; false if the knee is located and the curve is known. `knee_only`: the curve is irrelevant. */
bool fm_design_next(const struct fm_design *design, bool knee_only, double *ret_amount);

/* The capacity in use: more than `low`, with which the program is degraded, up to `high`, with which it is not. Not
   sensitive: not degraded even with the least amount; low is 0, high the least amount. Not decided: the runs below
   `high` do not decide. False without points. */
struct fm_design_knee {
	bool sensitive, decided;
	double low, high;
};
bool fm_design_knee(const struct fm_design *design, struct fm_design_knee *ret_knee);

/* The interpolated time for an amount between the least and the full one, and the interval of the points around it;
   false outside. */
bool fm_design_at(const struct fm_design *design, double amount, double *ret_time, double *ret_low, double *ret_high);

#endif
