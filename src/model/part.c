#include "model/part.h"

#include <stdlib.h>
#include <string.h>

#include "simulator/numbers.h"

typedef void (*visitor)(void *context, const struct fm_part_thread *entry);

static void visit_region(const struct fm_recorded_region *region, visitor visit, void *context)
{
	visit(context, &(struct fm_part_thread){.thread = region->thread,
	                                        .instances = region->counted,
	                                        .elapsed = region->elapsed,
	                                        .counts = &region->counts,
	                                        .timing = &region->timing,
	                                        .work = &region->work,
	                                        .forked = region->process > 0});
}

static void visit_thread(const struct fm_recorded_thread *thread, visitor visit, void *context)
{
	visit(context, &(struct fm_part_thread){.thread = thread->thread,
	                                        .elapsed = thread->clock,
	                                        .counts = &thread->counts,
	                                        .timing = &thread->timing,
	                                        .work = &thread->work,
	                                        .forked = thread->process > 0,
	                                        .others = thread->others});
}

void fm_part_each(const struct fm_recording *recording, const struct fm_part *part, visitor visit, void *context)
{
	for (size_t i = 0; part->region && i < recording->regions_count; i++) {
		const struct fm_recorded_region *region = &recording->regions[i];

		if (!strcmp(region->name, part->region) &&
		    (part->thread < 0 || (!region->process && part->thread == (int)region->thread)))
			visit_region(region, visit, context);
	}
	for (size_t i = 0; !part->region && i < recording->threads_count; i++) {
		const struct fm_recorded_thread *thread = &recording->threads[i];

		if (part->thread < 0 || (!thread->process && part->thread == (int)thread->thread))
			visit_thread(thread, visit, context);
	}
}

void fm_part_add(struct fm_part_sums *sums, const struct fm_part_thread *entry)
{
	fm_core_counts_add(&sums->counts, entry->counts);
	fm_numbers_add(&sums->timing, entry->timing, sizeof(sums->timing));
	fm_work_add(&sums->work, entry->work);
	sums->instances += entry->instances;
	sums->threads += entry->others ? (unsigned)entry->others : 1;
	if ((double)entry->elapsed > sums->longest)
		sums->longest = (double)entry->elapsed;
}

static void add(void *context, const struct fm_part_thread *entry)
{
	fm_part_add(context, entry);
}

void fm_part_sum(const struct fm_recording *recording, const struct fm_part *part, struct fm_part_sums *ret_sums)
{
	memset(ret_sums, 0, sizeof(*ret_sums));
	fm_part_each(recording, part, add, ret_sums);
}

/* Is there one of that name before it? */
static bool is_first(const struct fm_recording *recording, size_t region)
{
	for (size_t i = 0; i < region; i++)
		if (!strcmp(recording->regions[i].name, recording->regions[region].name))
			return false;
	return true;
}

const char *fm_part_region_name(const struct fm_recording *recording, unsigned index)
{
	for (size_t i = 0; i < recording->regions_count; i++)
		if (is_first(recording, i) && !index--)
			return recording->regions[i].name;
	return NULL;
}

unsigned fm_part_thread_count(const struct fm_recording *recording)
{
	unsigned count = 0;

	for (size_t i = 0; i < recording->threads_count; i++)
		count += !recording->threads[i].process && !recording->threads[i].others;
	return count;
}

static int by_function(const void *left, const void *right)
{
	const struct fm_function_use *a = left, *b = right;
	int order = strcmp(a->function, b->function);

	return order ? order : strcmp(a->module, b->module);
}

size_t fm_functions_use(const struct fm_recording *recording, struct fm_function_use **ret_functions)
{
	struct fm_function_use *all = calloc(recording->lines_count + 1, sizeof(*all));
	size_t used = 0;

	*ret_functions = all;
	if (!all)
		return 0;
	for (size_t i = 0; i < recording->lines_count; i++) {
		const struct fm_recorded_place *line = &recording->lines[i];

		all[i] =
		    (struct fm_function_use){line->function, line->module, line->loads + line->stores, line->moved[0]};
	}
	qsort(all, recording->lines_count, sizeof(*all), by_function);
	for (size_t i = 0; i < recording->lines_count; i++) {
		if (used && !by_function(&all[used - 1], &all[i])) {
			all[used - 1].accesses += all[i].accesses;
			all[used - 1].lines += all[i].lines;
		} else {
			all[used++] = all[i];
		}
	}
	return used;
}
