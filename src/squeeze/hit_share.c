#include "squeeze/hit_share.h"

#include <math.h>

/* A share of accesses that misses costs so much at most, as a share of the time with everything. */
static double dearest(double near_ns, double beyond_ns)
{
	return beyond_ns / near_ns - 1;
}

/* `slower` with half, `all` if everything missed: with so much of the cache. */
static double slowdown(double slower, double all, double share)
{
	double working_set = 0.5 / (1 - fmin(slower / all, 0.5));

	/* a set that exceeds the whole cache misses with everything, too: the ratio is to that */
	return all * fmax(1 - share / working_set, 0);
}

struct fm_figure fm_hit_share_predict(const struct fm_hit_share *model, double bytes)
{
	double share = bytes / model->full_bytes, value, low, high, all[3], slower[3];

	if (!model->near_ns.available || !model->beyond_ns.available || !(model->near_ns.low > 0) ||
	    !(model->beyond_ns.low > model->near_ns.high))
		return fm_figure_unavailable("the latencies of this cache and of what is behind it are not known");
	if (!model->half.available)
		return fm_figure_unavailable("it was not run with half of the cache");
	if (!(model->half.low > 1))
		return fm_figure_unavailable(
		    "half of the cache makes no difference: nothing tells from where on less of it does");
	if (!(share > 0) || share > 0.5)
		return fm_figure_unavailable("the model is for less than half of the cache");
	all[0] = dearest(model->near_ns.value, model->beyond_ns.value);
	all[2] = dearest(model->near_ns.low, model->beyond_ns.high);
	slower[0] = model->half.value - 1;
	slower[1] = model->half.low - 1;
	slower[2] = model->half.high - 1;
	all[0] = fmax(all[0], 2 * slower[0]);
	all[2] = fmax(all[2], 2 * slower[2]);
	/* the least: the working set fills the cache, and only part of the time is waiting for it */
	all[1] = 2 * slower[1];
	value = 1 + slowdown(slower[0], all[0], share);
	low = 1 + slowdown(slower[1], all[1], share);
	high = 1 + slowdown(slower[2], all[2], share);
	return fm_figure_make(value, fmin(low, value), fmax(high, value), "times", FM_ORIGIN_modelled, "hit share",
	                      model->half.trials);
}
