/* The way of an access: fill buffers, the super queue, the lanes and buses of caches and memory, prefetches. */
#include <string.h>

#include "simulator/core_parts.h"

/* Take the place that is free first; returns when. */
static uint64_t take_slot(struct slot *slots, unsigned count, uint64_t from, struct slot **ret_slot)
{
	struct slot *first = &slots[0];

	for (unsigned i = 0; i < count; i++) {
		if (slots[i].free_at <= from) {
			*ret_slot = &slots[i];
			return from;
		}
		if (slots[i].free_at < first->free_at)
			first = &slots[i];
	}
	*ret_slot = first;
	return first->free_at;
}

static struct slot *find_line(struct slot *slots, unsigned count, uint64_t line, uint64_t now)
{
	for (unsigned i = 0; i < count; i++)
		if (slots[i].line == line && slots[i].free_at > now)
			return &slots[i];
	return NULL;
}

/* The cache that the super queue fetches into: the second, or the first when that is the only private one. */
static unsigned queue_cache(const struct fm_core_timing *timing)
{
	return timing->hierarchy->private_caches > 1 ? 1 : 0;
}

/* Hundredths of cycles that a line takes at a bandwidth in GB/s. */
static uint64_t line_interval(const struct fm_core_timing *timing, double gbs)
{
	const struct fm_machine_description *description = &timing->hierarchy->description;

	return (uint64_t)(100 * description->line_bytes * description->frequency_ghz / gbs);
}

static uint64_t memory_interval(const struct fm_core_timing *timing, bool remote)
{
	const struct fm_machine_description *description = &timing->hierarchy->description;
	double gbs = fm_description_core_gbs(description);

	if (remote && description->remote_core_gbs > 0)
		gbs = description->remote_core_gbs;
	return line_interval(timing, gbs);
}

/* The memory of a socket serves all that ask. The other socket's: with more than two, of the next one. */
static struct fm_bus *memory_bus(struct fm_core_timing *timing, bool remote)
{
	unsigned socket = (timing->core->socket + remote) % timing->hierarchy->description.sockets;

	return &timing->hierarchy->memory_buses[socket];
}

/* The first cycle in which the memory, and the link to it, is free for a number of lines. */
static uint64_t take_buses(struct fm_core_timing *timing, bool remote, uint64_t now, uint64_t lines)
{
	const struct fm_machine_description *description = &timing->hierarchy->description;

	if (remote && description->remote_gbs > 0)
		now = fm_bus_take(&timing->hierarchy->link_buses[timing->core->socket], now,
		                  lines * line_interval(timing, description->remote_gbs));
	return fm_bus_take(memory_bus(timing, remote), now, lines * line_interval(timing, description->memory_gbs));
}

/* The first cycle in which the last cache, which serves all cores that share it, is free for a number of lines. */
static uint64_t take_shared(struct fm_core_timing *timing, unsigned level, uint64_t now, uint64_t lines)
{
	const struct fm_hierarchy *hierarchy = timing->hierarchy;

	if (!hierarchy->shared_buses || level + 1 != hierarchy->description.cache_count)
		return now;
	return fm_bus_take(&hierarchy->shared_buses[fm_hierarchy_group(hierarchy, timing->core)], now,
	                   lines * hierarchy->description.caches[level].shared_interval);
}

/* Arrays that a loop walks together often lie a power of two apart: lines of theirs must not drive each other out. */
static unsigned coming_index(uint64_t line)
{
	return (unsigned)((line * 0x9e3779b97f4a7c15u) >> 32) % COMING;
}

static struct coming *coming_at(struct fm_core_timing *timing, uint64_t line)
{
	return &timing->coming[coming_index(line)];
}

static struct coming *private_at(struct fm_core_timing *timing, uint64_t line)
{
	return &timing->to_private[coming_index(line)];
}

/* When memory begins to deliver. Lines for stores have a part of the way only: fewer of them are on it at a time. */
static uint64_t ask_memory(struct fm_core_timing *timing, bool remote, bool store, uint64_t now)
{
	double stores_gbs = timing->hierarchy->description.store_core_gbs;

	if (store && stores_gbs > 0)
		now = fm_lane_take(&timing->shared->stores, now, line_interval(timing, stores_gbs));
	return take_buses(timing, remote,
	                  fm_lane_take(&timing->shared->lanes[FM_SERVED_MEMORY], now, memory_interval(timing, remote)),
	                  1);
}

