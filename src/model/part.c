#include "model/part.h"

#include <stdio.h>
#include <string.h>

#include "exact/numbers.h"

typedef void (*visitor)(void *context, const struct fm_part_entry *entry);

static void each_thread(const struct fm_results *results, int only, bool forked, visitor visit, void *context)
{
	for (unsigned i = 0; i < results->thread_count && i < FM_RESULT_THREADS_MAX; i++) {
		struct fm_part_entry entry = {.thread = i,
		                              .work = &results->threads[i].work,
		                              .elapsed = results->threads[i].clock,
		                              .forked = forked};

		if (only >= 0 && only != (int)i)
			continue;
		fm_result_thread_counts(results, i, &entry.counts, &entry.timing);
		visit(context, &entry);
	}
}

static void each_region(const struct fm_results *results, const struct fm_part *part, visitor visit, void *context)
{
	for (unsigned i = 0; i < results->region_count && i < FM_RESULT_REGIONS_MAX; i++) {
		const struct fm_result_region *region = &results->regions[i];
		struct fm_part_entry entry = {.thread = region->thread,
		                              .instances = region->counted,
		                              .elapsed = region->elapsed,
		                              .counts = region->counts,
		                              .timing = region->timing,
		                              .work = &region->work};

		if (!strncmp(region->name, part->region, FM_RESULT_NAME) &&
		    (part->thread < 0 || part->thread == (int)region->thread))
			visit(context, &entry);
	}
}

void fm_part_each(const struct fm_engine_run *run, const struct fm_part *part, visitor visit, void *context)
{
	if (part->region) {
		each_region(run->results, part, visit, context);
		for (unsigned i = 0; i < run->forked_count && part->thread < 0; i++)
			each_region(run->forked[i], part, visit, context);
		return;
	}
	each_thread(run->results, part->thread, false, visit, context);
	for (unsigned i = 0; i < run->forked_count && part->thread < 0; i++)
		each_thread(run->forked[i], -1, true, visit, context);
}

void fm_part_add(struct fm_part_sums *sums, const struct fm_part_entry *entry)
{
	fm_core_counts_add(&sums->counts, &entry->counts);
	fm_numbers_add(&sums->timing, &entry->timing, sizeof(sums->timing));
	fm_work_add(&sums->work, entry->work);
	sums->instances += entry->instances;
	sums->threads++;
	if ((double)entry->elapsed > sums->longest)
		sums->longest = (double)entry->elapsed;
}

static void add(void *context, const struct fm_part_entry *entry)
{
	fm_part_add(context, entry);
}

void fm_part_sum(const struct fm_engine_run *run, const struct fm_part *part, struct fm_part_sums *ret_sums)
{
	memset(ret_sums, 0, sizeof(*ret_sums));
	fm_part_each(run, part, add, ret_sums);
}

static const struct fm_results *process_of(const struct fm_engine_run *run, unsigned process)
{
	return process ? run->forked[process - 1] : run->results;
}

/* Is there one of that name before it? */
static bool is_first(const struct fm_engine_run *run, unsigned process, unsigned region)
{
	const char *name = process_of(run, process)->regions[region].name;

	for (unsigned p = 0; p <= process; p++) {
		const struct fm_results *results = process_of(run, p);
		unsigned count = p == process ? region : results->region_count;

		for (unsigned i = 0; i < count && i < FM_RESULT_REGIONS_MAX; i++)
			if (!strncmp(results->regions[i].name, name, FM_RESULT_NAME))
				return false;
	}
	return true;
}

bool fm_part_region_name(const struct fm_engine_run *run, unsigned index, char *ret_name)
{
	for (unsigned p = 0; p <= run->forked_count; p++) {
		const struct fm_results *results = process_of(run, p);

		for (unsigned i = 0; i < results->region_count && i < FM_RESULT_REGIONS_MAX; i++) {
			if (!is_first(run, p, i) || index--)
				continue;
			/* the file is shared with a process that is none of ours: end its texts ourselves */
			snprintf(ret_name, FM_RESULT_NAME, "%.*s", FM_RESULT_NAME - 1, results->regions[i].name);
			return true;
		}
	}
	return false;
}
