#include "model/measured_waiting.h"

#include <math.h>

#include "model/doubt.h"
#include "windows/laboratory.h"

static const char backend[] = "laboratory";

static struct fm_figure share_of(const struct fm_waiting_share *share)
{
	return share->known ? fm_figure_make(share->value, share->low, share->high, "", FM_ORIGIN_measured, backend,
	                                     share->rounds)
	                    : fm_figure_unavailable("%u rounds of the laboratory are too few", share->rounds);
}

/* Levels that a part of the waiting is for: [from, to). */
struct group {
	unsigned from, to;
	double value, low, high; /* share of the cycles */
};

/* The simulated waiting for each level. Address translation belongs to the levels below L2. */
static double simulated_waiting(const struct fm_picture *picture, const struct group *group)
{
	double sum = 0;

	for (unsigned i = group->from; i < group->to; i++)
		sum += picture->levels[i].latency_share.value + picture->levels[i].bandwidth_share.value;
	return sum + (group->to == picture->level_count ? picture->signs.translation.value : 0);
}

/* Time in which the level moves what the program asks of it. */
static double least_time(const struct fm_picture_level *level)
{
	return level->moved_bytes.available && level->peak_gbs.available && level->peak_gbs.value > 0
	           ? level->moved_bytes.value / level->peak_gbs.value
	           : 0;
}

static void set(struct fm_figure *figure, double value, double low, double high)
{
	*figure = fm_figure_make(fmin(value, 1), fmin(fmin(value, low), 1), fmin(fmax(value, high), 1), "",
	                         FM_ORIGIN_combined, backend, figure->trials);
}

/* The simulated shares, made longer or shorter. */
static void scale(struct fm_figure *figure, const struct group *group, double simulated)
{
	double part = figure->value / simulated, below = figure->value > 0 ? figure->low / figure->value : 1,
	       above = figure->value > 0 ? figure->high / figure->value : 1;

	if (figure->available)
		set(figure, part * group->value, part * group->low * fmin(below, 1),
		    fmin(part * group->high * fmax(above, 1), group->high));
}

/* Without simulated waiting: by the time that each level is busy, and by the order of the misses, which prefetchers
   hide the latency of. */
static void divide(struct fm_picture *picture, const struct group *group)
{
	const struct fm_figure *regular = &picture->signs.regular;
	double in_order = regular->available ? regular->value : 0.5, sum = 0;

	for (unsigned i = group->from; i < group->to; i++)
		sum += least_time(&picture->levels[i]);
	for (unsigned i = group->from; i < group->to; i++) {
		struct fm_picture_level *level = &picture->levels[i];
		double part = sum > 0 ? least_time(level) / sum : 1.0 / (group->to - group->from);

		set(&level->bandwidth_share, part * in_order * group->value, 0, group->high);
		set(&level->latency_share, part * (1 - in_order) * group->value, 0, group->high);
	}
}

static void set_group(struct fm_picture *picture, const struct group *group)
{
	double simulated = simulated_waiting(picture, group);

	if (group->from >= group->to)
		return;
	if (!(simulated > FM_SIMULATED_MATTERS * group->value)) {
		divide(picture, group);
		return;
	}
	for (unsigned i = group->from; i < group->to; i++) {
		scale(&picture->levels[i].latency_share, group, simulated);
		scale(&picture->levels[i].bandwidth_share, group, simulated);
	}
	if (group->to == picture->level_count)
		scale(&picture->signs.translation, group, simulated);
}

/* Of the simulated cycles, by shares. */
static void set_cycles(struct fm_figure *figure, double active, double value, double low, double high)
{
	*figure = fm_figure_make(active * value, active * fmax(0, low), active * fmin(1, high), "cycles",
	                         FM_ORIGIN_combined, backend, figure->trials);
}

