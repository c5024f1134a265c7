#include "engine/trace/allocations.h"
#include "engine/trace/known.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/array.h"
#include "simulator/numbers.h"
#include "engine/account/room.h"
#include "engine/trace/enough.h"
#include "engine/trace/followed.h"
#include "engine/trace/state.h"
#include "engine/trace/tuning.h"
#include "engine/threads.h"

enum { LEAST = 1 << 12, GENERATIONS = 1 << 20, COUNT_BITS = 8, LOOK_BACK = 16 };

/* Lines of a window */

static uint64_t entry_of(const struct fm_touched *touched, uint64_t line)
{
	return (line & ((1ull << FM_TOUCHED_LINE_BITS) - 1)) | touched->generation << FM_TOUCHED_LINE_BITS;
}

static bool make_room(struct fm_touched *touched)
{
	uint64_t room = touched->lines ? touched->mask + 1 : 0, larger = room ? 2 * room : LEAST;
	uint64_t *before = touched->lines, *lines;

	if (4 * touched->used < room)
		return true;
	lines = calloc(larger, sizeof(*lines));
	if (!lines)
		return touched->used + 1 < room;
	touched->lines = lines;
	touched->mask = larger - 1;
	for (uint64_t i = 0; i < room; i++)
		if (before[i] >> FM_TOUCHED_LINE_BITS == touched->generation) {
			uint64_t at = fm_touched_place(touched, before[i] & ((1ull << FM_TOUCHED_LINE_BITS) - 1));

			while (lines[at])
				at = (at + 1) & touched->mask;
			lines[at] = before[i];
		}
	free(before);
	return true;
}

/* Is it the first time? What is of an earlier window is as good as empty. */
bool fm_touched_add(struct fm_touched *touched, uint64_t line)
{
	uint64_t entry = entry_of(touched, line), at;

	if (!make_room(touched))
		return true;
	at = fm_touched_place(touched, line);
	while (touched->lines[at] >> FM_TOUCHED_LINE_BITS == touched->generation) {
		if (touched->lines[at] == entry)
			return false;
		at = (at + 1) & touched->mask;
	}
	touched->lines[at] = entry;
	touched->used++;
	return true;
}

void fm_touched_forget(struct fm_touched *touched)
{
	touched->used = 0;
	if (++touched->generation < GENERATIONS)
		return;
	touched->generation = 1;
	if (touched->lines)
		memset(touched->lines, 0, (touched->mask + 1) * sizeof(touched->lines[0]));
}

/* The table of a cache: the same for all cores that share it. */
static struct fm_filled *filled_of(struct fm_traced_windows *windows, const struct fm_simulated_core *core,
                                   unsigned level)
{
	struct fm_filled **place = &windows->filled[core->index][level];

	for (unsigned i = 0; i < windows->pool_count && !*place; i++)
		if (windows->pool[i].array == core->arrays[level])
			*place = &windows->pool[i];
	if (!*place && windows->pool_count < FM_FILLED_MAX) {
		struct fm_filled *filled = &windows->pool[windows->pool_count];

		filled->sets = calloc(core->arrays[level]->sets, sizeof(*filled->sets));
		if (!filled->sets)
			return NULL;
		filled->array = core->arrays[level];
		windows->pool_count++;
		*place = filled;
	}
	return *place;
}

/* A cache that the window has not filled still holds what earlier ones left there: what prefetchers asked of it is
   known as little as first accesses are. */
static void doubt_prefetches(const struct fm_account *account, const struct fm_simulated_core *core,
                             struct fm_result_window *part)
{
	for (unsigned i = 1; i < account->cache_count; i++) {
		const struct fm_array *array = core->arrays[i];

		if (part->touched[i] < (uint64_t)array->sets * array->ways)
			part->unknown[i] += part->counts.caches[i - 1].lines_prefetch;
	}
}

