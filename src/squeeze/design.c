#include "squeeze/design.h"

#include <math.h>
#include <string.h>

#include "squeeze/tuning.h"

bool fm_design_add_interval(struct fm_design *design, const struct fm_design_point *point)
{
	unsigned at = 0;

	while (at < design->count && design->points[at].amount < point->amount * (1 - SAME_AMOUNT))
		at++;
	if (at < design->count && design->points[at].amount <= point->amount * (1 + SAME_AMOUNT)) {
		design->points[at] = *point;
		return true;
	}
	if (design->count == FM_DESIGN_POINTS)
		return false;
	memmove(&design->points[at + 1], &design->points[at], (design->count - at) * sizeof(design->points[0]));
	design->points[at] = *point;
	design->count++;
	return true;
}

bool fm_design_add(struct fm_design *design, double amount, double time)
{
	return fm_design_add_interval(
	    design, &(struct fm_design_point){.amount = amount, .time = time, .low = time, .high = time, .runs = 1});
}

static double between(const struct fm_design *design, const struct fm_design_point *a, const struct fm_design_point *b,
                      double amount)
{
	double share = design->inverse ? (1 / a->amount - 1 / amount) / (1 / a->amount - 1 / b->amount)
	                               : (amount - a->amount) / (b->amount - a->amount);

	return a->time + share * (b->time - a->time);
}

static double limit_of(const struct fm_design *design)
{
	return (1 + design->noticeable) * design->points[design->count - 1].time;
}

static bool is_degraded(const struct fm_design *design, unsigned index)
{
	return design->points[index].low > limit_of(design);
}

static bool is_clear(const struct fm_design *design, unsigned index)
{
	return index == design->count - 1 || design->points[index].high <= limit_of(design);
}

bool fm_design_knee(const struct fm_design *design, struct fm_design_knee *ret_knee)
{
	unsigned above = design->count - 1, below = 0;

	if (!design->count)
		return false;
	while (above && is_clear(design, above - 1))
		above--;
	for (below = above; below && !is_degraded(design, below - 1);)
		below--;
	*ret_knee = (struct fm_design_knee){.sensitive = below > 0,
	                                    .decided = below > 0 || above == 0,
	                                    .low = below ? design->points[below - 1].amount : 0,
	                                    .high = design->points[above].amount};
	return true;
}

/* True if the neighbours predict the time of this point. */
static bool is_predicted(const struct fm_design *design, unsigned index)
{
	const struct fm_design_point *point = &design->points[index];

	return index && index + 1 < design->count &&
	       fabs(between(design, point - 1, point + 1, point->amount) / point->time - 1) < INTERPOLATED;
}

static bool is_tried(const struct fm_design *design, double amount)
{
	for (unsigned i = 0; i < design->count; i++)
		if (fabs(design->points[i].amount / amount - 1) < SAME_AMOUNT)
			return true;
	return false;
}

/* The amount between these two that is nearest to their middle and was not tried; false: there is none. */
static bool middle_of(const struct fm_design *design, double low, double high, double *ret_amount)
{
	double middle = sqrt(low * high), best = INFINITY;

	if (!design->amount_count) {
		*ret_amount = middle;
		return high / low > design->precision;
	}
	for (unsigned i = 0; i < design->amount_count; i++) {
		double amount = design->amounts[i], distance = fabs(log(amount / middle));

		if (amount > low * (1 + SAME_AMOUNT) && amount < high * (1 - SAME_AMOUNT) && distance < best &&
		    !is_tried(design, amount)) {
			best = distance;
			*ret_amount = amount;
		}
	}
	return best < INFINITY;
}

/* The next amount that narrows the knee down: an undecided point again, or one in the widest gap between the ends. */
static bool towards_knee(const struct fm_design *design, double *ret_amount)
{
	struct fm_design_knee knee;
	double widest = 1;
	bool found = false;

	fm_design_knee(design, &knee);
	for (unsigned i = 0; i + 1 < design->count; i++) {
		const struct fm_design_point *point = &design->points[i];

		if (point->amount > knee.low * (1 + SAME_AMOUNT) && point->amount < knee.high * (1 - SAME_AMOUNT) &&
		    point->runs < design->repeats) {
			*ret_amount = point->amount;
			return true;
		}
	}
	if (!knee.sensitive && knee.decided)
		return false;
	if (knee.low > 0 && knee.high / knee.low <= design->precision)
		return false;
	for (unsigned i = 0; i + 1 < design->count; i++) {
		const struct fm_design_point *point = &design->points[i];
		double gap = point[1].amount / point[0].amount, amount = 0;

		if (point[0].amount < knee.low * (1 - SAME_AMOUNT) || point[1].amount > knee.high * (1 + SAME_AMOUNT) ||
		    gap <= widest || !middle_of(design, point[0].amount, point[1].amount, &amount))
			continue;
		widest = gap;
		*ret_amount = amount;
		found = true;
	}
	return found && design->count < FM_DESIGN_POINTS;
}

bool fm_design_next(const struct fm_design *design, bool knee_only, double *ret_amount)
{
	double best = WORTH_A_POINT;
	bool found = false;

	if (!design->count || design->points[design->count - 1].amount < design->full * (1 - SAME_AMOUNT)) {
		*ret_amount = design->full;
		return true;
	}
	if (design->points[0].amount > design->least * (1 + SAME_AMOUNT)) {
		*ret_amount = design->least;
		return true;
	}
	if (towards_knee(design, ret_amount))
		return true;
	for (unsigned i = 0; !knee_only && i + 1 < design->count; i++) {
		const struct fm_design_point *point = &design->points[i];
		double step = fabs(point[0].time / point[1].time - 1), amount = 0;

		if (step <= best || point[1].amount / point[0].amount <= design->precision || is_predicted(design, i) ||
		    is_predicted(design, i + 1) || !middle_of(design, point[0].amount, point[1].amount, &amount))
			continue;
		best = step;
		found = true;
		*ret_amount = amount;
	}
	return found && design->count < FM_DESIGN_POINTS;
}

bool fm_design_at(const struct fm_design *design, double amount, double *ret_time, double *ret_low, double *ret_high)
{
	const struct fm_design_point *points = design->points;
	unsigned at = 0;

	if (!design->count || amount < points[0].amount * (1 - SAME_AMOUNT) ||
	    amount > points[design->count - 1].amount * (1 + SAME_AMOUNT))
		return false;
	while (at + 2 < design->count && points[at + 1].amount < amount)
		at++;
	if (design->count == 1) {
		*ret_time = points[0].time;
		*ret_low = points[0].low;
		*ret_high = points[0].high;
		return true;
	}
	*ret_time = between(design, &points[at], &points[at + 1], amount);
	*ret_low = fmin(points[at].low, points[at + 1].low);
	*ret_high = fmax(points[at].high, points[at + 1].high);
	return true;
}
