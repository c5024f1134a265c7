#include <stdio.h>
#include <string.h>

#include "base/printable.h"
#include "simulator/numbers.h"
#include "engine/account/room.h"
#include "engine/trace/state.h"

static struct fm_result_region *find_region(struct fm_account *account, const struct fm_traced_thread *thread,
                                            const char *name)
{
	struct fm_results *results = account->results;
	struct fm_result_region *region = &results->regions[results->region_count];

	for (unsigned i = 0; i < results->region_count; i++)
		if (results->regions[i].thread == thread->index && !strcmp(results->regions[i].name, name))
			return &results->regions[i];
	if (results->region_count == FM_RESULT_REGIONS_MAX || !fm_room_claim(&account->room, region, sizeof(*region))) {
		results->lost_regions++;
		return NULL;
	}
	results->region_count++;
	region->thread = thread->index;
	snprintf(region->name, sizeof(region->name), "%s", name);
	return region;
}

/* False: there is no such name. */
static bool read_name(const struct fm_consumer *consumer, uint64_t number, char *ret_name)
{
	char name[FM_TRACE_NAME];

	if (number >= FM_TRACE_NAMES)
		return false;
	memcpy(name, consumer->trace->head.names[number], sizeof(name));
	name[sizeof(name) - 1] = 0;
	fm_printable_copy(ret_name, FM_RESULT_NAME, name);
	return *ret_name;
}

static void spend(const struct fm_consumer *consumer, const struct fm_traced_thread *thread,
                  struct fm_traced_open *open)
{
	struct fm_timing_counts timing = fm_timing_so_far(consumer, thread);

	fm_numbers_add(&open->region->counts, &thread->side.core->counts, sizeof(open->counts));
	fm_numbers_subtract(&open->region->counts, &open->counts, sizeof(open->counts));
	fm_numbers_add(&open->region->timing, &timing, sizeof(timing));
	fm_numbers_subtract(&open->region->timing, &open->timing, sizeof(timing));
}

/* A region inside itself is in it already: the outermost counts. */
static bool is_outermost(const struct fm_traced_thread *thread, unsigned at)
{
	for (unsigned i = 0; i < at; i++)
		if (thread->open[i].region == thread->open[at].region)
			return false;
	return true;
}

void fm_traced_regions_leave_core(const struct fm_consumer *consumer, struct fm_traced_thread *thread)
{
	for (unsigned i = 0; i < thread->open_count; i++)
		if (is_outermost(thread, i))
			spend(consumer, thread, &thread->open[i]);
}

void fm_traced_regions_enter_core(const struct fm_consumer *consumer, struct fm_traced_thread *thread)
{
	for (unsigned i = 0; i < thread->open_count; i++) {
		thread->open[i].counts = thread->side.core->counts;
		thread->open[i].timing = fm_timing_so_far(consumer, thread);
	}
}

/* Of the region that alone is counted, only some instances may be; counted from one, as people do. */
static bool is_chosen(const struct fm_consumer *consumer, const char *name, uint64_t instance)
{
	return strcmp(name, consumer->region_only) != 0 ||
	       (instance >= consumer->first_instance && instance <= consumer->last_instance);
}

static void add_work(const struct fm_traced_thread *thread, const struct fm_traced_open *open)
{
	fm_work_add(&open->region->work, &thread->record->work);
	fm_work_subtract(&open->region->work, &open->work);
}

void fm_traced_regions_settle(struct fm_consumer *consumer)
{
	for (unsigned i = 0; i < consumer->places; i++) {
		struct fm_traced_thread *thread = &consumer->threads[i];

		if (!thread->live || !thread->open_count)
			continue;
		fm_traced_settle(consumer, thread);
		for (unsigned k = 0; k < thread->open_count; k++) {
			struct fm_traced_open *open = &thread->open[k];

			if (is_outermost(thread, k) &&
			    is_chosen(consumer, open->region->name, open->region->instances + 1))
				add_work(thread, open);
			open->work = thread->record->work;
		}
		if (thread->record->away)
			continue;
		fm_traced_regions_leave_core(consumer, thread);
		fm_traced_regions_enter_core(consumer, thread);
	}
}

void fm_traced_region_begin(struct fm_consumer *consumer, struct fm_traced_thread *thread, uint64_t number)
{
	char name[FM_RESULT_NAME];
	struct fm_result_region *region;

	region = read_name(consumer, number, name) ? find_region(consumer->account, thread, name) : NULL;
	if (!region || thread->open_count == FM_TRACED_OPEN_MAX)
		return;
	fm_traced_settle(consumer, thread);
	if (!strcmp(name, consumer->region_only)) {
		thread->counts = is_chosen(consumer, name, region->instances + 1);
		consumer->account->results->region_marked = 1;
	}
	thread->open[thread->open_count++] = (struct fm_traced_open){.region = region,
	                                                             .work = thread->record->work,
	                                                             .counts = thread->side.core->counts,
	                                                             .timing = fm_timing_so_far(consumer, thread),
	                                                             .clock = fm_timing_now(thread)};
	region->depth++;
}

void fm_traced_region_end(struct fm_consumer *consumer, struct fm_traced_thread *thread, uint64_t number)
{
	unsigned at = thread->open_count;
	struct fm_traced_open *open;
	char name[FM_RESULT_NAME];

	if (!read_name(consumer, number, name))
		return;
	while (at > 0 && strcmp(thread->open[at - 1].region->name, name))
		at--;
	if (!at)
		return; /* an end without a begin */
	fm_traced_settle(consumer, thread);
	open = &thread->open[at - 1];
	open->region->instances++;
	open->region->depth--;
	if (is_chosen(consumer, name, open->region->instances)) {
		open->region->counted++;
		if (is_outermost(thread, at - 1)) {
			open->region->elapsed += fm_timing_now(thread) - open->clock;
			add_work(thread, open);
		}
	}
	if (is_outermost(thread, at - 1))
		spend(consumer, thread, open);
	thread->open_count = at - 1;
	if (!strcmp(name, consumer->region_only) && is_outermost(thread, at - 1)) {
		fm_timing_interrupt(consumer, thread);
		thread->counts = false;
	}
}