/* One more line of its set. Was the set full of this window's lines already? */
bool fm_filled_add(struct fm_filled *filled, uint64_t number, uint64_t line)
{
	const uint64_t *set = fm_array_set(filled->array, line);
	uint32_t *entry = &filled->sets[(size_t)(set - filled->array->entries) / filled->array->stride];
	uint32_t generation = (uint32_t)(number << COUNT_BITS), count;
	unsigned ways = fm_array_ways(filled->array, set),
	         most = ways < 1u << COUNT_BITS ? ways : (1u << COUNT_BITS) - 1;

	count = (*entry ^ generation) >> COUNT_BITS ? 0 : *entry & ((1u << COUNT_BITS) - 1);
	if (count >= most)
		return true;
	*entry = generation | (count + 1);
	filled->touched++;
	return false;
}

/* A line that this core touches for the first time. Returns the caches whose outcome is unknown, one bit each. */
static unsigned touch_caches(const struct fm_account *account, struct fm_traced_windows *windows,
                             const struct fm_simulated_core *core, uint64_t line)
{
	bool shared = account->hierarchy->private_caches < account->cache_count;
	bool known_to_others = false;
	unsigned unknown = 0;

	if (account->hierarchy->active_cores > 1)
		known_to_others = !fm_touched_add(&windows->all, line);
	for (unsigned i = 0; i < account->cache_count; i++) {
		struct fm_filled *filled = filled_of(windows, core, i);

		if (i + 1 == account->cache_count && shared && known_to_others)
			continue;
		if (!filled || !fm_filled_add(filled, windows->number, line))
			unknown |= 1u << i;
	}
	return unknown;
}

/* Accesses */

static bool counts_now(const struct fm_traced_thread *thread)
{
	return thread->window.warm && thread->counts;
}

static unsigned access_hierarchy(struct fm_traced_thread *thread, struct fm_result_site *site, uint64_t address,
                                 unsigned bytes, enum fm_access access)
{
	struct fm_result_slot *slot;

	if (!counts_now(thread))
		return fm_hierarchy_access(thread->side.account->hierarchy, thread->side.core, address, bytes, access);
	slot = fm_account_likely_slot(site, address);
	if (access > FM_ACCESS_STORE || !fm_account_in_slot(slot, address) ||
	    !fm_hierarchy_hit(thread->side.core, address, bytes, access == FM_ACCESS_STORE))
		return fm_account_slowly(&thread->side, site, address, bytes, access);
	if (access == FM_ACCESS_STORE)
		slot->stores++;
	else
		slot->loads++;
	return 0;
}

/* A line that is followed, and of which the window knows nothing: see fm_window_note_unknown(). */
static void note_known(struct fm_traced_thread *thread, unsigned unknown, const uint64_t *prefetched, unsigned missed,
                       unsigned served)
{
	struct fm_result_known *known = &thread->window.known;

	for (unsigned i = 0; i < thread->side.account->cache_count; i++) {
		if (thread->side.core->counts.caches[i].prefetch_hits != prefetched[i])
			break;
		if (!(unknown >> i & 1))
			continue;
		if (i + 1 == thread->side.account->cache_count && missed & FM_FOLLOWED_UNKNOWN)
			break;
		known->accesses[i]++;
		known->too_few[i] += (missed >> i & 1) && served <= i;
		known->too_many[i] += !(missed >> i & 1) && served > i;
	}
}

static unsigned touch_lines(const struct fm_account *account, struct fm_traced_windows *windows,
                            const struct fm_simulated_core *core, uint64_t address, unsigned bytes)
{
	unsigned shift = account->hierarchy->line_shift, unknown = 0;
	uint64_t end = (address + bytes - 1) >> shift;

	for (uint64_t line = address >> shift; line <= end; line++)
		if (fm_touched_add(&windows->cores[core->core], line))
			unknown |= touch_caches(account, windows, core, line);
	return unknown;
}

unsigned fm_window_touch(struct fm_consumer *consumer, const struct fm_traced_thread *thread, uint64_t address,
                         unsigned bytes)
{
	return touch_lines(consumer->account, &consumer->known, thread->side.core, address, bytes);
}

/* `missed`: of a line that is followed, which caches did not have it, one bit each; NULL: it is not. */
static __attribute__((noinline)) void access_first(struct fm_consumer *consumer, struct fm_traced_thread *thread,
                                                   struct fm_result_site *site, uint64_t address, unsigned bytes,
                                                   enum fm_access access, const unsigned *missed)
{
	const struct fm_simulated_core *core = thread->side.core;
	unsigned unknown = touch_lines(consumer->account, &consumer->known, core, address, bytes);
	uint64_t prefetched[FM_SIMULATED_CACHES_MAX] = {0};
	unsigned served;

