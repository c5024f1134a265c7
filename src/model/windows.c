/* Windows see a part of a run: how far what they say of all of it may be off. */
#include <math.h>
#include <stdlib.h>

#include "model/uncertainty.h"
#include "recording/windows.h"

/* A part of the run (a thread, a region) was in fewer windows, or in less of each: its relative error is larger. */
static double part_factor(double whole, double part)
{
	return part > 0 && whole > part ? sqrt(whole / part) : 1;
}

/* What is not known may be all hits or all misses, which moves a line each. Of the first cache only the code is not
   known that no window has seen. */
static double unknown_bytes(const struct fm_recording *recording, unsigned level, double *values)
{
	double unseen = fm_windows_unseen(recording);

	if (!level)
		return unseen * sizeof(uint64_t);
	unseen *= recording->machine.line_bytes;
	for (size_t i = 0; i < recording->windows_count; i++)
		values[i] = (double)recording->windows[i].unknown[level - 1] * recording->machine.line_bytes;
	return unseen + fm_windows_sum(recording, values).value;
}

static void widen(struct fm_figure *figure, double sampling, double unknown, unsigned windows)
{
	double below = hypot(figure->value - figure->low, sampling) + unknown,
	       above = hypot(figure->high - figure->value, sampling) + unknown;

	*figure = fm_figure_make(figure->value, fmax(0, figure->value - below), figure->value + above, figure->unit,
	                         FM_ORIGIN_sampled, "windows", windows);
}

void fm_uncertain_windows(const struct fm_recording *recording, struct fm_picture *picture)
{
	size_t count = recording->windows_count;
	double *values = fm_windows_used(recording) ? calloc(count + 1, sizeof(*values)) : NULL;

	for (unsigned i = 0; values && i < picture->level_count; i++) {
		struct fm_figure *figures[] = {[FM_TRAFFIC_READ] = &picture->levels[i].read_bytes,
		                               [FM_TRAFFIC_ALLOCATED] = &picture->levels[i].allocate_bytes,
		                               [FM_TRAFFIC_WRITTEN] = &picture->levels[i].write_bytes};
		double unknown = unknown_bytes(recording, i, values), moved = 0;

		for (unsigned kind = 0; kind < FM_TRAFFIC_KINDS; kind++)
			moved += figures[kind]->value;
		for (unsigned kind = 0; kind < FM_TRAFFIC_KINDS; kind++) {
			struct fm_window_total total;
			double half;

			for (size_t k = 0; k < count; k++)
				values[k] = fm_picture_traffic(&recording->machine, &recording->windows[k].counts, i)
				                .bytes[kind];
			total = fm_windows_sum(recording, values);
			half = fm_window_half_width(&total);
			if (!isfinite(half)) {
				*figures[kind] = fm_figure_unavailable(
				    "only %u windows: it ran too briefly for windows; --counters exact sees all of it",
				    total.windows);
				continue;
			}
			if (total.value > 0)
				half *=
				    figures[kind]->value / total.value * part_factor(total.value, figures[kind]->value);
			/* of what is not known, as much as the kind has of all; where there was nothing, all of it */
			widen(figures[kind], half,
			      moved > 0
			          ? fmax(unknown * figures[kind]->value / moved,
			                 fmin(unknown, recording->machine.line_bytes * fm_windows_unseen(recording)))
			          : unknown,
			      total.windows);
		}
	}
	free(values);
}