static unsigned memory_latency(const struct fm_core_timing *timing, bool remote)
{
	const struct fm_machine_description *description = &timing->hierarchy->description;

	return remote ? description->memory_remote_latency : description->memory_latency;
}

/* Prefetched into the last cache: the request does not wait there for an answer, so it keeps no place in the queue. */
static void fetch_into_last(struct fm_core_timing *timing, uint64_t line, unsigned served, bool store, uint64_t now)
{
	const struct fm_machine_description *description = &timing->hierarchy->description;
	bool remote = served == FM_SERVED_REMOTE;

	*coming_at(timing, line) =
	    (struct coming){line,
	                    ask_memory(timing, remote, store, now) + memory_latency(timing, remote) -
	                        description->caches[description->cache_count - 1].latency,
	                    served};
}

/* A request that leaves the first two caches at `now`: when its line is in the private cache `into`. ret_queued is how
   much of that was waiting for a place or for bandwidth. */
static uint64_t fetch_beyond(struct fm_core_timing *timing, uint64_t line, unsigned into, unsigned served, bool store,
                             uint64_t now, uint64_t *ret_queued)
{
	const struct fm_machine_description *description = &timing->hierarchy->description;
	struct slot *slot;
	uint64_t begin = take_slot(timing->super_queue, portion(timing, timing->shape->super_queue), now, &slot), start,
	         latency;

	if (begin > now)
		mark(timing, now, begin, FLAG_QUEUE_FULL);
	if (served == FM_SERVED_MEMORY || served == FM_SERVED_REMOTE) {
		start = ask_memory(timing, served == FM_SERVED_REMOTE, store, begin);
		latency = memory_latency(timing, served == FM_SERVED_REMOTE);
	} else {
		/* a line from another core comes through the last cache, and takes a second look-up there */
		unsigned level = served == FM_SERVED_CORE ? description->cache_count - 1 : served;
		const struct coming *coming =
		    level < timing->hierarchy->private_caches ? private_at(timing, line) : coming_at(timing, line);

		start = take_shared(
		    timing, level,
		    fm_lane_take(&timing->shared->lanes[level], begin, description->caches[level].interval), 1);
		latency = description->caches[level].latency;
		if (coming->line == line && coming->ready > start) {
			start = coming->ready;
			served = coming->served;
		} else if (served == FM_SERVED_CORE) {
			latency += latency / 2;
		}
	}
	*ret_queued = start - now;
	slot->line = line;
	slot->served = served;
	slot->free_at = start + latency - description->caches[into].latency;
	*private_at(timing, line) = (struct coming){line, slot->free_at, served};
	return slot->free_at;
}

/* The hierarchy prefetches: noted, and sent after the access that caused it, at the time that one reaches the second
   cache. */
bool fm_core_on_prefetch(void *context, uint64_t line, unsigned level, unsigned served, bool store)
{
	struct fm_core_timing *timing = context;

	if (timing->pending_count == PENDING_MAX)
		return false;
	timing->pending[timing->pending_count++] = (struct pending){line, level, served, store};
	return true;
}

/* Is a line that was prefetched into a private cache still on its way there? */
bool fm_core_is_coming(void *context, uint64_t line)
{
	struct fm_core_timing *timing = context;

	return private_at(timing, line)->line == line && private_at(timing, line)->ready > timing->access_cycle;
}

static void send_prefetches(struct fm_core_timing *timing, uint64_t now)
{
	uint64_t queued;

	for (unsigned i = 0; i < timing->pending_count; i++)
		if (timing->pending[i].level < timing->hierarchy->private_caches)
			fetch_beyond(timing, timing->pending[i].line, timing->pending[i].level,
			             timing->pending[i].served, timing->pending[i].store, now, &queued);
		else
			fetch_into_last(timing, timing->pending[i].line, timing->pending[i].served,
			                timing->pending[i].store, now);
	timing->pending_count = 0;
}

