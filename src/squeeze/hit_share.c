#include "squeeze/hit_share.h"

#include <math.h>

#include "squeeze/tuning.h"

/* The largest slowdown of an access that misses, as a share of the time without limits. */
static double dearest(double near_ns, double beyond_ns)
{
	return beyond_ns / near_ns - 1;
}

/* Slowdown with a share of the cache, from `slower` with half of it and `all` if every access missed. */
static double slowdown(double slower, double all, double share)
{
	double working_set = 0.5 / (1 - fmin(slower / all, 0.5));

	/* a set that exceeds the whole cache misses with everything, too: the ratio is to that */
	return all * fmax(1 - share / working_set, 0);
}

static struct fm_figure by_working_set(const struct fm_hit_share *model, double bytes)
{
	double share = bytes / model->full_bytes, value, low, high, all[3], slower[3];

	if (!(model->half.low > 1))
		return fm_figure_unavailable(
		    "half of the cache makes no difference: the knee is below half and unknown");
	if (!(share > 0) || share > 0.5)
		return fm_figure_unavailable("the model covers less than half of the cache only");
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

/* Additional misses per reference with that much of the cache. */
static struct fm_miss_point more_misses(const struct fm_hit_share *model, double bytes)
{
	struct fm_miss_point less = fm_miss_at(model->curve, bytes), full = fm_miss_at(model->curve, model->full_bytes);

	return (struct fm_miss_point){fmax(less.value - full.value, 0), fmax(less.low - full.high, 0),
	                              fmax(less.high - full.low, 0)};
}

static struct fm_figure by_curve(const struct fm_hit_share *model, double bytes)
{
	struct fm_miss_point half = more_misses(model, model->full_bytes / 2), less = more_misses(model, bytes);
	/* slowdown if each reference missed */
	double latency = model->references_per_ns * (model->beyond_ns.value - model->near_ns.value),
	       dearest = model->references_per_ns * (model->beyond_ns.high - model->near_ns.low), cost, least, most;

	if (half.value >= ENOUGH_MISSES) {
		cost = fmax(model->half.value - 1, 0) / half.value;
		least = fmax(model->half.low - 1, 0) / half.high;
		most = half.low > 0 ? fmax(model->half.high - 1, 0) / half.low : dearest;
		most = fmax(cost, fmin(most, dearest));
	} else {
		/* as if it waited for each; it may not */
		cost = latency;
		least = 0;
		most = dearest;
	}
	return fm_figure_make(1 + cost * less.value, 1 + fmin(least * less.low, cost * less.value),
	                      1 + fmax(most * less.high, cost * less.value), "times", FM_ORIGIN_modelled,
	                      "miss-ratio curve", model->half.trials);
}

struct fm_figure fm_hit_share_predict(const struct fm_hit_share *model, double bytes)
{
	if (!model->near_ns.available || !model->beyond_ns.available || !(model->near_ns.low > 0) ||
	    !(model->beyond_ns.low > model->near_ns.high))
		return fm_figure_unavailable("the latencies of this cache and of the next level are unknown");
	if (!model->half.available)
		return fm_figure_unavailable("it was not run with half of the cache");
	return model->curve && model->references_per_ns > 0 ? by_curve(model, bytes) : by_working_set(model, bytes);
}