	for (unsigned i = 0; i < consumer->account->cache_count; i++)
		prefetched[i] = core->counts.caches[i].prefetch_hits;
	served = access_hierarchy(thread, site, address, bytes, access);
	if (!counts_now(thread))
		return;
	fm_window_note_unknown(thread, unknown, prefetched);
	if (missed)
		note_known(thread, unknown, prefetched, *missed, served);
}

void fm_window_note_unknown(struct fm_traced_thread *thread, unsigned unknown, const uint64_t *prefetched)
{
	const struct fm_simulated_core *core = thread->side.core;

	for (unsigned i = 0; i < thread->side.account->cache_count; i++) {
		/* brought there in this window: it is known, and no cache below was asked */
		if (core->counts.caches[i].prefetch_hits != prefetched[i])
			break;
		thread->window.unknown[i] += unknown >> i & 1;
	}
}

void fm_window_access(struct fm_consumer *consumer, struct fm_traced_thread *thread, struct fm_result_site *site,
                      uint64_t address, unsigned bytes, unsigned access)
{
	const struct fm_touched *touched = &consumer->known.cores[thread->side.core->core];
	unsigned shift = consumer->account->hierarchy->line_shift;
	uint64_t line = address >> shift;
	bool followed = !thread->unfollowed && fm_translate_is_followed(&consumer->filter, address);
	unsigned missed = 0;

	if (followed)
		missed = fm_followed_access(consumer->followed, thread, site, address, access != FM_ACCESS_LOAD);
	if (__builtin_expect(touched->lines && fm_is_touched(touched, line) && line == (address + bytes - 1) >> shift,
	                     1))
		access_hierarchy(thread, site, address, bytes, (enum fm_access)access);
	else
		access_first(consumer, thread, site, address, bytes, (enum fm_access)access, followed ? &missed : NULL);
}

/* Windows */

void fm_known_forget(struct fm_traced_windows *windows)
{
	for (unsigned i = 0; i < FM_SIMULATED_CORES_MAX; i++)
		fm_touched_forget(&windows->cores[i]);
	fm_touched_forget(&windows->all);
}

/* Prefetched lines of before are as unknown as loaded ones. */
static void forget_prefetched(const struct fm_hierarchy *hierarchy)
{
	for (unsigned i = 0; i < hierarchy->active_cores; i++)
		for (unsigned level = 0; level < hierarchy->private_caches; level++) {
			struct fm_array *array = hierarchy->active[i]->arrays[level];

			for (uint64_t k = 0; k < array->sets * array->stride; k++)
				array->entries[k] &= ~(uint64_t)FM_LINE_PREFETCHED;
		}
}

/* 0: not known. */
static uint64_t earlier(uint64_t one, uint64_t other)
{
	return one && (!other || one < other) ? one : other;
}

static uint64_t later(uint64_t one, uint64_t other)
{
	return one > other ? one : other;
}

/* Adds the counts; the caller sets the position in the run. */
static void merge(struct fm_result_window *target, const struct fm_result_window *other)
{
	target->begun = earlier(target->begun, other->begun);
	fm_work_add(&target->work, &other->work);
	target->outside += other->outside;
	target->string_lines += other->string_lines;
	fm_numbers_add(&target->counts, &other->counts, sizeof(target->counts));
	fm_numbers_add(&target->timing, &other->timing, sizeof(target->timing));
	target->timed += other->timed;
	fm_numbers_add(target->unknown, other->unknown, sizeof(target->unknown));
	fm_numbers_add(&target->known, &other->known, sizeof(target->known));
	fm_numbers_add(&target->followed, &other->followed, sizeof(target->followed));
	for (unsigned i = 0; i < FM_SIMULATED_CACHES_MAX; i++)
		if (other->touched[i] > target->touched[i])
			target->touched[i] = other->touched[i];
}

