/* The three panels of `report --html` over time. */
#include <math.h>

#include "report/html_parts.h"
#include "report/html_points.h"

/* Beginning of a sample's object; 0: it has none, or consists of several pieces. */
static uint64_t beginning(const struct fm_recording *recording, const struct fm_recorded_sample *sample)
{
	const struct fm_recorded_memory *memory = sample->memory < 0 ? NULL : &recording->memories[sample->memory];

	return memory && memory->address && memory->address <= sample->address ? memory->address : 0;
}

double fm_html_cost(const struct fm_samples *samples, const struct fm_recorded_sample *sample)
{
	const struct fm_recorded_sampling *sampling = &samples->recording->sampling;
	double ticks = sample->cost > sample->baseline ? sample->cost - sample->baseline : 0;

	if (sample->flags & (FM_SAMPLE_FAULTED | FM_SAMPLE_UNTIMED) || !sample->cost)
		return -1;
	if (sample->flags & FM_SAMPLE_SIMULATED)
		return sample->cost;
	return samples->model->cycles_per_ns > 0 && sampling->ticks_per_second > 0
	           ? ticks / sampling->ticks_per_second * 1e9 * samples->model->cycles_per_ns
	           : ticks;
}

static struct fm_html_point point_of(const struct fm_samples *samples, size_t index)
{
	const struct fm_recording *recording = samples->recording;
	const struct fm_recorded_sample *sample = &recording->samples[index];

	return (struct fm_html_point){
	    .at = sample->at,
	    .address = sample->address - beginning(recording, sample),
	    .object = samples->object_of[fm_samples_memory(samples, sample)],
	    .line = samples->line_of[sample->code],
	    .thread = sample->thread,
	    .level = samples->levels[index],
	    .load = sample->kind & FM_SAMPLE_LOAD,
	    .store = sample->kind & FM_SAMPLE_STORE,
	    .reference = !(sample->flags & FM_SAMPLE_LEVEL_ONLY),
	    .cost = fm_html_cost(samples, sample),
	    .weight = sample->weight,
	};
}

json_t *fm_html_whole_run(const struct fm_samples *samples)
{
	const struct fm_recording *recording = samples->recording;
	double begin = INFINITY, end = -INFINITY;
	struct fm_html_points *points;
	json_t *timeline;
	size_t total = 0;

	for (size_t i = 0; i < recording->samples_count; i++) {
		if (samples->left && !samples->left[i])
			continue;
		begin = fmin(begin, recording->samples[i].at);
		end = fmax(end, recording->samples[i].at);
		total++;
	}
	points = total ? fm_html_points_create(total, FM_HTML_POINTS, begin, end) : NULL;
	if (!points)
		return json_null();
	for (size_t i = 0; i < recording->samples_count; i++) {
		const struct fm_recorded_sample *sample = &recording->samples[i];

		if (samples->left && !samples->left[i])
			continue;
		fm_html_points_extend(points, samples->object_of[fm_samples_memory(samples, sample)],
		                      sample->address - beginning(recording, sample));
		if (fm_html_points_wants(points)) {
			struct fm_html_point point = point_of(samples, i);

			fm_html_points_add(points, &point);
		}
	}
	timeline = json_pack("{s:s, s:s, s:s, s:f, s:f}", "name", "whole run", "kind", "time", "unit", "s", "begin",
	                     begin, "end", end > begin ? end : begin + 1);
	fm_html_points_finish(points, timeline);
	fm_html_points_free(points);
	return timeline;
}
