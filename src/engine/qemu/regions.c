/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/qemu/regions.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/printable.h"
#include "simulator/numbers.h"
#include "engine/qemu/accesses.h"
#include "engine/account/room.h"
#include "engine/qemu/state.h"

static struct fm_result_region *find_region(struct fm_engine_thread *thread, const char *name)
{
	struct fm_results *results = fm_engine.account->results;
	struct fm_result_region *region = NULL;

	pthread_mutex_lock(&fm_engine.mutex);
	for (unsigned i = 0; i < results->region_count && !region; i++)
		if (results->regions[i].thread == thread->index && !strcmp(results->regions[i].name, name))
			region = &results->regions[i];
	if (!region && results->region_count < FM_RESULT_REGIONS_MAX &&
	    fm_room_claim(&fm_engine.account->room, &results->regions[results->region_count], sizeof(*region))) {
		region = &results->regions[results->region_count++];
		region->thread = thread->index;
		snprintf(region->name, sizeof(region->name), "%s", name);
	}
	results->lost_regions += !region;
	pthread_mutex_unlock(&fm_engine.mutex);
	return region;
}

static void spend(struct fm_engine_thread *thread, struct fm_engine_open *open)
{
	struct fm_result_region *region = open->region;

	fm_numbers_add(&region->counts, &thread->core->counts, sizeof(region->counts));
	fm_numbers_subtract(&region->counts, &open->counts, sizeof(region->counts));
	fm_numbers_add(&region->timing, &fm_engine.account->results->timings[thread->core->index],
	               sizeof(region->timing));
	fm_numbers_subtract(&region->timing, &open->timing, sizeof(region->timing));
}

static void start_from_here(const struct fm_engine_thread *thread, struct fm_engine_open *open)
{
	open->counts = thread->core->counts;
	open->timing = fm_engine.account->results->timings[thread->core->index];
}

/* A region inside itself is in it already: the outermost counts. */
static bool is_outermost(const struct fm_engine_thread *thread, unsigned at)
{
	for (unsigned i = 0; i < at; i++)
		if (thread->open[i].region == thread->open[at].region)
			return false;
	return true;
}

void fm_regions_leave_core(struct fm_engine_thread *thread)
{
	for (unsigned i = 0; i < thread->open_count; i++)
		if (is_outermost(thread, i))
			spend(thread, &thread->open[i]);
}

void fm_regions_enter_core(struct fm_engine_thread *thread)
{
	for (unsigned i = 0; i < thread->open_count; i++)
		start_from_here(thread, &thread->open[i]);
}

/* Of the region that alone is counted, only some instances may be; counted from one, as people do. */
static bool is_chosen(const char *name, uint64_t instance)
{
	return strcmp(name, fm_engine.region_only) != 0 ||
	       (instance >= fm_engine.first_instance && instance <= fm_engine.last_instance);
}

void fm_region_begin(struct fm_engine_thread *thread, const char *given)
{
	char name[FM_RESULT_NAME];
	struct fm_result_region *region;
	struct fm_engine_open *open;

	fm_printable_copy(name, sizeof(name), given);
	region = find_region(thread, name);
	if (!region || thread->open_count == FM_ENGINE_OPEN_MAX)
		return;
	if (!strcmp(name, fm_engine.region_only))
		fm_engine_trace(thread, is_chosen(name, region->instances + 1));
	fm_engine_settle(thread);
	open = &thread->open[thread->open_count++];
	open->region = region;
	open->work = thread->record->work;
	open->clock = thread->clock;
	if (thread->core)
		start_from_here(thread, open);
	region->depth++;
}

void fm_region_end(struct fm_engine_thread *thread, const char *given)
{
	unsigned at = thread->open_count;
	struct fm_engine_open *open;
	char name[FM_RESULT_NAME];
	bool outermost;

	fm_printable_copy(name, sizeof(name), given);
	while (at > 0 && strcmp(thread->open[at - 1].region->name, name))
		at--;
	if (!at)
		return; /* an end without a begin */
	fm_engine_settle(thread);
	open = &thread->open[at - 1];
	open->region->instances++;
	open->region->depth--;
	outermost = is_outermost(thread, at - 1);
	open->region->counted += is_chosen(name, open->region->instances);
	if (outermost && is_chosen(name, open->region->instances)) {
		open->region->elapsed += thread->clock - open->clock;
		fm_work_add(&open->region->work, &thread->record->work);
		fm_work_subtract(&open->region->work, &open->work);
	}
	if (thread->core && outermost)
		spend(thread, open);
	thread->open_count = at - 1;
	if (!strcmp(name, fm_engine.region_only))
		fm_engine_trace(thread, false);
}

void fm_region_forget(struct fm_engine_thread *thread, const char *name)
{
	unsigned at = thread->open_count;
	struct fm_result_region *region;

	while (at > 0 && strcmp(thread->open[at - 1].region->name, name))
		at--;
	if (!at)
		return;
	fm_engine_settle(thread);
	region = thread->open[at - 1].region;
	memset(&region->depth, 0, sizeof(*region) - offsetof(struct fm_result_region, depth));
	memmove(&thread->open[at - 1], &thread->open[at], (thread->open_count - at) * sizeof(thread->open[0]));
	thread->open_count--;
	if (!strcmp(name, fm_engine.region_only))
		fm_engine_trace(thread, false);
}
