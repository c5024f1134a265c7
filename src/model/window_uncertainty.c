/* Windows see a part of a run: the error of totals from them. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/statistics.h"
#include "model/uncertainty.h"
#include "windows/estimate.h"
#include "windows/totals.h"

/* A part of the run (a thread, a region) was in fewer windows, or in less of each: its relative error is larger. */
static double part_factor(double whole, double part)
{
	return part > 0 && whole > part ? sqrt(whole / part) : 1;
}

/* Lines that come because of stores: of all lines, the rest is read. */
static bool is_owned(unsigned index)
{
	unsigned within = (index - FM_COUNTS_caches) % FM_CACHE_NUMBERS;

	return index >= FM_COUNTS_caches && index < fm_counter_of_cache(FM_SIMULATED_CACHES_MAX, 0) &&
	       (within == FM_CACHE_lines_ownership || within == FM_CACHE_lines_prefetch_ownership);
}

/* All numbers at the one or the other end of their intervals. */
static struct fm_core_counts ends_of(const struct fm_estimates *estimates, bool high, bool owned_high)
{
	struct fm_core_counts counts = {0};

	for (unsigned i = 0; i < FM_COUNTS_NUMBERS; i++) {
		const struct fm_estimate *estimate = &estimates->numbers[i];
		double end = (is_owned(i) ? owned_high : high) ? estimate->high : estimate->low;

		fm_counter_set(&counts, i, isfinite(end) ? (uint64_t)llround(end) : (uint64_t)1 << 62);
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

static const char too_few[] = "only %u windows: the run was too short; -r 5 adds a run in which every access is seen";

/* Cycles, and their parts. */
static const size_t cycle_figures[] = {
    offsetof(struct fm_picture, latency_bound), offsetof(struct fm_picture, bandwidth_bound),
    offsetof(struct fm_picture, memory_bound),  offsetof(struct fm_picture, active),
    offsetof(struct fm_picture, stall),         offsetof(struct fm_picture, productive),
    offsetof(struct fm_picture, other_stall)};

enum { LATENCY, BANDWIDTH, MEMORY, ACTIVE, STALL, FIGURES = sizeof(cycle_figures) / sizeof(cycle_figures[0]) };

/* The figures of the picture of each window, for the part of the run that the window represents. */
struct course {
	double *cycles;
	double *instructions;
	double *values[FIGURES];
	struct fm_window_total totals[FIGURES];
};

static void free_course(struct course *course)
{
	free(course->cycles);
	*course = (struct course){0};
}

/* A window in which nothing was timed is taken to be like the one before. */
static bool make_course(const struct fm_recording *recording, struct course *ret_course)
{
	size_t count = recording->windows_count;
	struct fm_picture *picture = calloc(1, sizeof(*picture));
	double *numbers = calloc((3 + 2 * FIGURES) * count + 1, sizeof(*numbers)), *limits, *counted[FIGURES],
	       rates[FIGURES] = {0};
	struct course course = {.cycles = numbers};

	if (!picture || !numbers) {
		free(picture);
		free(numbers);
		return false;
	}
	course.instructions = numbers + count;
	limits = numbers + 2 * count;
	for (unsigned k = 0; k < FIGURES; k++) {
		course.values[k] = numbers + (3 + k) * count;
		counted[k] = numbers + (3 + FIGURES + k) * count;
	}
	for (size_t i = 0; i < count; i++) {
		const struct fm_recorded_window *window = &recording->windows[i];

		if (!i || window[-1].process != window->process) {
			fm_windows_limit_cycles(recording, window->process, limits + i);
			fm_windows_strata(recording, window->process, course.instructions + i);
		}
		if (window->timing.instructions) {
			fm_picture_cycles(&recording->machine, &window->timing, picture);
			for (unsigned k = 0; k < FIGURES; k++)
				rates[k] =
				    ((const struct fm_figure *)((const char *)picture + cycle_figures[k]))->value /
				    (double)window->timing.instructions;
		}
		course.instructions[i] *= fm_window_inside(window);
		course.cycles[i] = limits[i] * rates[ACTIVE] * course.instructions[i];
		for (unsigned k = 0; k < FIGURES; k++) {
			counted[k][i] = limits[i] * rates[k] * (double)window->work.instructions;
			course.values[k][i] = limits[i] * rates[k] * course.instructions[i];
		}
	}
	for (unsigned k = 0; k < FIGURES; k++)
		course.totals[k] = fm_windows_sum(recording, counted[k]);
	free(picture);
	*ret_course = course;
	return true;
}

/* Relative error of the share of the cycles, from the differences between neighbouring windows, each weighted by its
   cycles. INFINITY: not known. */
static double relative_share(const struct course *course, const double *shares_of)
{
	double cycles = 0, values = 0, variance = 0, share;
	size_t count = course->totals[ACTIVE].windows;

	if (count < FM_WINDOWS_LEAST)
		return INFINITY;
	for (size_t i = 0; i < count; i++) {
		cycles += course->cycles[i];
		values += shares_of[i];
	}
	if (!(values > 0) || !(cycles > 0))
		return 0;
	share = values / cycles;
	for (size_t i = 0; i < count; i++) {
		double own = course->cycles[i] > 0 ? shares_of[i] / course->cycles[i] : share, squares = 0;
		unsigned neighbours = 0;

		for (size_t k = i ? i - 1 : 0; k <= i + 1 && k < count; k++)
			if (k != i && course->cycles[k] > 0) {
				double difference = own - shares_of[k] / course->cycles[k];

				squares += difference * difference / 2;
				neighbours++;
			}
		if (neighbours)
			variance += course->cycles[i] * course->cycles[i] * squares / neighbours;
	}
	return fmax(fm_statistics_student((unsigned)count - 1) * sqrt(variance) / values, 1.0 / (double)count);
}

/* A relative error of the figure; INFINITY: not known. */
static double relative_half(const struct fm_window_total *total, double value)
{
	double half = fm_window_half_width(total);

	return isfinite(half) && total->value > 0 ? half / total->value * part_factor(total->value, value) : half;
}

/* Lines that may have come from memory, or not, per line that did. An unknown content of the last cache also makes the
   time of waiting for memory uncertain. */
static double unknown_lines(const struct fm_recording *recording)
{
	unsigned last = recording->machine.cache_count - 1;
	struct fm_estimates estimates;
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
	if (!(unknown > 0))
		return 0;
	unknown /= fmax(read, 1);
	/* lines that are followed for the whole run may know better */
	if (read > 0 && fm_estimates_of(recording, &estimates)) {
		const struct fm_estimate *reads = &estimates.numbers[FM_COUNTS_memory_reads];

		unknown = fmin(unknown, fmax(fabs(reads->high / read - 1), fabs(1 - reads->low / read)));
	}
	return unknown;
}

/* The waiting share `waited` may be larger by this factor, or nothing. */
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

static void widen_sampled(struct fm_figure *figure, double relative)
{
	double half = relative * figure->value;

	if (figure->available)
		*figure =
		    fm_figure_make(figure->value, fmax(0, figure->value - hypot(figure->value - figure->low, half)),
		                   figure->value + hypot(figure->high - figure->value, half), figure->unit,
		                   FM_ORIGIN_sampled, "exact", figure->trials);
}

void fm_uncertain_stretches(const struct fm_recording *recording, struct fm_picture *picture)
{
	double error = recording->processes_count ? recording->processes[0].timing_error : 0;

	for (unsigned i = 0; error > 0 && i < FIGURES; i++)
		widen_sampled((struct fm_figure *)((char *)picture + cycle_figures[i]), error);
	for (unsigned i = 0; error > 0 && i < picture->level_count; i++) {
		widen_sampled(&picture->levels[i].latency_share, error);
		widen_sampled(&picture->levels[i].bandwidth_share, error);
	}
}

/* Of cycles that were added up by pieces of code; 0: those of some process were not. */
static double pieces_error(const struct fm_recording *recording)
{
	double most = 0;

	for (size_t i = 0; i < recording->processes_count; i++) {
		if (!(recording->processes[i].pieces_timed > 0))
			return 0;
		most = fmax(most, recording->processes[i].pieces_error);
	}
	return most;
}

void fm_uncertain_window_cycles(const struct fm_recording *recording, struct fm_picture *picture)
{
	double throughput = 0;
	struct fm_picture_level *memory = &picture->levels[picture->level_count - 1];
	double relative[FIGURES], active = picture->active.value, unknown;
	/* cycles that are waited for memory, in each of the figures */
	double waited[FIGURES] = {
	    [LATENCY] = memory->latency_share.value * active, [BANDWIDTH] = memory->bandwidth_share.value * active};
	struct course course;
	unsigned windows;

	if (!fm_windows_used(recording) || !make_course(recording, &course))
		return;
	unknown = unknown_lines(recording);
	waited[MEMORY] = waited[ACTIVE] = waited[STALL] = waited[LATENCY] + waited[BANDWIDTH];
	throughput = relative_share(&course, course.instructions);
	windows = course.totals[ACTIVE].windows;
	for (unsigned i = 0; i < FIGURES; i++) {
		struct fm_figure *figure = (struct fm_figure *)((char *)picture + cycle_figures[i]);

		/* all but the cycles themselves are looked at as shares of them */
		relative[i] = i == ACTIVE
		                  ? (pieces_error(recording) > 0 ? pieces_error(recording)
		                                                 : relative_half(&course.totals[i], figure->value))
		                  : relative_share(&course, course.values[i]) *
		                        part_factor(course.totals[i].value, figure->value);
		widen_by(figure, relative[i], waited[i], unknown, windows);
	}
	free_course(&course);
	/* shares of cycles are at least as certain as the cycles */
	for (unsigned i = 0; i < picture->level_count; i++) {
		struct fm_picture_level *level = &picture->levels[i];
		double times = level == memory ? unknown : 0;

		widen_by(&level->latency_share, relative[LATENCY], level->latency_share.value, times, windows);
		widen_by(&level->bandwidth_share, relative[BANDWIDTH], level->bandwidth_share.value, times, windows);
		level->latency_share.high = fmin(level->latency_share.high, 1);
		level->bandwidth_share.high = fmin(level->bandwidth_share.high, 1);
	}
	widen_by(&picture->signs.translation, relative[LATENCY], 0, 0, windows);
	widen_by(&picture->signs.supply, relative[STALL], 0, 0, windows);
	widen_by(&picture->signs.throughput, throughput, 0, 0, windows);
}

void fm_uncertain_window_time(const struct fm_recording *recording, struct fm_figure *predicted)
{
	struct course course;

	if (!fm_windows_used(recording) || !predicted->available || !make_course(recording, &course))
		return;
	widen_by(predicted,
	         pieces_error(recording) > 0 ? pieces_error(recording)
	                                     : relative_half(&course.totals[ACTIVE], course.totals[ACTIVE].value),
	         0, 0, course.totals[ACTIVE].windows);
	free_course(&course);
}

/* Figures that lie next to each other. */
static void withhold(void *first, size_t bytes, unsigned windows)
{
	struct fm_figure *figures = first;

	for (size_t i = 0; i < bytes / sizeof(*figures); i++)
		if (figures[i].available)
			figures[i] = fm_figure_unavailable(too_few, windows);
}

void fm_uncertain_few_windows(const struct fm_recording *recording, struct fm_picture *picture)
{
	unsigned windows = (unsigned)recording->windows_count;
	struct fm_figure blocked = picture->signs.blocked;

	if (!fm_windows_used(recording) || windows >= FM_WINDOWS_LEAST)
		return;
	for (unsigned i = 0; i < picture->level_count; i++) {
		struct fm_picture_level *level = &picture->levels[i];
		struct fm_figure *figures[] = {&level->read_bytes,  &level->allocate_bytes,  &level->write_bytes,
		                               &level->gbs,         &level->moved_bytes,     &level->loaded_latency,
		                               &level->utilisation, &level->bandwidth_share, &level->latency_share};

		for (size_t k = 0; k < sizeof(figures) / sizeof(figures[0]); k++)
			withhold(figures[k], sizeof(*figures[k]), windows);
	}
	for (size_t i = 0; i < FIGURES; i++)
		withhold((char *)picture + cycle_figures[i], sizeof(struct fm_figure), windows);
	withhold(&picture->predicted_seconds, sizeof(picture->predicted_seconds), windows);
	withhold(&picture->productive, sizeof(picture->productive), windows);
	withhold(&picture->other_stall, sizeof(picture->other_stall), windows);
	withhold(&picture->signs, sizeof(picture->signs), windows);
	picture->signs.blocked = blocked; /* by the scheduler, for the whole run */
	picture->thread_count = 0;
}

/* All lines into the cache above, for any reason, and those written from there; bytes. False: of an earlier version. */
static bool moved_between(const struct fm_recording *recording, const struct fm_estimates *estimates, unsigned level,
                          struct fm_estimate *ret_moved)
{
	unsigned caches = recording->machine.cache_count;
	const struct fm_estimate *in = level < caches ? &estimates->numbers[FM_ESTIMATE_LINES_IN + level - 1]
	                                              : &estimates->numbers[FM_COUNTS_memory_reads],
	                         *out =
	                             level < caches
	                                 ? &estimates->numbers[fm_counter_of_cache(level - 1, FM_CACHE_lines_written)]
	                                 : &estimates->numbers[FM_COUNTS_memory_writes];
	double line = recording->machine.line_bytes, value = in->value + out->value, below = in->value - in->low,
	       above = in->high - in->value, out_below = out->value - out->low, out_above = out->high - out->value;

	if (!(in->high > 0))
		return false;
	*ret_moved =
	    (struct fm_estimate){line * value, line * fmax(0, value - sqrt(below * below + out_below * out_below)),
	                         line * (value + sqrt(above * above + out_above * out_above))};
	return true;
}

static struct fm_figure sum_of(const struct fm_picture_level *level)
{
	const struct fm_figure *read = &level->read_bytes, *allocated = &level->allocate_bytes,
	                       *written = &level->write_bytes;

	return fm_figure_make(read->value + allocated->value + written->value,
	                      read->low + allocated->low + written->low, read->high + allocated->high + written->high,
	                      read->unit, read->origin, read->backend, read->trials);
}

static void widen_moved(const struct fm_recording *recording, const struct fm_estimates *estimates, unsigned index,
                        struct fm_picture_level *level)
{
	struct fm_estimate moved;
	double part;

	if (!level->read_bytes.available) {
		level->moved_bytes = level->read_bytes;
	} else if (!index || !moved_between(recording, estimates, index, &moved)) {
		level->moved_bytes = sum_of(level);
	} else {
		part = moved.value > 0
		           ? level->moved_bytes.value / moved.value * part_factor(moved.value, level->moved_bytes.value)
		           : 1;
		widen(&level->moved_bytes, (moved.value - moved.low) * part, (moved.high - moved.value) * part,
		      estimates->windows);
	}
}

void fm_uncertain_windows(const struct fm_recording *recording, struct fm_picture *picture)
{
	struct fm_estimates estimates;
	struct fm_core_counts ends[5];

	if (!fm_windows_used(recording) || !fm_estimates_of(recording, &estimates))
		return;
	for (unsigned i = 0; i < 4; i++)
		ends[i] = ends_of(&estimates, i & 1, i & 2);
	for (unsigned i = 0; i < FM_COUNTS_NUMBERS; i++)
		fm_counter_set(&ends[4], i, (uint64_t)llround(estimates.numbers[i].value));
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
		widen_moved(recording, &estimates, i, &picture->levels[i]);
	}
}
