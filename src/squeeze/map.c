#include "squeeze/map.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "squeeze/pairs.h"
#include "squeeze/tuning.h"

static bool is_same(double a, double b)
{
	return fabs(a / b - 1) < SAME_AMOUNT;
}

unsigned fm_map_amounts(const struct fm_design *design, double ret_amounts[FM_SQUEEZE_MAP])
{
	struct fm_design_knee knee;
	double wanted, best = INFINITY, below = 0;
	unsigned count = 0;

	if (!fm_design_knee(design, &knee))
		return 0;
	ret_amounts[count++] = design->full;
	if (knee.high < design->full * (1 - SAME_AMOUNT))
		ret_amounts[count++] = knee.high;
	/* a knee that was not decided has no lower end */
	wanted = knee.low > 0 ? knee.low / 2 : design->points[0].amount;
	if (knee.low > 0)
		ret_amounts[count++] = knee.low;
	for (unsigned i = 0; i < design->count; i++) {
		double amount = design->points[i].amount, distance = fabs(log(amount / wanted));

		if (amount < ret_amounts[count - 1] * (1 - SAME_AMOUNT) && distance < best) {
			best = distance;
			below = amount;
		}
	}
	if (below > 0 && count < FM_SQUEEZE_MAP)
		ret_amounts[count++] = below;
	return count;
}

/* The place of an amount on a side, which is kept in order; FM_SQUEEZE_MAP: there is no room. */
static unsigned place_of(double *side, unsigned *count, double amount, bool may_add)
{
	unsigned at = 0;

	while (at < *count && side[at] > amount * (1 + SAME_AMOUNT))
		at++;
	if (at < *count && is_same(side[at], amount))
		return at;
	if (!may_add || *count == FM_SQUEEZE_MAP)
		return FM_SQUEEZE_MAP;
	for (unsigned i = *count; i > at; i--)
		side[i] = side[i - 1];
	side[at] = amount;
	++*count;
	return at;
}

static bool has_less_of_both(const struct fm_squeeze *squeeze, const struct fm_recorded_squeeze_step *step)
{
	return step->bytes > 0 && step->gbs > 0 && step->bytes < squeeze->how->bytes && step->gbs < squeeze->how->gbs;
}

static void find_sides(struct fm_squeeze *squeeze)
{
	struct fm_squeeze_map *map = &squeeze->map;

	for (size_t i = 0; i < squeeze->recording->squeeze_steps_count; i++) {
		const struct fm_recorded_squeeze_step *step = &squeeze->recording->squeeze_steps[i];

		if (!has_less_of_both(squeeze, step))
			continue;
		if (!map->capacities) {
			map->bytes[map->capacities++] = squeeze->how->bytes;
			map->gbs[map->bandwidths++] = squeeze->how->gbs;
		}
		place_of(map->bytes, &map->capacities, step->bytes, true);
		place_of(map->gbs, &map->bandwidths, step->gbs, true);
	}
}

static struct fm_figure slowdown_of(const struct fm_squeeze *squeeze, double value, double low, double high,
                                    unsigned runs)
{
	const struct fm_recorded_squeeze *how = squeeze->how;

	if (!isfinite(high))
		return fm_figure_unavailable("one pair of runs has no interval");
	return fm_figure_make(value, low, high, "times", how->live ? FM_ORIGIN_measured : FM_ORIGIN_simulated,
	                      how->backend, runs);
}

/* With everything of the other resource: the curves have it. */
static struct fm_figure on_axis(const struct fm_squeeze *squeeze, const struct fm_design *design, double amount)
{
	for (unsigned i = 0; i < design->count; i++) {
		const struct fm_design_point *point = &design->points[i];

		if (is_same(point->amount, amount))
			return slowdown_of(squeeze, point->time / squeeze->seconds, point->low / squeeze->seconds,
			                   point->high / squeeze->seconds, point->runs);
	}
	return fm_figure_unavailable("not run");
}

/* Each cell is an amount of its own of these pairs. */
static double number_of(unsigned capacity, unsigned bandwidth)
{
	return 1 + capacity * FM_SQUEEZE_MAP + bandwidth;
}

static void add_pairs(struct fm_squeeze *squeeze, struct fm_pairs *pairs)
{
	struct fm_squeeze_map *map = &squeeze->map;
	const struct fm_recording *recording = squeeze->recording;

	for (size_t i = 1; i + 1 < recording->squeeze_steps_count; i++) {
		const struct fm_recorded_squeeze_step *less = &recording->squeeze_steps[i], *whole = less + 1;
		unsigned capacity, bandwidth;

		if (!less->pair || less->pair != whole->pair)
			continue;
		i++;
		if (!has_less_of_both(squeeze, less)) {
			whole = less;
			less++;
		}
		if (!has_less_of_both(squeeze, less) || less->disturbed || whole->disturbed ||
		    less->role == FM_SQUEEZE_CONTROL || !(less->seconds > 0) || !(whole->seconds > 0))
			continue;
		capacity = place_of(map->bytes, &map->capacities, less->bytes, false);
		bandwidth = place_of(map->gbs, &map->bandwidths, less->gbs, false);
		if (capacity < FM_SQUEEZE_MAP && bandwidth < FM_SQUEEZE_MAP)
			fm_pairs_add(pairs, number_of(capacity, bandwidth), less->seconds / whole->seconds);
	}
}

static struct fm_figure with_less_of_both(const struct fm_squeeze *squeeze, const struct fm_pairs *pairs,
                                          unsigned capacity, unsigned bandwidth)
{
	const struct fm_squeeze_map *map = &squeeze->map;
	const struct fm_recording *recording = squeeze->recording;
	const struct fm_recorded_squeeze *how = squeeze->how;
	struct fm_location ratio;

	if (how->live && fm_pairs_ratio(pairs, number_of(capacity, bandwidth), &ratio))
		return slowdown_of(squeeze, ratio.value, ratio.low, ratio.high, ratio.kept);
	for (size_t i = 0; !how->live && i < recording->squeeze_steps_count; i++) {
		const struct fm_recorded_squeeze_step *step = &recording->squeeze_steps[i];
		double times = (double)step->cycles / (double)recording->squeeze_steps[0].cycles;

		if (is_same(step->bytes, map->bytes[capacity]) && is_same(step->gbs, map->gbs[bandwidth]))
			return slowdown_of(squeeze, times, times, times, 1);
	}
	return fm_figure_unavailable("%s", *how->stopped ? how->stopped : "not run");
}

int fm_map_analyse(struct fm_squeeze *squeeze, struct fm_error *error)
{
	struct fm_squeeze_map *map = &squeeze->map;
	struct fm_pairs *pairs;

	find_sides(squeeze);
	if (!map->capacities)
		return 0;
	pairs = calloc(1, sizeof(*pairs));
	if (!pairs)
		return fm_error_set(error, ENOMEM, "out of memory");
	add_pairs(squeeze, pairs);
	for (unsigned i = 0; i < map->capacities; i++)
		for (unsigned k = 0; k < map->bandwidths; k++) {
			struct fm_squeeze_prediction prediction = {.bytes = map->bytes[i], .gbs = map->gbs[k]};

			fm_squeeze_predict(squeeze, &prediction);
			map->predicted[i][k] = prediction.slowdown;
			map->slowdown[i][k] = !k   ? on_axis(squeeze, &squeeze->capacity, map->bytes[i])
			                      : !i ? on_axis(squeeze, &squeeze->bandwidth, map->gbs[k])
			                           : with_less_of_both(squeeze, pairs, i, k);
		}
	free(pairs);
	return 0;
}