/* Of the counts, those that say that an access took more than its time. */
struct extras {
	uint64_t tlb_misses[FM_SIMULATED_TLBS_MAX];
	uint64_t lines_written[FM_SIMULATED_CACHES_MAX], memory_writes, memory_writes_remote;
};

static struct extras extras_of(const struct fm_core_timing *timing)
{
	const struct fm_core_counts *counts = &timing->core->counts;
	struct extras extras = {.memory_writes = counts->memory_writes,
	                        .memory_writes_remote = counts->memory_writes_remote};

	for (unsigned i = 0; i < FM_SIMULATED_CACHES_MAX; i++)
		extras.lines_written[i] = counts->caches[i].lines_written;
	memcpy(extras.tlb_misses, counts->tlb_misses, sizeof(extras.tlb_misses));
	return extras;
}

/* Lines written back take their share of the bandwidth of where they go. */
static void charge_writes(struct fm_core_timing *timing, const struct extras *after, const struct extras *before,
                          uint64_t now)
{
	const struct fm_machine_description *description = &timing->hierarchy->description;
	uint64_t lines;
	bool remote;

	for (unsigned i = 1; i < description->cache_count; i++) {
		lines = after->lines_written[i - 1] - before->lines_written[i - 1];
		fm_lane_take(&timing->shared->lanes[i], now, lines * description->caches[i].write_interval);
		if (lines)
			take_shared(timing, i, now, lines);
	}
	if (after->memory_writes == before->memory_writes)
		return;
	remote = after->memory_writes_remote != before->memory_writes_remote;
	lines = after->memory_writes - before->memory_writes;
	fm_lane_take(&timing->shared->lanes[FM_SERVED_MEMORY], now,
	             lines * memory_interval(timing, remote) * description->memory_write_percent / 100);
	take_buses(timing, remote, now, lines);
}

/* The caches' side of an access; ret_translation is what finding the page cost. */
static unsigned look_up(struct fm_core_timing *timing, const struct fm_memory_access *access, uint64_t now,
                        uint64_t *ret_translation)
{
	const struct fm_machine_description *description = &timing->hierarchy->description;
	struct extras before, after;
	unsigned served;

	*ret_translation = 0;
	/* nothing but a count changes then */
	if (access->access != FM_ACCESS_STORE_NONTEMPORAL &&
	    fm_hierarchy_hit(timing->core, access->address, access->bytes, access->access != FM_ACCESS_LOAD))
		return 0;
	timing->access_cycle = now;
	before = extras_of(timing);
	served = timing->hierarchy->access_slowly(timing->hierarchy, timing->core, access->address, access->bytes,
	                                          (enum fm_access)access->access);
	after = extras_of(timing);
	for (unsigned i = 0; i < description->tlb_count; i++) {
		unsigned penalty = after.tlb_misses[i] != before.tlb_misses[i] ? description->tlbs[i].penalty : 0;

		/* misses of the last buffer are looked up in the page table, and only some of them at a time */
		if (penalty && i == description->tlb_count - 1 && timing->shape->walkers) {
			uint64_t from = now + *ret_translation;

			*ret_translation += fm_lane_take(&timing->shared->walks, from,
			                                 100 * (uint64_t)penalty / timing->shape->walkers) -
			                    from;
		}
		*ret_translation += penalty;
	}
	charge_writes(timing, &after, &before, now);
	return served;
}

/* A store past the caches: a complete line leaves its buffer and takes the way to memory like a line that is read, but
   the core does not wait for an answer. Writing it has been charged in part. */
static void store_past(struct fm_core_timing *timing, struct fetched *fetched, uint64_t now)
{
	const struct fm_machine_description *description = &timing->hierarchy->description;
	bool remote = fetched->served == FM_SERVED_REMOTE;
	uint64_t whole = memory_interval(timing, remote), charged = whole * description->memory_write_percent / 100,
	         begin;
	struct slot *slot;

	fetched->ready = now + 1;
	if (!fetched->served)
		return; /* joins others in the buffer of its line */
	begin = take_slot(timing->fill_buffers, portion(timing, timing->shape->fill_buffers), now, &slot);
	begin = fm_lane_take(&timing->shared->lanes[FM_SERVED_MEMORY], begin, whole > charged ? whole - charged : 0);
	slot->line = 0;
	slot->served = fetched->served;
	slot->free_at = begin + whole / 100;
	fetched->queued = begin - now;
	fetched->ready = begin + 1;
}

