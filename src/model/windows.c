/* Windows see a part of a run: how far what they say of all of it may be off. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "model/uncertainty.h"
#include "recording/estimate.h"
#include "recording/windows.h"

/* A part of the run (a thread, a region) was in fewer windows, or in less of each: its relative error is larger. */
static double part_factor(double whole, double part)
{
	return part > 0 && whole > part ? sqrt(whole / part) : 1;
}

/* Lines that come because of stores: of all lines, the rest is read. */
static bool is_owned(unsigned index)
{
	unsigned first = offsetof(struct fm_core_counts, caches) / sizeof(uint64_t),
	         size = sizeof(struct fm_cache_counts) / sizeof(uint64_t),
	         within = (index - first) % size * sizeof(uint64_t);

	return index >= first && index < first + size * FM_SIMULATED_CACHES_MAX &&
	       (within == offsetof(struct fm_cache_counts, lines_ownership) ||
	        within == offsetof(struct fm_cache_counts, lines_prefetch_ownership));
}

/* All numbers at the one or the other end of their intervals. */
static struct fm_core_counts ends_of(const struct fm_estimates *estimates, bool high, bool owned_high)
{
	struct fm_core_counts counts = {0};

	for (unsigned i = 0; i < FM_ESTIMATES; i++) {
		const struct fm_estimate *estimate = &estimates->counts[i];
		double end = (is_owned(i) ? owned_high : high) ? estimate->high : estimate->low;
		uint64_t value = isfinite(end) ? (uint64_t)llround(end) : (uint64_t)1 << 62;

		memcpy((char *)&counts + i * sizeof(value), &value, sizeof(value));
	}
	return counts;
}

static void widen(struct fm_figure *figure, double below, double above, unsigned windows)
{
	below = hypot(figure->value - figure->low, below);
	above = hypot(figure->high - figure->value, above);
	*figure = fm_figure_make(figure->value, fmax(0, figure->value - below), figure->value + above, figure->unit,
	                         FM_ORIGIN_sampled, "windows", windows);
}

static const char too_few[] = "only %u windows: it ran too briefly for windows; --counters exact sees all of it";

/* Cycles of one kind, in all windows. One in which nothing was timed is taken to be like the one before. */
static struct fm_window_total total_cycles(const struct fm_recording *recording, size_t figure)
{
	struct fm_picture *picture = calloc(1, sizeof(*picture));
	double *values = calloc(recording->windows_count + 1, sizeof(*values)), rate = 0;
	struct fm_window_total total = {0};

	for (size_t i = 0; picture && values && i < recording->windows_count; i++) {
		const struct fm_recorded_window *window = &recording->windows[i];

		if (window->timing.instructions) {
			fm_picture_cycles(&recording->machine, &window->timing, picture);
			rate = ((const struct fm_figure *)((const char *)picture + figure))->value /
			       (double)window->timing.instructions;
		}
		values[i] = rate * (double)window->work.instructions;
	}
	if (picture && values)
		total = fm_windows_sum(recording, values);
	free(picture);
	free(values);
	return total;
}

/* Of the figure, so much; INFINITY: nobody knows. */
static double relative_half(const struct fm_window_total *total, double value)
{
	double half = fm_window_half_width(total);

	return isfinite(half) && total->value > 0 ? half / total->value * part_factor(total->value, value) : half;
}

/* How many lines may have come from memory, or not, for each that did: what a window does not know of the last cache it
   does not know of the time that is waited for memory either. */
static double unknown_lines(const struct fm_recording *recording)
{
	unsigned last = recording->machine.cache_count - 1;
	double *values = calloc(recording->windows_count + 1, sizeof(*values)), unknown, read;

	if (!values)
		return 0;
	for (size_t i = 0; i < recording->windows_count; i++)
		values[i] = (double)recording->windows[i].unknown[last];
	unknown = fm_windows_sum(recording, values).value;
	for (size_t i = 0; i < recording->windows_count; i++)
		values[i] = (double)recording->windows[i].counts.memory_reads;
	read = fm_windows_sum(recording, values).value;
	free(values);
	return unknown > 0 ? unknown / fmax(read, 1) : 0;
}

/* `waited` of it may be so many times more, or nothing. */
static void widen_by(struct fm_figure *figure, double relative, double waited, double times, unsigned windows)
{
	double low = figure->low - relative * figure->value - waited;

	if (!isfinite(relative)) {
		*figure = fm_figure_unavailable(too_few, windows);
	} else if (figure->available) {
		double half = relative * figure->value + times * waited;

		widen(figure, half, half, windows);
		figure->low = fmax(figure->low, low);
	}
}

