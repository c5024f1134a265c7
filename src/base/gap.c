#include "base/gap.h"

#include <math.h>

#include "base/tuning.h"

double fm_gap_pace(const struct fm_gap *gap)
{
	return gap->seconds > 0 && gap->instructions > 0 ? gap->instructions / gap->seconds : 0;
}

bool fm_gap_changes(const struct fm_gap *gap)
{
	return fm_gap_pace(gap) > 0 && gap->before > 0 && gap->after > 0 &&
	       fmax(gap->before, gap->after) > ANOTHER_PACE * fmin(gap->before, gap->after);
}

/* Slower or faster than both paces it is not made of the two: another phase lies in it. */
static bool is_between(const struct fm_gap *gap)
{
	double pace = fm_gap_pace(gap);

	return pace * PACE_BETWEEN > fmin(gap->before, gap->after) &&
	       pace < PACE_BETWEEN * fmax(gap->before, gap->after);
}

double fm_gap_share(const struct fm_gap *gap)
{
	double time, first, second;

	if (!fm_gap_changes(gap) || !is_between(gap))
		return 0.5;
	time = fmin(1, fmax(0, (gap->after - fm_gap_pace(gap)) / (gap->after - gap->before)));
	first = time * gap->before;
	second = (1 - time) * gap->after;
	return first / (first + second);
}