static void set_sums(struct fm_picture *picture, const struct fm_waiting_share *waiting, double other)
{
	double active = picture->active.value,
	       latency[3] = {picture->signs.translation.value, picture->signs.translation.low,
	                     picture->signs.translation.high},
	       bandwidth[3] = {0};

	for (unsigned i = 1; i < picture->level_count; i++) {
		const struct fm_figure *shares[] = {&picture->levels[i].latency_share,
		                                    &picture->levels[i].bandwidth_share};

		for (unsigned k = 0; k < 2; k++) {
			double *sum = k ? bandwidth : latency;

			sum[0] += shares[k]->value;
			sum[1] += shares[k]->low;
			sum[2] += shares[k]->high;
		}
	}
	set_cycles(&picture->latency_bound, active, latency[0], latency[1], fmin(latency[2], waiting->high));
	set_cycles(&picture->bandwidth_bound, active, bandwidth[0], bandwidth[1], fmin(bandwidth[2], waiting->high));
	set_cycles(&picture->memory_bound, active, waiting->value, waiting->low, waiting->high);
	/* what is left is the core's: divided as simulated */
	set_cycles(&picture->other_stall, active, other * (1 - waiting->value), other * (1 - waiting->high),
	           other * (1 - waiting->low));
	set_cycles(&picture->stall, active, waiting->value + other * (1 - waiting->value),
	           waiting->low + other * (1 - waiting->low), waiting->high + other * (1 - waiting->high));
	set_cycles(&picture->productive, active, (1 - other) * (1 - waiting->value), (1 - other) * (1 - waiting->high),
	           (1 - other) * (1 - waiting->low));
}

/* Of the lines that the second cache sends up, the share that came from below. */
static double from_far(const struct fm_picture *picture)
{
	const struct fm_figure *up = &picture->levels[1].moved_bytes, *in = &picture->levels[2].moved_bytes;

	return up->available && in->available && up->value > 0 ? fmin(1, in->value / up->value) : 0.5;
}

static bool is_usable(const struct fm_waiting_share *share)
{
	return share->known && share->high - share->low <= FM_WAITING_WIDEST;
}

void fm_measured_waiting(const struct fm_recording *recording, struct fm_picture *picture)
{
	struct fm_laboratory laboratory;
	const struct fm_waiting_share *first = &laboratory.first, *second = &laboratory.second;
	double active = picture->active.value, rest, other;

	picture->laboratory.waiting = fm_figure_unavailable("the laboratory did not look at this");
	picture->laboratory.beyond_second = picture->laboratory.waiting;
	if (!recording->timed_count || picture->part.region || picture->part.thread >= 0 || picture->threads > 1)
		return;
	fm_laboratory_estimate(recording, FM_LABORATORY_EVERYWHERE, &laboratory);
	picture->laboratory.waiting = share_of(first);
	picture->laboratory.beyond_second = share_of(second);
	picture->laboratory.covered = laboratory.covered;
	picture->laboratory.rounds = laboratory.rounds;
	picture->laboratory.problem = laboratory.problem;
	if (!is_usable(first) || !picture->active.available || !picture->memory_bound.available || !(active > 0) ||
	    picture->level_count < 3)
		return;
	picture->laboratory.used = true;
	rest = active - picture->memory_bound.value;
	picture->laboratory.simulated = picture->memory_bound.value / active;
	other = rest > 0 ? fmin(1, picture->other_stall.value / rest) : 0;
	if (is_usable(second)) {
		/* a line from below also passes L2: the whole waiting belongs to its origin */
		double far = from_far(picture), near = 1 - far, last = first->value - second->value;

		set_group(picture, &(struct group){1, 2, near * last, near * fmax(0, first->low - second->high),
		                                   near * (first->high - second->low)});
		set_group(picture,
		          &(struct group){2, picture->level_count, second->value + far * last,
		                          second->low + far * fmax(0, first->low - second->low),
		                          fmin(first->high, second->high + far * (first->high - second->high))});
	} else {
		set_group(picture, &(struct group){1, picture->level_count, first->value, first->low, first->high});
	}
	set_sums(picture, first, other);
	if (rest > 0 && picture->signs.supply.available) {
		const struct fm_figure *supply = &picture->signs.supply;

		set(&picture->signs.supply, supply->value * active / rest * (1 - first->value),
		    supply->low * active / rest * (1 - first->high), supply->high * active / rest * (1 - first->low));
	}
}
