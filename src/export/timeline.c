#include "export/timeline.h"

#include <errno.h>
#include <stdlib.h>

static int by_time(const void *first, const void *second, void *context)
{
	const struct fm_recording *recording = context;
	const struct fm_moment *a = first, *b = second;
	const struct fm_recorded_instance *one, *other;

	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->kind == FM_MOMENT_REGION_BEGIN || a->kind == FM_MOMENT_REGION_END) {
		one = &recording->instances[a->index];
		other = &recording->instances[b->index];
		/* the outer one begins first and ends last */
		if (a->kind == FM_MOMENT_REGION_BEGIN && one->ended != other->ended)
			return one->ended > other->ended ? -1 : 1;
		if (a->kind == FM_MOMENT_REGION_END && one->began != other->began)
			return one->began > other->began ? -1 : 1;
	}
	if (a->kind == FM_MOMENT_REGION_END || a->kind == FM_MOMENT_REGION_EMPTY)
		return (a->index < b->index) - (a->index > b->index);
	return (a->index > b->index) - (a->index < b->index);
}

int64_t fm_timeline_allocator(const struct fm_exported *exported, const struct fm_recorded_memory *memory)
{
	if (memory->kind != FM_MEMORY_HEAP || !memory->address)
		return -1;
	if (memory->thread >= 0)
		return memory->thread;
	return memory->process < 0 ? -1 : exported->first_thread[memory->process];
}

static void add(struct fm_timeline *timeline, double seconds, enum fm_moment_kind kind, size_t index)
{
	timeline->others[timeline->other_count++] =
	    (struct fm_moment){fm_exported_time(seconds), kind, (uint32_t)index};
}

int fm_timeline_begin(struct fm_timeline *timeline, const struct fm_exported *exported)
{
	const struct fm_recording *recording = exported->recording;
	size_t most =
	    recording->sampled_threads_count + 2 * recording->instances_count + 2 * recording->memories_count + 1;

	*timeline = (struct fm_timeline){.exported = exported, .others = malloc(most * sizeof(*timeline->others))};
	if (!timeline->others)
		return -ENOMEM;
	for (size_t i = 0; i < recording->sampled_threads_count; i++)
		add(timeline, recording->sampled_threads[i].began, FM_MOMENT_THREAD, i);
	for (size_t i = 0; i < recording->instances_count; i++) {
		const struct fm_recorded_instance *instance = &recording->instances[i];
		bool empty = fm_exported_time(instance->ended) <= fm_exported_time(instance->began);

		add(timeline, instance->began, FM_MOMENT_REGION_BEGIN, i);
		add(timeline, empty ? instance->began : instance->ended,
		    empty ? FM_MOMENT_REGION_EMPTY : FM_MOMENT_REGION_END, i);
	}
	for (size_t i = 0; i < recording->memories_count; i++) {
		const struct fm_recorded_memory *memory = &recording->memories[i];

		if (fm_timeline_allocator(exported, memory) < 0)
			continue;
		add(timeline, memory->began, FM_MOMENT_ALLOCATED, i);
		/* memory with a lifetime up to the end was not freed */
		if (memory->ended > memory->began && fm_exported_time(memory->ended) < exported->duration)
			add(timeline, memory->ended, FM_MOMENT_FREED, i);
	}
	qsort_r(timeline->others, timeline->other_count, sizeof(*timeline->others), by_time, (void *)recording);
	return 0;
}

bool fm_timeline_next(struct fm_timeline *timeline, struct fm_moment *ret_moment)
{
	const struct fm_exported *exported = timeline->exported;
	bool any = false;

	if (timeline->next_other < timeline->other_count) {
		*ret_moment = timeline->others[timeline->next_other];
		any = true;
	}
	if (timeline->next_sample < exported->count) {
		uint64_t at = fm_exported_time(fm_exported_sample(exported, timeline->next_sample)->at);

		if (!any || at < ret_moment->at)
			*ret_moment = (struct fm_moment){at, FM_MOMENT_SAMPLE, exported->order[timeline->next_sample]};
		any = true;
	}
	if (timeline->next_count < exported->series.point_count) {
		uint64_t at = exported->series.points[timeline->next_count].at;

		if (!any || at < ret_moment->at)
			*ret_moment = (struct fm_moment){at, FM_MOMENT_COUNT, (uint32_t)timeline->next_count};
		any = true;
	}
	if (!any)
		return false;
	*(ret_moment->kind == FM_MOMENT_SAMPLE  ? &timeline->next_sample
	  : ret_moment->kind == FM_MOMENT_COUNT ? &timeline->next_count
	                                        : &timeline->next_other) += 1;
	return true;
}

void fm_timeline_end(struct fm_timeline *timeline)
{
	free(timeline->others);
}
