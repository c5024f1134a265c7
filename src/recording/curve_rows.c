#include "recording/curve_rows.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

int fm_curve_write(const struct fm_miss_curve *curve, const struct fm_recorded_curve *described, unsigned every,
                   struct fm_recording *recording)
{
	struct fm_recorded_curve *row = fm_recording_add(recording, curves);

	if (!row)
		return -ENOMEM;
	*row = *described;
	row->phases = curve->phases;
	row->samples = curve->samples;
	for (unsigned i = 0; i < FM_MISS_POINTS; i += every) {
		struct fm_recorded_curve_point *point = fm_recording_add(recording, curve_points);

		if (!point)
			return -ENOMEM;
		*point = (struct fm_recorded_curve_point){.curve = (uint32_t)recording->curves_count - 1,
		                                          .bytes = fm_miss_bytes(i),
		                                          .value = curve->points[i].value,
		                                          .low = fmin(curve->points[i].low, curve->points[i].value),
		                                          .high = fmax(curve->points[i].high, curve->points[i].value)};
	}
	return 0;
}

/* Of parts not every point was kept: those between are in proportion. */
static void read_points(const struct fm_recording *recording, size_t index, struct fm_miss_point *points)
{
	unsigned last = 0, found = 0;

	for (size_t i = 0; i < recording->curve_points_count; i++) {
		const struct fm_recorded_curve_point *row = &recording->curve_points[i];
		const struct fm_miss_point point = {row->value, row->low, row->high};
		double place;
		unsigned at;

		if (row->curve != index)
			continue;
		place = row->bytes >= FM_MISS_SMALLEST ? log2(row->bytes / FM_MISS_SMALLEST) * FM_MISS_PER_OCTAVE : -1;
		if (!(place > -0.5 && place < FM_MISS_POINTS - 0.5))
			continue;
		at = (unsigned)lround(place);
		for (unsigned k = last + 1; found && k < at; k++) {
			double part = (double)(k - last) / (at - last);
			const struct fm_miss_point *a = &points[last];

			points[k] = (struct fm_miss_point){a->value + part * (point.value - a->value),
			                                   a->low + part * (point.low - a->low),
			                                   a->high + part * (point.high - a->high)};
		}
		points[at] = point;
		last = at;
		found++;
	}
}

void fm_curve_read(const struct fm_recording *recording, size_t index, struct fm_miss_curve *ret_curve)
{
	const struct fm_recorded_curve *row = &recording->curves[index];

	*ret_curve = (struct fm_miss_curve){.origin = FM_ORIGIN_sampled,
	                                    .clusters = (unsigned)(row->one_in ? row->groups : row->windows),
	                                    .samples = row->samples,
	                                    .phases = (unsigned)row->phases,
	                                    .clock_error = row->clock_error,
	                                    .largest_bytes = row->largest_bytes > 0 ? row->largest_bytes : INFINITY,
	                                    .bootstrapped = true};
	read_points(recording, index, ret_curve->points);
}

const struct fm_recorded_curve *fm_curve_of_program(const struct fm_recording *recording)
{
	for (size_t i = 0; i < recording->curves_count; i++)
		if (recording->curves[i].kind == FM_CURVE_PROGRAM)
			return &recording->curves[i];
	return NULL;
}

bool fm_curve_from_distances(const struct fm_recording *recording, struct fm_miss_curve *ret_curve)
{
	struct fm_distances *distances = recording->distances_count ? calloc(1, sizeof(*distances)) : NULL;
	bool found;

	for (size_t i = 0; distances && i < recording->distances_count; i++) {
		const struct fm_recorded_distance *row = &recording->distances[i];

		if (row->bin == -2)
			distances->references = row->accesses;
		else if (row->bin == -1)
			distances->cold = row->accesses;
		else if (row->bin >= 0 && row->bin < FM_DISTANCE_BINS)
			distances->bins[row->bin] = row->accesses;
	}
	found = distances && !fm_miss_exact(distances, recording->machine.line_bytes, ret_curve);
	free(distances);
	return found;
}