void fm_uncertain_window_cycles(const struct fm_recording *recording, struct fm_picture *picture)
{
	static const size_t figures[] = {
	    offsetof(struct fm_picture, latency_bound), offsetof(struct fm_picture, bandwidth_bound),
	    offsetof(struct fm_picture, memory_bound),  offsetof(struct fm_picture, active),
	    offsetof(struct fm_picture, stall),         offsetof(struct fm_picture, productive),
	    offsetof(struct fm_picture, other_stall)};
	enum { LATENCY, BANDWIDTH, MEMORY, ACTIVE, STALL, COUNT = sizeof(figures) / sizeof(figures[0]) };
	struct fm_picture_level *memory = &picture->levels[picture->level_count - 1];
	double relative[COUNT], active = picture->active.value, unknown;
	/* cycles that are waited for memory, in each of the figures */
	double waited[COUNT] = {
	    [LATENCY] = memory->latency_share.value * active, [BANDWIDTH] = memory->bandwidth_share.value * active};
	unsigned windows = 0;

	if (!fm_windows_used(recording))
		return;
	unknown = unknown_lines(recording);
	waited[MEMORY] = waited[ACTIVE] = waited[STALL] = waited[LATENCY] + waited[BANDWIDTH];
	for (unsigned i = 0; i < COUNT; i++) {
		struct fm_figure *figure = (struct fm_figure *)((char *)picture + figures[i]);
		struct fm_window_total total = total_cycles(recording, figures[i]);

		relative[i] = relative_half(&total, figure->value);
		windows = total.windows;
		widen_by(figure, relative[i], waited[i], unknown, windows);
	}
	/* shares of the cycles are known at least as well as what they are shares of */
	for (unsigned i = 0; i < picture->level_count; i++) {
		struct fm_picture_level *level = &picture->levels[i];
		double times = level == memory ? unknown : 0;

		widen_by(&level->latency_share, relative[LATENCY], level->latency_share.value, times, windows);
		widen_by(&level->bandwidth_share, relative[BANDWIDTH], level->bandwidth_share.value, times, windows);
	}
	widen_by(&picture->signs.translation, relative[LATENCY], 0, 0, windows);
	widen_by(&picture->signs.throughput, relative[ACTIVE], 0, 0, windows);
}

void fm_uncertain_window_time(const struct fm_recording *recording, struct fm_figure *predicted)
{
	struct fm_window_total total;

	if (!fm_windows_used(recording) || !predicted->available)
		return;
	total = total_cycles(recording, offsetof(struct fm_picture, active));
	widen_by(predicted, relative_half(&total, total.value), 0, 0, total.windows);
}

void fm_uncertain_windows(const struct fm_recording *recording, struct fm_picture *picture)
{
	struct fm_estimates estimates;
	struct fm_core_counts ends[5];

	if (!fm_windows_used(recording) || fm_estimate_all(recording, &estimates))
		return;
	for (unsigned i = 0; i < 4; i++)
		ends[i] = ends_of(&estimates, i & 1, i & 2);
	for (unsigned i = 0; i < FM_ESTIMATES; i++) {
		uint64_t value = (uint64_t)llround(estimates.counts[i].value);

		memcpy((char *)&ends[4] + i * sizeof(value), &value, sizeof(value));
	}
	for (unsigned i = 0; i < picture->level_count; i++) {
		struct fm_figure *figures[] = {[FM_TRAFFIC_READ] = &picture->levels[i].read_bytes,
		                               [FM_TRAFFIC_ALLOCATED] = &picture->levels[i].allocate_bytes,
		                               [FM_TRAFFIC_WRITTEN] = &picture->levels[i].write_bytes};
		struct fm_traffic all = fm_picture_traffic(&recording->machine, &ends[4], i), low = all, high = all;

		for (unsigned end = 0; end < 4; end++) {
			struct fm_traffic there = fm_picture_traffic(&recording->machine, &ends[end], i);

			for (unsigned kind = 0; kind < FM_TRAFFIC_KINDS; kind++) {
				low.bytes[kind] = fmin(low.bytes[kind], there.bytes[kind]);
				high.bytes[kind] = fmax(high.bytes[kind], there.bytes[kind]);
			}
		}
		for (unsigned kind = 0; kind < FM_TRAFFIC_KINDS; kind++) {
			double value = all.bytes[kind], part;

			if (estimates.windows < FM_WINDOWS_LEAST) {
				*figures[kind] = fm_figure_unavailable(too_few, estimates.windows);
				continue;
			}
			part = value > 0 ? figures[kind]->value / value * part_factor(value, figures[kind]->value) : 1;
			widen(figures[kind], (value - low.bytes[kind]) * part, (high.bytes[kind] - value) * part,
			      estimates.windows);
		}
	}
}