/* No room: two neighbours become one. */
static void thin_out(struct fm_traced_windows *windows, struct fm_results *results)
{
	unsigned half = results->window_count / 2;

	for (unsigned i = 0; i < half; i++) {
		struct fm_result_window both = results->windows[2 * i], *second = &results->windows[2 * i + 1];

		merge(&both, second);
		both.ended = later(both.ended, second->ended);
		both.executed = later(both.executed, second->executed);
		results->windows[i] = both;
		windows->numbers[i] = windows->numbers[2 * i + 1];
	}
	if (results->window_count % 2) {
		results->windows[half] = results->windows[2 * half];
		windows->numbers[half] = windows->numbers[2 * half];
		half++;
	}
	memset(&results->windows[half], 0, (results->window_count - half) * sizeof(results->windows[0]));
	results->window_count = half;
}

static bool has_room(struct fm_account *account)
{
	struct fm_results *results = account->results;

	return results->window_count < FM_RESULT_WINDOWS_MAX &&
	       fm_room_claim(&account->room, &results->windows[results->window_count], sizeof(results->windows[0]));
}

/* NULL: there is no room. */
static struct fm_result_window *find_window(struct fm_account *account, struct fm_traced_windows *windows,
                                            uint64_t number)
{
	struct fm_results *results = account->results;

	for (unsigned i = results->window_count; i-- > 0 && i + LOOK_BACK >= results->window_count;)
		if (windows->numbers[i] == number)
			return &results->windows[i];
	if (!has_room(account))
		thin_out(windows, results);
	if (!has_room(account))
		return NULL;
	windows->numbers[results->window_count] = number;
	return &results->windows[results->window_count++];
}

/* The latest one is over, in all threads. */
static void close_latest(struct fm_consumer *consumer)
{
	struct fm_traced_windows *windows = &consumer->known;

	if (windows->latest.instructions > 0) {
		fm_traced_regions_settle(consumer);
		fm_weights_take(&windows->weights, consumer->account, &windows->latest);
	}
	windows->latest = (struct fm_weighed){0};
}

/* To weigh them takes time for each place in the code that was ever seen: in a large program several windows are taken
   as one. */
static bool is_worth_weighing(const struct fm_account *account, const struct fm_traced_windows *windows)
{
	unsigned places = account->results->site_count;

	return places < WEIGHED_PLACES || windows->latest.instructions >= WEIGHED_INSTRUCTIONS * (double)places;
}

/* A thread's part of it. */
static void add_to_latest(struct fm_consumer *consumer, const struct fm_result_window *part)
{
	struct fm_weighed *latest = &consumer->known.latest;
	struct fm_results *results = consumer->account->results;
	double second = results->ticks_per_second ? (double)results->ticks_per_second : 1e9,
	       ended = (double)part->ended / second;

	latest->instructions += (double)(part->work.instructions + part->outside + part->string_lines);
	latest->string_lines += (double)part->string_lines;
	latest->executed = fmax(latest->executed, (double)part->executed);
	latest->ended = fmax(latest->ended, ended);
	fm_work_add(&results->weighted.work, &part->work);
	fm_numbers_add(&results->weighted.counts, &part->counts, sizeof(part->counts));
}

void fm_windows_finish(struct fm_consumer *consumer, uint64_t instructions)
{
	double strings = (double)fm_traced_string_lines(consumer);

	close_latest(consumer);
	fm_weights_return(&consumer->known.weights, consumer->account->results, (double)instructions + strings,
	                  strings);
}

void fm_known_begin(struct fm_consumer *consumer, struct fm_traced_thread *thread, uint64_t number)
{
	struct fm_traced_windows *windows = &consumer->known;

	if (!number)
		return;
	thread->window = (struct fm_traced_window){.number = number, .string_lines = thread->string_lines};
	if (number == windows->number)
		return;
	if (is_worth_weighing(consumer->account, windows))
		close_latest(consumer);
	windows->number = number;
	fm_traced_allocations_settle(consumer);
	fm_known_forget(windows);
	for (unsigned i = 0; i < windows->pool_count; i++)
		windows->pool[i].touched = 0;
	forget_prefetched(consumer->account->hierarchy);
}

