#include "samples/pattern.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/statistics.h"
#include "samples/ordering.h"

enum { STEPS = 1000, SPEEDS = 801, LINE = 64 };

const char *fm_pattern_name(enum fm_pattern pattern)
{
	static const char *const names[FM_PATTERN_COUNT] = {
	    [FM_PATTERN_INCONCLUSIVE] = "inconclusive",
	    [FM_PATTERN_ADVANCES] = "advances",
	    [FM_PATTERN_RANDOM] = "random",
	    [FM_PATTERN_LOCAL] = "local",
	    [FM_PATTERN_FIXED] = "fixed",
	};

	return names[pattern];
}

static int verdict(struct fm_pattern_verdict *ret, enum fm_pattern pattern, double confidence, const char *reason)
{
	ret->pattern = pattern;
	ret->confidence = confidence;
	ret->speed = 0;
	snprintf(ret->reason, sizeof(ret->reason), "%s", reason);
	return 0;
}

struct ranked {
	uint64_t address, tie;
	size_t index;
};

static int by_address(const void *first, const void *second)
{
	const struct ranked *a = first, *b = second;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return (a->tie > b->tie) - (a->tie < b->tie);
}

/* Ranks 0 … 1 instead of addresses: all are as frequent, however unevenly the object is used. Equal addresses are put
   in an order that has nothing to do with time. */
