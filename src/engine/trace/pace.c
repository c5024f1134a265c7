#include "engine/trace/pace.h"

#include <math.h>

#include "base/statistics.h"
#include "engine/trace/tuning.h"

static double ratio_of(const struct fm_trace_episode *episode)
{
	return (double)episode->counted_ns / (double)episode->counted_passes * (double)episode->plain_passes /
	       (double)episode->plain_ns;
}

static bool is_whole(const struct fm_trace_episode *episode)
{
	return episode->counted_ns && episode->counted_passes && episode->plain_ns && episode->plain_passes;
}

/* Time with counters over the time that the same would have taken without: both summed up, since where the program
   spends more time matters more. */
static double combine(const double *ratios, const double *times, unsigned count, unsigned without)
{
	double counted = 0, plain = 0;

	for (unsigned i = 0; i < count; i++)
		if (i != without) {
			counted += times[i];
			plain += times[i] / ratios[i];
		}
	return counted / plain;
}

/* The mean of reciprocals of numbers with random errors is too large, by half the variance. Neighbours show the
   variance. */
static double by_chance(const double *ratios, unsigned count)
{
	double squares = 0;

	for (unsigned i = 1; i < count; i++)
		squares += pow(log(ratios[i] / ratios[i - 1]), 2) / 2;
	return 1 + squares / (count - 1) / 2;
}

void fm_pace_estimate(const struct fm_trace_episode *episodes, unsigned count, struct fm_result_pace *ret_pace)
{
	double ratios[FM_TRACE_EPISODES], times[FM_TRACE_EPISODES], sorted[FM_TRACE_EPISODES], median, half,
	    squares = 0;
	unsigned used = 0;

	for (unsigned i = 0; i < count && i < FM_TRACE_EPISODES; i++)
		if (is_whole(&episodes[i])) {
			times[used] = (double)episodes[i].counted_ns;
			ratios[used] = sorted[used] = ratio_of(&episodes[i]);
			used++;
		}
	*ret_pace = (struct fm_result_pace){.episodes = used};
	if (used < EPISODES_LEAST)
		return;
	fm_statistics_sort(sorted, used);
	median = fm_statistics_quantile_sorted(sorted, used, 0.5);
	for (unsigned i = 0; i < used; i++)
		ratios[i] = fmin(fmax(ratios[i], median / EPISODE_FURTHEST), median * EPISODE_FURTHEST);
	ret_pace->ratio = combine(ratios, times, used, used);
	for (unsigned i = 0; i < used; i++) {
		double difference = combine(ratios, times, used, i) - ret_pace->ratio;

		squares += difference * difference;
	}
	ret_pace->ratio *= by_chance(ratios, used);
	half = fm_statistics_student(used - 1) * sqrt(squares * (used - 1) / used);
	/* counters and filters never make anything faster */
	ret_pace->ratio = fmax(1, ret_pace->ratio);
	ret_pace->low = fmax(1, ret_pace->ratio - half);
	ret_pace->high = ret_pace->ratio + half;
}