void fm_window_warm(struct fm_consumer *consumer, struct fm_traced_thread *thread)
{
	struct fm_timing_counts timing;

	if (!thread->window.number || thread->window.warm || thread->window.is_closed)
		return;
	fm_traced_settle(consumer, thread);
	thread->window.warm = true;
	thread->window.outside = 0;
	thread->window.string_lines = thread->string_lines;
	thread->window.work = thread->record->work;
	fm_result_sum(consumer->account->results, thread->record, &thread->window.counts, &timing);
	fm_timing_window_warm(consumer, thread);
}

/* The counts of a thread in the part that counts. */
static void close_part(struct fm_consumer *consumer, struct fm_traced_thread *thread, struct fm_result_window *part)
{
	struct fm_timing_counts timing;

	part->work = thread->record->work;
	fm_work_subtract(&part->work, &thread->window.work);
	part->outside = thread->window.outside;
	part->string_lines = thread->string_lines - thread->window.string_lines;
	fm_result_sum(consumer->account->results, thread->record, &part->counts, &timing);
	fm_numbers_subtract(&part->counts, &thread->window.counts, sizeof(part->counts));
	memcpy(part->unknown, thread->window.unknown, sizeof(part->unknown));
	part->followed = thread->window.followed;
	part->known = thread->window.known;
	fm_timing_window_end(consumer, thread, part);
}

void fm_window_enough(struct fm_consumer *consumer, struct fm_traced_thread *thread)
{
	if (!thread->window.warm)
		return;
	fm_traced_settle(consumer, thread);
	memset(&thread->window.closed, 0, sizeof(thread->window.closed));
	close_part(consumer, thread, &thread->window.closed);
	thread->window.warm = false;
	thread->window.is_closed = true;
}

void fm_known_end(struct fm_consumer *consumer, struct fm_traced_thread *thread, uint64_t executed)
{
	struct fm_traced_windows *windows = &consumer->known;
	struct fm_result_window *window, part = {.begun = thread->window.begun,
	                                         .ended = thread->passed,
	                                         .executed = executed + fm_traced_string_lines(consumer),
	                                         .work = thread->record->work};

	if (!thread->window.number)
		return;
	fm_traced_settle(consumer, thread);
	if (thread->window.is_closed) {
		uint64_t begun = part.begun, ended = part.ended, at = part.executed;

		part = thread->window.closed;
		part.begun = begun;
		part.ended = ended;
		part.executed = at;
	} else if (thread->window.warm) {
		close_part(consumer, thread, &part);
	} else {
		part.work = (struct fm_work){0};
	}
	if (thread->window.number == windows->number)
		for (unsigned i = 0; i < windows->pool_count; i++)
			for (unsigned level = 0; level < consumer->account->cache_count; level++)
				if (windows->pool[i].array == thread->side.core->arrays[level])
					part.touched[level] = windows->pool[i].touched;
	fm_timing_window_over(consumer, part.executed);
	if (thread->side.core)
		doubt_prefetches(consumer->account, thread->side.core, &part);
	add_to_latest(consumer, &part);
	window = find_window(consumer->account, windows, thread->window.number);
	if (window) {
		merge(window, &part);
		/* a thread that slept in the window comes back when others are long past it */
		window->ended = earlier(window->ended, part.ended);
		window->executed = earlier(window->executed, part.executed);
	}
	thread->window = (struct fm_traced_window){0};
	if (consumer->precision > 0)
		consumer->trace->head.enough =
		    fm_windows_are_enough(consumer->account->results->windows, consumer->account->results->window_count,
		                          consumer->account->cache_count, consumer->precision);
}

bool fm_windows_know(const struct fm_consumer *consumer, const struct fm_traced_thread *thread)
{
	return consumer->known.cores[thread->side.core->core].lines != NULL;
}

void fm_windows_destroy(struct fm_traced_windows *windows)
{
	for (unsigned i = 0; i < FM_SIMULATED_CORES_MAX; i++)
		free(windows->cores[i].lines);
	free(windows->all.lines);
	fm_weights_destroy(&windows->weights);
	for (unsigned i = 0; i < windows->pool_count; i++)
		free(windows->pool[i].sets);
}
