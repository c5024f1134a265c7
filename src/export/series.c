#include "export/series.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/exported.h"
#include "recording/schema.h"
#include "simulator/counters.h"

static int by_time(const void *first, const void *second)
{
	const struct fm_series_point *a = first, *b = second;

	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	if (a->part != b->part)
		return a->part < b->part ? -1 : 1;
	return (a->counter > b->counter) - (a->counter < b->counter);
}

static int add_counter(struct fm_series *series, const char *name, const char *unit)
{
	struct fm_series_counter *counter =
	    fm_recording_grow((void **)&series->counters, &series->counter_count, sizeof(*counter));

	if (!counter)
		return -ENOMEM;
	snprintf(counter->name, sizeof(counter->name), "%s", name);
	snprintf(counter->unit, sizeof(counter->unit), "%s", unit);
	return 0;
}

static int add_point(struct fm_series *series, struct fm_series_point point)
{
	struct fm_series_point *place =
	    fm_recording_grow((void **)&series->points, &series->point_count, sizeof(*place));

	if (!place)
		return -ENOMEM;
	*place = point;
	return 0;
}

static int take_intervals(const struct fm_recording *recording, struct fm_series *series)
{
	int r = 0;

	series->parts = recording->parts_count;
	for (size_t i = 0; !r && i < recording->events_count; i++)
		r = add_counter(series, recording->events[i].name, recording->events[i].unit);
	for (size_t i = 0; !r && i < recording->intervals_count; i++) {
		const struct fm_recorded_interval *interval = &recording->intervals[i];

		/* an unavailable count has no point: it is not 0 */
		if (interval->figure.available && isfinite(interval->figure.value))
			r = add_point(series, (struct fm_series_point){fm_exported_time(interval->at), interval->event,
			                                               interval->part, interval->figure.value});
	}
	return r;
}

static uint64_t number_at(const struct fm_recorded_moment *moment, const struct fm_number *number)
{
	return fm_counter_get(number->kind == FM_COLUMN_COUNTS ? (const void *)&moment->counts : &moment->timing,
	                      number->index);
}

/* Counts over simulated time. Counters that are always zero are omitted. */
static int take_moments(const struct fm_recording *recording, struct fm_series *series)
{
	const struct fm_schema *schema = fm_schema();
	double frequency =
	    recording->has_machine && recording->machine.frequency_ghz > 0 ? recording->machine.frequency_ghz : 1;
	int r = 0;

	series->parts = 1;
	for (unsigned i = 0; !r && i < schema->number_count; i++) {
		const struct fm_number *number = &schema->numbers[i];
		bool any = false;

		if (number->kind != FM_COLUMN_COUNTS && number->kind != FM_COLUMN_TIMING)
			continue;
		for (size_t k = 0; k < recording->moments_count; k++)
			any |= number_at(&recording->moments[k], number) != 0;
		if (any)
			r = add_counter(series, number->name, "");
		for (size_t k = 0; !r && any && k < recording->moments_count; k++) {
			const struct fm_recorded_moment *moment = &recording->moments[k];
			uint64_t value = number_at(moment, number), before = k ? number_at(moment - 1, number) : 0;

			r = add_point(
			    series, (struct fm_series_point){fm_exported_time((double)moment->cycle / frequency * 1e-9),
			                                     (uint32_t)series->counter_count - 1, 0,
			                                     value > before ? (double)(value - before) : 0});
		}
	}
	return r;
}

int fm_series_make(const struct fm_recording *recording, struct fm_series *ret_series)
{
	struct fm_series series = {0};
	int r = recording->intervals_count ? take_intervals(recording, &series)
	        : recording->moments_count ? take_moments(recording, &series)
	                                   : 0;

	if (r) {
		fm_series_free(&series);
		return r;
	}
	if (series.point_count)
		qsort(series.points, series.point_count, sizeof(*series.points), by_time);
	*ret_series = series;
	return 0;
}

void fm_series_free(struct fm_series *series)
{
	free(series->counters);
	free(series->points);
	*series = (struct fm_series){0};
}