static int rank(const struct fm_pattern_point *points, size_t count, double *ranks)
{
	struct ranked *list = malloc(count * sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		list[i] = (struct ranked){points[i].address, (i + 1) * 0x9e3779b97f4a7c15u, i};
	for (size_t i = 0; i < count; i++)
		list[i].tie ^= list[i].tie >> 29;
	qsort(list, count, sizeof(*list), by_address);
	for (size_t i = 0; i < count; i++)
		ranks[list[i].index] = (double)i / (double)count;
	free(list);
	return 0;
}

struct steps {
	double time[STEPS], way[STEPS];
	unsigned count;
	double usual, spread; /* of the times */
};

/* Steps from one sample to the next, without pauses; evenly chosen if there are many. */
static int take_steps(const struct fm_pattern_point *points, const double *ranks, size_t count, struct steps *steps)
{
	double *times = malloc(count * sizeof(*times));
	size_t stride = 1 + (count - 2) / STEPS;

	if (!times)
		return -ENOMEM;
	for (size_t i = 0; i + 1 < count; i++)
		times[i] = points[i + 1].at - points[i].at;
	fm_statistics_sort(times, (unsigned)(count - 1));
	steps->usual = fm_statistics_quantile_sorted(times, (unsigned)(count - 1), 0.5);
	free(times);
	steps->count = 0;
	for (size_t i = 0; i + 1 < count && steps->count < STEPS; i += stride) {
		double time = points[i + 1].at - points[i].at;

		if (!(time >= 0 && time <= 4 * steps->usual))
			continue;
		steps->time[steps->count] = time;
		steps->way[steps->count++] = ranks[i + 1] - ranks[i];
	}
	steps->spread = 0;
	if (steps->count > 1) {
		double sorted[STEPS];

		memcpy(sorted, steps->time, steps->count * sizeof(*sorted));
		fm_statistics_sort(sorted, steps->count);
		steps->spread = fm_statistics_quantile_sorted(sorted, steps->count, 0.9) -
		                fm_statistics_quantile_sorted(sorted, steps->count, 0.1);
	}
	return 0;
}

/* Agreement of the steps with one speed (objects per second), 0 … 1: the mean of their remainders as points on a
   circle, since the next pass follows the end of one. `ret_rest`: that remainder, -0.5 … 0.5. */
static double agreement(const struct steps *steps, double speed, double *ret_rest)
{
	double real = 0, imaginary = 0;

	for (unsigned i = 0; i < steps->count; i++) {
		double angle = 2 * M_PI * (steps->way[i] - speed * steps->time[i]);

		real += cos(angle);
		imaginary += sin(angle);
	}
	*ret_rest = atan2(imaginary, real) / (2 * M_PI);
	return hypot(real, imaginary) / steps->count;
}

/* The agreement of the best speed, and the number of speeds tried. Between two tried speeds the remainder of the steps
   gives the speed, if no other speed has the same remainder: one pass more between samples must have been tried or be
   too fast. */
static double best_agreement(const struct steps *steps, double fastest, double *ret_speed, unsigned *ret_tried)
{
	double distance = steps->spread > 0 ? FM_SPEED_STEP / steps->spread : INFINITY, rest, best_rest;
	double best = agreement(steps, 0, &best_rest);
	unsigned each = (unsigned)fmin(fastest / distance, (SPEEDS - 1) / 2.0);

	*ret_speed = 0;
	for (unsigned i = 1; i <= 2 * each; i++) {
		/* up and down in turn */
		double speed = (i % 2 ? 1 : -1) * ceil(i / 2.0) * distance, agrees = agreement(steps, speed, &rest);

		if (agrees > best) {
			best = agrees;
			best_rest = rest;
			*ret_speed = speed;
		}
	}
	*ret_speed = steps->usual > 0 && (fastest * steps->usual < 0.5 || (distance * steps->usual < 0.5 && each > 1))
	                 ? *ret_speed + best_rest / steps->usual
	                 : 0;
	*ret_tried = 1 + 2 * each;
	return best;
}

static int judge_order(double agrees, unsigned tried, const struct steps *steps, double bytes,
                       const struct fm_pattern_hints *hints, struct fm_pattern_verdict *ret)
{
	double chance = tried * exp(-(double)steps->count * agrees * agrees);
	double pass = hints->bytes_per_second > 0 ? bytes / hints->bytes_per_second : 0;

	if (chance < FM_STEPS_CHANCE && agrees >= FM_STEPS_AGREEMENT)
		return verdict(ret, FM_PATTERN_ADVANCES, fmin(FM_ORDER_CERTAIN, 0.5 + agrees / 2),
		               "the distance between consecutive sampled addresses fits the time between the samples");
	if (pass >= FM_PASS_STEPS * steps->usual && chance > FM_CHANCE_RANDOM)
		return verdict(ret, FM_PATTERN_RANDOM, steps->count >= FM_ORDER_MANY ? FM_ORDER_SURE : FM_ORDER_LIKELY,
		               "the next sampled address can be anywhere, sooner than a pass in order could reach it");
	if (bytes < FM_RANDOM_RANGE * hints->first_bytes)
		return verdict(ret, FM_PATTERN_INCONCLUSIVE, 0,
		               "passes may be shorter than the sampling period, and the object fits into caches");
	if (hints->first_high < FM_FIRST_MISSES && chance > FM_CHANCE_RANDOM)
		return verdict(ret, FM_PATTERN_RANDOM, FM_ORDER_LIKELY,
		               "sampled addresses have no order, and most references miss the L1 cache");
	if (hints->first_low > FM_FIRST_MISSES)
		return verdict(
		    ret, FM_PATTERN_LOCAL, FM_ORDER_LIKELY,
		    "consecutive references hit the same lines; passes are too short for the sampling period");
	return verdict(ret, FM_PATTERN_INCONCLUSIVE, 0, "passes may be shorter than the sampling period");
}

int fm_pattern_judge(struct fm_pattern_point *points, size_t count, const struct fm_pattern_hints *hints,
                     struct fm_pattern_verdict *ret_verdict)
{
	uint64_t lowest = UINT64_MAX, highest = 0;
	struct steps *steps = NULL;
	double *ranks = NULL, agrees, bytes, speed;
	unsigned tried;
	int r = -ENOMEM;

	if (count < FM_STEPS_LEAST)
		return verdict(ret_verdict, FM_PATTERN_INCONCLUSIVE, 0, "fewer than 30 samples of one thread");
	for (size_t i = 0; i < count; i++) {
		lowest = points[i].address < lowest ? points[i].address : lowest;
		highest = points[i].address > highest ? points[i].address : highest;
	}
	bytes = (double)(highest - lowest);
	if (lowest / LINE == highest / LINE)
		return verdict(ret_verdict, FM_PATTERN_FIXED, FM_ORDER_CERTAIN,
		               "all sampled addresses lie in one cache line");
	if (bytes < FM_ORDER_BYTES)
		return verdict(ret_verdict, FM_PATTERN_INCONCLUSIVE, 0, "the addresses lie too close together");
	ranks = malloc(count * sizeof(*ranks));
	steps = malloc(sizeof(*steps));
	if (!ranks || !steps)
		goto out;
	r = rank(points, count, ranks);
	if (!r)
		r = take_steps(points, ranks, count, steps);
	if (r)
		goto out;
	if (steps->count < FM_STEPS_LEAST - 1) {
		verdict(ret_verdict, FM_PATTERN_INCONCLUSIVE, 0, "too few consecutive samples");
		goto out;
	}
	agrees = best_agreement(steps, hints->bytes_per_second / bytes, &speed, &tried);
	judge_order(agrees, tried, steps, bytes, hints, ret_verdict);
	if (ret_verdict->pattern == FM_PATTERN_ADVANCES)
		ret_verdict->speed = speed;
out:
	free(ranks);
	free(steps);
	return r;
}