struct fetched fm_core_access(struct fm_core_timing *timing, struct fm_memory_access *access, uint64_t now)
{
	const struct fm_machine_description *description = &timing->hierarchy->description;
	uint64_t line = access->address >> timing->hierarchy->line_shift;
	bool load = access->access == FM_ACCESS_LOAD;
	struct fetched fetched = {0};
	struct slot *slot;
	uint64_t begin, asked;

	fetched.served = fetched.waited_for = look_up(timing, access, now, &fetched.translation);
	access->served = (uint8_t)fetched.served;
	now += fetched.translation;
	/* a line already on its way is waited for; a hit in the first cache is one that has arrived */
	slot = find_line(timing->fill_buffers, timing->shape->fill_buffers, line, now);
	if (slot) {
		fetched.ready = slot->free_at > now + description->caches[0].latency
		                    ? slot->free_at
		                    : now + description->caches[0].latency;
		fetched.queued = 0;
		if (fetched.served == 0)
			fetched.served = fetched.waited_for = slot->served;
		send_prefetches(timing, now);
		if (load)
			mark(timing, now + description->caches[0].latency, fetched.ready, FLAG_MISS);
		return fetched;
	}
	if (access->access == FM_ACCESS_STORE_NONTEMPORAL) {
		store_past(timing, &fetched, now);
		return fetched;
	}
	if (fetched.served == 0) {
		fetched.ready = now + description->caches[0].latency;
		return fetched;
	}
	/* The path to the second cache takes one request per interval, before a fill buffer is needed: that is why
	   streams that stay in the second cache do not fill the buffers. */
	asked =
	    queue_cache(timing) ? fm_lane_take(&timing->shared->lanes[1], now, description->caches[1].interval) : now;
	begin = take_slot(timing->fill_buffers, portion(timing, timing->shape->fill_buffers), asked, &slot);
	if (begin > asked) {
		mark(timing, asked, begin, FLAG_FILL_FULL);
		if (slot->served > fetched.waited_for)
			fetched.waited_for = slot->served;
	}
	if (fetched.served <= queue_cache(timing)) {
		/* a prefetched line may still be on its way to the second cache */
		const struct coming *coming = private_at(timing, line);

		fetched.queued = begin - now;
		fetched.ready = begin + description->caches[1].latency;
		if (coming->line == line && coming->ready > begin &&
		    coming->ready + description->caches[0].latency > fetched.ready) {
			fetched.queued += coming->ready + description->caches[0].latency - fetched.ready;
			fetched.ready = coming->ready + description->caches[0].latency;
			fetched.served = coming->served;
			if (coming->served > fetched.waited_for)
				fetched.waited_for = coming->served;
			if (load)
				mark(timing, begin, fetched.ready, FLAG_SECOND_MISS);
			/* to the first cache's prefetcher, a load that waits for lower levels like any other */
			if (load && description->caches[0].next && timing->hierarchy->prefetch &&
			    !timing->hierarchy->concurrent) {
				timing->access_cycle = begin;
				fm_hierarchy_ask_next(timing->hierarchy, timing->core, line);
			}
		}
	} else {
		unsigned into = queue_cache(timing);
		uint64_t queued;

		fetched.ready = fetch_beyond(timing, line, into, fetched.served, !load, begin, &queued) +
		                description->caches[into].latency;
		fetched.queued = begin - now + queued;
		if (load)
			mark(timing, begin + description->caches[into].latency, fetched.ready, FLAG_SECOND_MISS);
	}
	slot->line = line;
	slot->free_at = fetched.ready;
	slot->served = fetched.served;
	send_prefetches(timing, begin);
	if (load)
		mark(timing, now + description->caches[0].latency, fetched.ready, FLAG_MISS);
	return fetched;
}
