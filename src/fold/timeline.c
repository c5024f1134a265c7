/* Samples by thread and time. */
#include <errno.h>
#include <stdlib.h>

#include "fold/parts.h"
#include "fold/thresholds.h"

static int by_time(const void *first, const void *second, void *context)
{
	const struct fm_recorded_sample *samples = context;
	uint32_t a = *(const uint32_t *)first, b = *(const uint32_t *)second;

	if (samples[a].at != samples[b].at)
		return samples[a].at < samples[b].at ? -1 : 1;
	return (a > b) - (a < b);
}

static bool is_complete(const struct fm_recording *recording)
{
	double seconds = 0, most = recording->sampling.cpu_seconds;

	for (size_t i = 0; i < recording->samples_count; i++)
		if (!(recording->samples[i].flags & FM_SAMPLE_LEVEL_ONLY))
			seconds += recording->samples[i].weight;
	return most > 0 && seconds > (1 - FM_MISSING_MOST) * most && seconds < (1 + FM_MISSING_MOST) * most;
}

static int find_gaps(const struct fm_recording *recording, struct fm_thread_timeline *timeline)
{
	size_t threads = recording->sampled_threads_count;
	bool complete =
	    !(recording->samples_count && recording->samples[0].flags & FM_SAMPLE_SIMULATED) && is_complete(recording);

	timeline->first_gap = calloc(threads + 1, sizeof(*timeline->first_gap));
	if (!timeline->first_gap)
		return -ENOMEM;
	for (size_t t = 0; t < threads; t++) {
		double before = 0;

		timeline->first_gap[t] = timeline->gap_count;
		for (size_t i = timeline->begin[t] + 1; complete && i < timeline->begin[t + 1]; i++) {
			const struct fm_recorded_sample *last = &recording->samples[timeline->list[i - 1]],
			                                *next = &recording->samples[timeline->list[i]];
			struct fm_off_cpu *gap;

			if (!(next->weight > 0) || next->at - last->at <= FM_GAP_LONG * next->weight)
				continue;
			gap = fm_recording_grow((void **)&timeline->gaps, &timeline->gap_count, sizeof(*gap));
			if (!gap)
				return -ENOMEM;
			*gap = (struct fm_off_cpu){last->at, next->at, next->at - last->at - next->weight, before};
			before += gap->off;
		}
	}
	timeline->first_gap[threads] = timeline->gap_count;
	return 0;
}

double fm_timeline_active(const struct fm_thread_timeline *timeline, uint32_t thread, double at)
{
	size_t low = timeline->first_gap[thread], high = timeline->first_gap[thread + 1];
	const struct fm_off_cpu *gap;

	if (low == high || at <= timeline->gaps[low].begin)
		return at;
	/* the last one that begins before */
	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		if (timeline->gaps[middle].begin < at)
			low = middle;
		else
			high = middle;
	}
	gap = &timeline->gaps[low];
	if (at >= gap->end)
		return at - gap->before - gap->off;
	return at - gap->before - gap->off * (at - gap->begin) / (gap->end - gap->begin);
}

int fm_timeline_make(const struct fm_recording *recording, struct fm_thread_timeline *ret_timeline)
{
	size_t count = recording->samples_count, threads = recording->sampled_threads_count;
	uint32_t *list = malloc((count + 1) * sizeof(*list));
	size_t *begin = calloc(threads + 3, sizeof(*begin));

	if (!list || !begin) {
		free(list);
		free(begin);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++)
		begin[recording->samples[i].thread + 2]++;
	for (size_t i = 2; i < threads + 3; i++)
		begin[i] += begin[i - 1];
	for (size_t i = 0; i < count; i++)
		list[begin[recording->samples[i].thread + 1]++] = (uint32_t)i;
	/* they nearly always are in order already */
	for (size_t t = 0; t < threads; t++) {
		bool sorted = true;

		for (size_t i = begin[t] + 1; sorted && i < begin[t + 1]; i++)
			sorted = recording->samples[list[i - 1]].at <= recording->samples[list[i]].at;
		if (!sorted)
			qsort_r(list + begin[t], begin[t + 1] - begin[t], sizeof(*list), by_time, recording->samples);
	}
	*ret_timeline = (struct fm_thread_timeline){.list = list, .begin = begin};
	return find_gaps(recording, ret_timeline);
}

void fm_timeline_free(struct fm_thread_timeline *timeline)
{
	free(timeline->list);
	free(timeline->begin);
	free(timeline->gaps);
	free(timeline->first_gap);
}

size_t fm_timeline_find(const struct fm_recording *recording, const struct fm_thread_timeline *timeline,
                        uint32_t thread, double at)
{
	size_t low = timeline->begin[thread], high = timeline->begin[thread + 1];

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (recording->samples[timeline->list[middle]].at < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
