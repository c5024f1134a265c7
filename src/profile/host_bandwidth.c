#include "profile/host_bandwidth.h"

#include <math.h>
#include <stddef.h>

#include "profile/tuning.h"

static bool is_of(const struct fm_bandwidth *point, enum fm_stream_kernel_index kernel, unsigned level)
{
	return point->level == level && point->kernel == kernel && !point->string && point->gbs.available &&
	       point->gbs.value > 0;
}

static bool is_sure(const struct fm_figure *gbs)
{
	return fm_figure_relative_width(gbs) <= FM_FIGURE_INCONCLUSIVE;
}

/* The fastest conclusive point, since neighbours only make a kernel slower; else the widest instructions. */
static bool is_better(const struct fm_bandwidth *point, const struct fm_bandwidth *best)
{
	if (!best || is_sure(&point->gbs) != is_sure(&best->gbs))
		return !best || is_sure(&point->gbs);
	return is_sure(&point->gbs) ? point->gbs.value > best->gbs.value : point->isa > best->isa;
}

static const struct fm_bandwidth *on_one_thread(const struct fm_machine *profile, enum fm_stream_kernel_index kernel,
                                                unsigned level)
{
	const struct fm_bandwidth *best = NULL;

	for (unsigned i = 0; i < profile->bandwidth_count; i++) {
		const struct fm_bandwidth *point = &profile->bandwidths[i];

		if (is_of(point, kernel, level) && point->threads == 1 && is_better(point, best))
			best = point;
	}
	return best;
}

/* The widest instructions on the most threads: conclusive points of few threads do not represent many. */
static const struct fm_bandwidth *on_most_threads(const struct fm_machine *profile, enum fm_stream_kernel_index kernel,
                                                  unsigned level)
{
	const struct fm_bandwidth *best = NULL;

	for (unsigned i = 0; i < profile->bandwidth_count; i++) {
		const struct fm_bandwidth *point = &profile->bandwidths[i];

		if (is_of(point, kernel, level) &&
		    (!best || point->isa > best->isa || (point->isa == best->isa && point->threads > best->threads)))
			best = point;
	}
	return best;
}

double fm_host_gbs(const struct fm_machine *profile, enum fm_stream_kernel_index kernel, unsigned level, bool all)
{
	const struct fm_bandwidth *point =
	    all ? on_most_threads(profile, kernel, level) : on_one_thread(profile, kernel, level);

	return point ? point->gbs.value : 0;
}

/* Bandwidth of a kernel, and the width of its interval. */
struct reached {
	double gbs, width;
};

static struct reached reached_by(const struct fm_machine *profile, enum fm_stream_kernel_index kernel, unsigned level)
{
	const struct fm_bandwidth *point = on_one_thread(profile, kernel, level);
	struct reached reached = {0};

	if (!point)
		return reached;
	reached = (struct reached){point->gbs.value, fmax(REACHED_LEAST_WIDTH, fm_figure_relative_width(&point->gbs))};
	if (!profile->levels[level].no_plateau)
		return reached;
	/* neighbours take its lines now and then: the most that was seen, as long as that is believable */
	for (unsigned i = 0; i < profile->bandwidth_count; i++) {
		point = &profile->bandwidths[i];
		if (is_of(point, kernel, level) && point->threads == 1)
			reached.gbs = fmax(reached.gbs, fmin(point->gbs.high, 2 * point->gbs.value));
	}
	return reached;
}

static const enum fm_stream_kernel_index writing[] = {FM_STREAM_store, FM_STREAM_copy,         FM_STREAM_update,
                                                      FM_STREAM_daxpy, FM_STREAM_stream_triad, FM_STREAM_vector_triad};

enum { WRITING = sizeof(writing) / sizeof(writing[0]) };

/* The time of writing a line, from each kernel that writes: its time minus that of its reads. The kernels differ, since
   reads and writes overlap differently; each is weighted by its uncertainty. */
static struct fm_line_times times_by(const struct fm_machine *profile, unsigned level, unsigned line_bytes,
                                     unsigned first)
{
	struct reached load = reached_by(profile, FM_STREAM_load, level);
	struct fm_line_times times = {.read = load.gbs > 0 ? line_bytes / load.gbs : 0};
	double sum = 0, weights = 0;

	for (unsigned i = first; i < WRITING; i++) {
		const struct fm_stream_kernel *kernel = &fm_streams[writing[i]];
		struct reached reached = reached_by(profile, writing[i], level);
		double lines_written = kernel->stored_bytes / 8.0,
		       lines_read = (kernel->loaded_bytes + kernel->write_allocate_bytes) / 8.0, all, reading, error;

		if (!(reached.gbs > 0))
			continue;
		all = line_bytes * (kernel->loaded_bytes + kernel->stored_bytes) / 8.0 / reached.gbs;
		reading = lines_read * times.read;
		error = hypot(all * reached.width, reading * load.width) / lines_written;
		sum += (all - reading) / lines_written / (error * error);
		weights += 1 / (error * error);
	}
	times.written = weights > 0 ? fmax(0, sum / weights) : 0;
	return times;
}

struct fm_line_times fm_host_line_times(const struct fm_machine *profile, unsigned level, unsigned line_bytes)
{
	return times_by(profile, level, line_bytes, 0);
}

struct fm_line_times fm_host_mixed_line_times(const struct fm_machine *profile, unsigned level, unsigned line_bytes)
{
	for (unsigned i = 1; i < WRITING; i++)
		if (fm_host_gbs(profile, writing[i], level, false) > 0)
			return times_by(profile, level, line_bytes, 1);
	return times_by(profile, level, line_bytes, 0);
}
