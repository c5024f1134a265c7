#include "simulator/core.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/code_cache.h"
#include "simulator/parts.h"

enum {
	REGISTERS = 64,
	/* cycles that may lie between the next instruction to issue and the last to retire: the window times the
	   longest wait, with room to spare */
	RING_CYCLES = 1 << 18,
	RING_MASK = RING_CYCLES - 1,
	PENDING_MAX = 16,
	FORWARDS = 256,
	COMING = 1024,
	LOAD_SHARES = 240, /* of a cycle, that loads divide among them: one of one, two, three, four … per cycle */
	STORE_AGE = 1,     /* a store leaves its buffer at the earliest this long after it retired */
	/* from the beginning of what follows a branch to the execution of the next one that depends on it: part of what
	   `misprediction` says that a branch costs */
	REFILL = 2,
	/* Cycles that lines of code are asked for before their instructions could be issued: the branches ahead are
	   foreseen, and what has been fetched waits in a queue. */
	FETCHED_AHEAD = 20,
};

enum {
	FLAG_MISS = 1, /* a load that missed the first cache is outstanding */
	FLAG_SECOND_MISS = 2,
	FLAG_LOAD = 4,
	FLAG_FILL_FULL = 8,
	FLAG_QUEUE_FULL = 16,
	FLAG_STORES_FULL = 32,
	FLAGS = 6,
};

/* What a cycle was waited for, as one number: what has no level, the latencies by who serves, the bandwidths. */
enum {
	CAUSE_LATENCY = FM_STALL_COUNT,
	CAUSE_BANDWIDTH = CAUSE_LATENCY + FM_SERVED_COUNT,
};

/* What happens in one cycle. */
struct cycle {
	uint8_t executed;
	uint8_t loads; /* shares that are taken */
	uint8_t stores;
	uint8_t multiplications;
	uint8_t flags;
	uint8_t cause;
};

/* A place for a line on its way. */
struct slot {
	uint64_t line;
	uint64_t free_at;
	unsigned served; /* from where it comes */
};

struct pending {
	uint64_t line;
	unsigned level;
	unsigned served;
};

/* What the hardware threads of a core compete for beyond its buffers. */
enum { SHARED_ISSUE, SHARED_LOADS, SHARED_STORES, SHARED_MULTIPLICATIONS, SHARED_DIVIDER, SHARED_COUNT };

/* What belongs to a core rather than to one of its hardware threads. */
struct fm_shared_timing {
	struct fm_lane lanes[FM_SERVED_MEMORY + 1];     /* the ways to the levels: caches by index, memory */
	struct fm_lane units[SHARED_COUNT];             /* used only while several threads run */
	struct fm_lane *operations[FM_OPERATION_COUNT]; /* that cannot begin in every cycle; else NULL */
	struct fm_lane walks;
	struct fm_core_timing *timings[FM_SIMULATED_THREADS_MAX];
};

struct fm_core_timing {
	struct fm_hierarchy *hierarchy;
	struct fm_shared_timing *shared;
	unsigned sharers; /* threads of the core that run at the moment, this one included */
	struct fm_simulated_core *core;
	const struct fm_core_description *shape;
	/* resolved, of every operation */
	struct {
		enum fm_unit unit;
		unsigned latency, interval;
	} operations[FM_OPERATION_COUNT];
	unsigned forward_latency, reload_latency;
	unsigned load_shares[FM_ACCESS_WIDTHS],
	    store_intervals[FM_ACCESS_WIDTHS]; /* the latter in hundredths of cycles */
	struct fm_branches *branches;          /* NULL: all are foreseen */
	struct fm_code_cache *code;            /* NULL: it has all */
	uint64_t code_line;                    /* the latest, and one more: 0 is none */
	uint64_t code_free;                    /* when the next can come, in hundredths of cycles */
	uint64_t code_from;                    /* nothing is issued before: it had not come */
	uint64_t code_lost;                    /* issues_from when lines last had to be asked for anew */
	struct fm_timing_counts counts;
	struct cycle *ring;
	uint64_t accounted; /* cycles before this one are in the counts */
	struct marked {
		uint64_t from, to;
	} marked[FLAGS]; /* the last range of cycles with a flag, by its bit */

	uint64_t issue_cycle;
	uint64_t access_cycle; /* of the access under way */
	unsigned issued;       /* in that cycle */
	uint64_t retire_cycle;
	unsigned retired;
	uint64_t executed_at;    /* when the latest instruction had been */
	uint64_t issues_from;    /* nothing before: where to go on was not known */
	uint64_t latest_written; /* registers of the instruction before, if a branch that reads them is one with it */
	uint64_t ready[REGISTERS];
	uint64_t divider_free;
	/* rings of the times at which the last users of a resource let it go */
	uint64_t *window, *load_buffers, *store_buffers;
	uint64_t window_next, load_next, store_next;
	uint64_t last_commit, last_commit_line;
	uint64_t next_commit; /* hundredths of cycles */
	struct slot *fill_buffers, *super_queue;

	/* recent stores, by the words of 8 bytes that they wrote */
	struct forward {
		uint64_t address;
		uint64_t address_reads; /* registers of the address … */
		uint64_t changes;       /* … and how often these had changed by then */
		uint64_t ready, reloaded;
		uint8_t bytes;
	} forwards[FORWARDS];
	uint64_t changes[REGISTERS]; /* how often each was written */
	struct coming {
		uint64_t line, ready;
		unsigned served;
	} to_private[COMING];                /* lines on their way to a private cache, by line: places in the queue are
	                                        given to others before they are free */
	struct coming coming[COMING];        /* prefetched into the last cache, by line */
	struct pending pending[PENDING_MAX]; /* prefetches of the access under way */
	unsigned pending_count;
};

static const char *const stall_names[FM_STALL_COUNT] = {
#define STALL(identifier, words) #identifier,
#include "simulator/stalls.def"
#undef STALL
};

static const char *const stall_words[FM_STALL_COUNT] = {
#define STALL(identifier, words) words,
#include "simulator/stalls.def"
#undef STALL
};

const char *fm_stall_name(enum fm_stall stall)
{
	return stall_names[stall];
}

const char *fm_stall_words(enum fm_stall stall)
{
	return stall_words[stall];
}

static const char *name_of_served(const struct fm_machine_description *machine, unsigned served, const char *remote,
                                  const char *core)
{
	if (served < FM_SERVED_MEMORY)
		return machine->caches[served].name;
	return served == FM_SERVED_CORE ? core : served == FM_SERVED_REMOTE ? remote : "memory";
}

const char *fm_stall_level_name(const struct fm_machine_description *machine, bool bandwidth, unsigned served,
                                char *text, size_t size)
{
	snprintf(text, size, "%s_%s", bandwidth ? "bandwidth" : "latency",
	         name_of_served(machine, served, "remote", "core"));
	return text;
}

const char *fm_stall_level_words(const struct fm_machine_description *machine, bool bandwidth, unsigned served,
                                 char *text, size_t size)
{
	if (served == FM_SERVED_CORE && !bandwidth)
		snprintf(text, size, "a line from another core");
	else
		snprintf(text, size, "%s of %s", bandwidth ? "bandwidth" : "latency",
		         name_of_served(machine, served, "another socket's memory", "another core's cache"));
	return text;
}

static struct cycle *cycle_at(struct fm_core_timing *timing, uint64_t cycle)
{
	return &timing->ring[cycle & RING_MASK];
}

static void mark(struct fm_core_timing *timing, uint64_t from, uint64_t to, uint8_t flag)
{
	struct marked *marked = &timing->marked[__builtin_ctz(flag)];

	/* many loads are outstanding at once: what an earlier one has marked is marked */
	if (from >= marked->from && from <= marked->to) {
		from = marked->to;
		if (to > marked->to)
			marked->to = to;
	} else if (to > marked->to) {
		*marked = (struct marked){from, to};
	}
	if (from < timing->accounted)
		from = timing->accounted;
	if (to > timing->accounted + RING_CYCLES)
		to = timing->accounted + RING_CYCLES;
	for (; from < to; from++)
		cycle_at(timing, from)->flags |= flag;
}

static void count_cause(struct fm_timing_counts *counts, unsigned cause)
{
	if (cause >= CAUSE_BANDWIDTH)
		counts->bandwidth_stalls[cause - CAUSE_BANDWIDTH]++;
	else if (cause >= CAUSE_LATENCY)
		counts->latency_stalls[cause - CAUSE_LATENCY]++;
	else
		counts->stalls[cause]++;
}

/* Nothing that is still to come can happen before `until`. */
static void account(struct fm_core_timing *timing, uint64_t until)
{
	struct fm_timing_counts *counts = &timing->counts;

	for (; timing->accounted < until; timing->accounted++) {
		struct cycle *cycle = cycle_at(timing, timing->accounted);
		uint8_t flags = cycle->flags;

		counts->cycles++;
		counts->miss_pending += (flags & FLAG_MISS) != 0;
		counts->fill_buffers_full += (flags & FLAG_FILL_FULL) != 0;
		counts->super_queue_full += (flags & FLAG_QUEUE_FULL) != 0;
		counts->store_buffer_full += (flags & FLAG_STORES_FULL) != 0;
		if (!cycle->executed) {
			counts->no_execute++;
			counts->miss_pending_stall += (flags & FLAG_MISS) != 0;
			counts->second_pending_stall += (flags & FLAG_SECOND_MISS) != 0;
			counts->load_pending_stall += (flags & FLAG_LOAD) != 0;
			count_cause(counts, cycle->cause);
		}
		memset(cycle, 0, sizeof(*cycle));
	}
}

/* From when on, not before `from`, a unit of the core has time for one more operation of so many hundredths of a cycle.
   A thread that runs alone has it for itself. */
static uint64_t take_unit(struct fm_core_timing *timing, unsigned unit, uint64_t from, uint64_t cost)
{
	return timing->sharers > 1 ? fm_lane_take(&timing->shared->units[unit], from, cost) : from;
}

/* The first cycle from `from` on with room on the ports: `cost` of the `limit` there is of these; takes it. What does
   not fit into the cycle any more is taken of the next one, so that rates need not be whole: with 1.9 loads per cycle
   two begin in most of them. */
static uint64_t take_port(struct fm_core_timing *timing, uint64_t from, size_t which, unsigned cost, unsigned limit)
{
	static const unsigned units[] = {[offsetof(struct cycle, loads)] = SHARED_LOADS,
	                                 [offsetof(struct cycle, stores)] = SHARED_STORES,
	                                 [offsetof(struct cycle, multiplications)] = SHARED_MULTIPLICATIONS};

	if (which != offsetof(struct cycle, executed))
		from = take_unit(timing, units[which], from, 100 * cost / limit);
	for (;; from++) {
		struct cycle *cycle = cycle_at(timing, from);
		uint8_t *used = (uint8_t *)cycle + which, *next;
		unsigned over;

		if (cycle->executed >= timing->shape->ports)
			continue;
		if (which != offsetof(struct cycle, executed)) {
			next = (uint8_t *)cycle_at(timing, from + 1) + which;
			over = *used + cost > limit ? *used + cost - limit : 0;
			if (*used >= limit || *next + over > limit)
				continue;
			*used = (uint8_t)(*used + cost - over);
			*next = (uint8_t)(*next + over);
		}
		cycle->executed++;
		return from;
	}
}

/* Buffers are divided among the threads that run. */
static unsigned portion(const struct fm_core_timing *timing, unsigned count)
{
	if (timing->sharers == 1)
		return count;
	return count > timing->sharers ? count / timing->sharers : 1;
}

/* When the one was let go that had to be before the `ahead`-th next can be had. */
static uint64_t let_go(const struct fm_core_timing *timing, const uint64_t *ring, unsigned count, uint64_t next,
                       unsigned ahead)
{
	return ring[(next + ahead + count - portion(timing, count)) % count];
}

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

/* Hundredths of cycles that a line takes at so many GB/s. */
static uint64_t line_interval(const struct fm_core_timing *timing, double gbs)
{
	const struct fm_machine_description *description = &timing->hierarchy->description;

	return (uint64_t)(100 * description->line_bytes * description->frequency_ghz / gbs);
}

static uint64_t memory_interval(const struct fm_core_timing *timing, bool remote)
{
	const struct fm_machine_description *description = &timing->hierarchy->description;
	double gbs = description->memory_core_gbs > 0 ? description->memory_core_gbs : description->memory_gbs;

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

/* From when on the memory, and the link to it, can be had for so many lines. */
static uint64_t take_buses(struct fm_core_timing *timing, bool remote, uint64_t now, uint64_t lines)
{
	const struct fm_machine_description *description = &timing->hierarchy->description;

	if (remote && description->remote_gbs > 0)
		now = fm_bus_take(&timing->hierarchy->link_buses[timing->core->socket], now,
		                  lines * line_interval(timing, description->remote_gbs));
	return fm_bus_take(memory_bus(timing, remote), now, lines * line_interval(timing, description->memory_gbs));
}

/* From when on the last cache, which serves all that share it, can be had for so many lines. */
static uint64_t take_shared(struct fm_core_timing *timing, unsigned level, uint64_t now, uint64_t lines)
{
	const struct fm_hierarchy *hierarchy = timing->hierarchy;

	if (!hierarchy->shared_buses || level + 1 != hierarchy->description.cache_count)
		return now;
	return fm_bus_take(&hierarchy->shared_buses[fm_hierarchy_group(hierarchy, timing->core)], now,
	                   lines * hierarchy->description.caches[level].shared_interval);
}

static struct coming *coming_at(struct fm_core_timing *timing, uint64_t line)
{
	return &timing->coming[line % COMING];
}

static struct coming *private_at(struct fm_core_timing *timing, uint64_t line)
{
	return &timing->to_private[line % COMING];
}

/* When memory begins to deliver. */
static uint64_t ask_memory(struct fm_core_timing *timing, bool remote, uint64_t now)
{
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
static void fetch_into_last(struct fm_core_timing *timing, uint64_t line, unsigned served, uint64_t now)
{
	const struct fm_machine_description *description = &timing->hierarchy->description;
	bool remote = served == FM_SERVED_REMOTE;

	*coming_at(timing, line) = (struct coming){line,
	                                           ask_memory(timing, remote, now) + memory_latency(timing, remote) -
	                                               description->caches[description->cache_count - 1].latency,
	                                           served};
}

/* A request that leaves the first two caches at `now`: when its line is in the private cache `into`. ret_queued is how
   much of that was waiting for a place or for bandwidth. */
static uint64_t fetch_beyond(struct fm_core_timing *timing, uint64_t line, unsigned into, unsigned served, uint64_t now,
                             uint64_t *ret_queued)
{
	const struct fm_machine_description *description = &timing->hierarchy->description;
	struct slot *slot;
	uint64_t begin = take_slot(timing->super_queue, portion(timing, timing->shape->super_queue), now, &slot), start,
	         latency;

	if (begin > now)
		mark(timing, now, begin, FLAG_QUEUE_FULL);
	if (served == FM_SERVED_MEMORY || served == FM_SERVED_REMOTE) {
		start = ask_memory(timing, served == FM_SERVED_REMOTE, begin);
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
static bool on_prefetch(void *context, uint64_t line, unsigned level, unsigned served)
{
	struct fm_core_timing *timing = context;

	if (timing->pending_count == PENDING_MAX)
		return false;
	timing->pending[timing->pending_count++] = (struct pending){line, level, served};
	return true;
}

/* Is a line that was prefetched into a private cache still on its way there? */
static bool is_coming(void *context, uint64_t line)
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
			             timing->pending[i].served, now, &queued);
		else
			fetch_into_last(timing, timing->pending[i].line, timing->pending[i].served, now);
	timing->pending_count = 0;
}

struct fetched {
	uint64_t ready;
	uint64_t queued; /* of the time until then, waiting for buffers and bandwidth */
	unsigned served;
	unsigned waited_for; /* whose bandwidth that was: who served it, or what held the buffer it waited for */
	uint64_t translation;
};

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

		/* what the last one does not know is looked up in the page table; nobody begins that for all at once */
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

/* A store past the caches: when a line is complete it leaves its buffer and takes the way to memory as a line that is
   read does, but nobody waits for an answer. Writing it has been charged in part. */
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

/* One access at `now`. `demand` loads mark the pending cycles. */
static struct fetched access_memory(struct fm_core_timing *timing, struct fm_memory_access *access, uint64_t now)
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

		fetched.ready = fetch_beyond(timing, line, into, fetched.served, begin, &queued) +
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

/* Lines of other cores come through the last cache, and queue there. */
static unsigned bandwidth_cause(const struct fm_core_timing *timing, unsigned served)
{
	return CAUSE_BANDWIDTH + (served == FM_SERVED_CORE ? timing->hierarchy->description.cache_count - 1 : served);
}

/* Issue: in order, so many per cycle, when the window and the buffers have room. Returns the cycle. */
static uint64_t issue(struct fm_core_timing *timing, unsigned loads, unsigned stores)
{
	const struct fm_core_description *shape = timing->shape;
	uint64_t cycle = timing->issue_cycle, before_stores, free_at;

	if (timing->issued == shape->width)
		cycle++;
	if (timing->issues_from > cycle)
		cycle = timing->issues_from;
	if (timing->code_from > cycle)
		cycle = timing->code_from;
	free_at = let_go(timing, timing->window, shape->window, timing->window_next, 0);
	cycle = free_at > cycle ? free_at : cycle;
	for (unsigned i = 0; i < loads; i++) {
		free_at = let_go(timing, timing->load_buffers, shape->load_buffers, timing->load_next, i);
		cycle = free_at > cycle ? free_at : cycle;
	}
	before_stores = cycle;
	for (unsigned i = 0; i < stores; i++) {
		free_at = let_go(timing, timing->store_buffers, shape->store_buffers, timing->store_next, i);
		cycle = free_at > cycle ? free_at : cycle;
	}
	if (cycle > before_stores)
		mark(timing, before_stores, cycle, FLAG_STORES_FULL);
	cycle = take_unit(timing, SHARED_ISSUE, cycle, 100 / shape->width);
	if (cycle != timing->issue_cycle) {
		timing->issue_cycle = cycle;
		timing->issued = 0;
	}
	timing->issued++;
	return cycle;
}

/* Retire: in order, so many per cycle. The cycles since the retirement before were spent on `cause`, the first `queued`
   of them on `queue_cause`. */
static uint64_t retire(struct fm_core_timing *timing, uint64_t done, unsigned cause, unsigned queue_cause,
                       uint64_t queued)
{
	uint64_t before = timing->retire_cycle;

	if (done > timing->retire_cycle) {
		timing->retire_cycle = done;
		timing->retired = 1;
	} else if (timing->retired == timing->shape->width) {
		timing->retire_cycle++;
		timing->retired = 1;
	} else {
		timing->retired++;
	}
	for (uint64_t cycle = before < timing->accounted ? timing->accounted : before; cycle < timing->retire_cycle;
	     cycle++)
		cycle_at(timing, cycle)->cause = (uint8_t)(cycle - before < queued ? queue_cause : cause);
	return timing->retire_cycle;
}

/* A comparison and the branch that depends on it are one instruction to the core. */
static bool is_fused(const struct fm_core_timing *timing, const struct fm_instruction *instruction, unsigned accesses)
{
	return instruction->branch == FM_BRANCH_CONDITIONAL && !accesses && timing->latest_written & instruction->reads;
}

void fm_core_branch(struct fm_core_timing *timing, enum fm_branch_kind kind, uint64_t address, unsigned bytes,
                    uint64_t target)
{
	timing->counts.branches++;
	if (!timing->branches ||
	    fm_branches_foresee(timing->branches, kind, address, target != address + bytes, target))
		return;
	timing->counts.mispredictions++;
	timing->issues_from = timing->executed_at + timing->shape->misprediction;
	timing->issues_from -= timing->shape->misprediction > REFILL ? REFILL : timing->shape->misprediction;
}

/* When a line that the instruction cache lacks can be issued from. One after the other, ahead of what is issued; but
   after a branch that was not foreseen nobody asked for it before. */
static void fetch_line(struct fm_core_timing *timing)
{
	uint64_t issue = timing->issue_cycle > timing->issues_from ? timing->issue_cycle : timing->issues_from,
	         from = 100 * (issue > FETCHED_AHEAD ? issue - FETCHED_AHEAD : 0),
	         interval = timing->shape->code_interval;

	if (timing->code_lost != timing->issues_from) {
		const struct fm_machine_description *description = &timing->hierarchy->description;

		timing->code_lost = timing->issues_from;
		from = 100 * timing->issues_from;
		if (timing->issue_cycle <= timing->issues_from && description->cache_count > 1 &&
		    interval < 100ull * description->caches[1].latency)
			interval = 100ull * description->caches[1].latency;
	}
	if (from < timing->code_free)
		from = timing->code_free;
	timing->code_free = from + interval;
	timing->code_from = timing->code_free / 100;
}

void fm_core_fetch(struct fm_core_timing *timing, uint64_t address, unsigned bytes)
{
	unsigned shift = timing->hierarchy->line_shift;

	if (!timing->code || !bytes)
		return;
	for (uint64_t line = address >> shift; line <= (address + bytes - 1) >> shift; line++) {
		if (timing->code_line == line + 1)
			continue;
		timing->code_line = line + 1;
		if (!fm_code_cache_touch(timing->code, line))
			fetch_line(timing);
	}
}

void fm_core_skip_code(struct fm_core_timing *timing, uint64_t address, unsigned bytes)
{
	unsigned shift = timing->hierarchy->line_shift;

	for (uint64_t line = address >> shift; timing->code && bytes && line <= (address + bytes - 1) >> shift; line++)
		fm_code_cache_touch(timing->code, line);
}

/* When the line of a store goes into the first cache: in order, several in one cycle if they are of one line. */
static uint64_t commit_store(struct fm_core_timing *timing, uint64_t ready, const struct fm_memory_access *access)
{
	uint64_t line = access->address >> timing->hierarchy->line_shift, begin = 100 * ready;

	if (begin < timing->next_commit)
		begin = timing->next_commit;
	if (line != timing->last_commit_line && begin / 100 <= timing->last_commit)
		begin = 100 * (timing->last_commit + 1);
	timing->next_commit = begin + timing->store_intervals[fm_width_of(access->bytes)];
	timing->last_commit_line = line;
	timing->last_commit = (timing->next_commit - 1) / 100;
	return begin / 100;
}

/* A thread that has not executed for a while is not running. The engine lets threads drift apart by less. */
static unsigned count_sharers(const struct fm_core_timing *timing)
{
	enum { WHILE = 4096 };
	unsigned threads = fm_description_threads(&timing->hierarchy->description), count = 1;

	for (unsigned i = 0; threads > 1 && i < threads; i++) {
		const struct fm_core_timing *other = timing->shared->timings[i];

		count += other && other != timing && other->retire_cycle &&
		         other->retire_cycle + WHILE > timing->retire_cycle;
	}
	return count;
}

static uint64_t changes_of(const struct fm_core_timing *timing, uint64_t registers)
{
	uint64_t changes = 0;

	for (; registers; registers &= registers - 1)
		changes += timing->changes[__builtin_ctzll(registers)];
	return changes;
}

/* Loads of what it wrote get it from here: it left for its buffer at `at`, and its data was there at `data`. */
static void note_store(struct fm_core_timing *timing, const struct fm_instruction *instruction,
                       const struct fm_memory_access *access, uint64_t at, uint64_t data)
{
	const struct forward forward = {.address = access->address,
	                                .address_reads = instruction->address_reads,
	                                .changes = changes_of(timing, instruction->address_reads),
	                                .ready = at + timing->forward_latency,
	                                .reloaded = data + timing->reload_latency,
	                                .bytes = access->bytes};

	for (uint64_t word = access->address / 8; word <= (access->address + access->bytes - 1) / 8; word++)
		timing->forwards[word % FORWARDS] = forward;
}

void fm_core_execute(struct fm_core_timing *timing, const struct fm_instruction *instruction,
                     struct fm_memory_access *accesses, unsigned count)
{
	const struct fm_core_description *shape = timing->shape;
	unsigned loads = 0, stores = 0;
	uint64_t issued, operands, address_operands, data, done, queued = 0;
	const unsigned operation = instruction->operation, latency = timing->operations[operation].latency,
	               interval = timing->operations[operation].interval;
	unsigned cause = latency > 1 ? FM_STALL_compute : FM_STALL_none, queue_cause = FM_STALL_none;
	uint64_t stores_from, store_wait = 0;

	if (is_fused(timing, instruction, count)) {
		timing->counts.instructions++;
		timing->latest_written = 0;
		return;
	}
	timing->latest_written =
	    timing->operations[operation].latency <= 1 && !instruction->branch ? instruction->writes : 0;
	for (unsigned i = 0; i < count; i++)
		if (accesses[i].access == FM_ACCESS_LOAD)
			loads++;
		else
			stores++;
	timing->sharers = count_sharers(timing);
	stores_from = timing->issue_cycle;
	issued = issue(timing, loads, stores);
	if (stores && issued > stores_from &&
	    let_go(timing, timing->store_buffers, shape->store_buffers, timing->store_next, 0) >= issued)
		store_wait = issued - stores_from;
	/* issue waits beyond the last retirement only for branches and store buffers */
	for (uint64_t cycle = timing->retire_cycle; cycle < issued; cycle++)
		if (cycle >= timing->accounted)
			cycle_at(timing, cycle)->cause = cycle < timing->issues_from ? FM_STALL_branches
			                                 : store_wait                ? FM_STALL_stores
			                                                             : FM_STALL_none;
	/* what happens before the issue of this instruction is settled */
	account(timing, issued);
	operands = address_operands = issued + 1;
	for (uint64_t reads = instruction->reads; reads; reads &= reads - 1) {
		unsigned index = (unsigned)__builtin_ctzll(reads);

		if (timing->ready[index] > operands)
			operands = timing->ready[index];
		if (instruction->address_reads >> index & 1 && timing->ready[index] > address_operands)
			address_operands = timing->ready[index];
	}
	data = operands;
	for (unsigned i = 0; i < count; i++) {
		uint64_t at;
		struct fetched fetched;
		const struct forward *forward;
		uint64_t forwarded;

		if (accesses[i].access != FM_ACCESS_LOAD)
			continue;
		at = take_port(timing, address_operands, offsetof(struct cycle, loads),
		               timing->load_shares[fm_width_of(accesses[i].bytes)], LOAD_SHARES);
		fetched = access_memory(timing, &accesses[i], at);
		mark(timing, at + 1, fetched.ready, FLAG_LOAD);
		forward = &timing->forwards[accesses[i].address / 8 % FORWARDS];
		if (accesses[i].address >= forward->address &&
		    accesses[i].address + accesses[i].bytes <= forward->address + forward->bytes) {
			bool same = forward->address == accesses[i].address &&
			            forward->address_reads == instruction->address_reads &&
			            forward->changes == changes_of(timing, instruction->address_reads);

			forwarded = same ? forward->reloaded : forward->ready;
			/* the core takes the value of the store, whatever the cache would do */
			if (same && !fetched.served)
				fetched.ready = forwarded;
			if (forwarded > data) {
				data = forwarded;
				cause = CAUSE_LATENCY;
			}
		}
		if (fetched.ready > data) {
			data = fetched.ready;
			queued = fetched.queued;
			cause = fetched.translation > fetched.ready - at - fetched.translation
			            ? FM_STALL_translation
			            : CAUSE_LATENCY + fetched.served;
			queue_cause = bandwidth_cause(timing, fetched.waited_for);
		}
	}
	done = data;
	if (timing->shared->operations[operation])
		data = fm_lane_take(timing->shared->operations[operation], data, interval);
	switch (timing->operations[operation].unit) {
	case FM_UNIT_MULTIPLY:
		done = take_port(timing, data, offsetof(struct cycle, multiplications), 1, shape->multiply_ports) +
		       latency;
		break;
	case FM_UNIT_DIVIDE:
		data = timing->divider_free > data ? timing->divider_free : data;
		data = take_unit(timing, SHARED_DIVIDER, data, interval);
		done = take_port(timing, data, offsetof(struct cycle, executed), 1, shape->ports);
		timing->divider_free = done + interval / 100;
		done += latency;
		break;
	case FM_UNIT_ANY:
		done = take_port(timing, data, offsetof(struct cycle, executed), 1, shape->ports) + latency;
		break;
	default:
		break;
	}
	for (uint64_t writes = instruction->writes; writes; writes &= writes - 1) {
		timing->ready[__builtin_ctzll(writes)] = done;
		timing->changes[__builtin_ctzll(writes)]++;
	}
	if (stores) {
		uint64_t at = take_port(timing, done, offsetof(struct cycle, stores), 1, shape->store_ports);

		for (unsigned i = 0; i < count; i++)
			if (accesses[i].access != FM_ACCESS_LOAD)
				note_store(timing, instruction, &accesses[i], at, done);
		if (at + 1 > done)
			done = at + 1;
	}
	timing->executed_at = done;
	if (store_wait) {
		queue_cause = FM_STALL_stores;
		queued = store_wait > queued ? store_wait : queued;
	}
	done = retire(timing, done, cause, queue_cause, queued);
	timing->window[timing->window_next++ % shape->window] = done;
	for (unsigned i = 0; i < loads; i++)
		timing->load_buffers[timing->load_next++ % shape->load_buffers] = done;
	for (unsigned i = 0; i < count; i++) {
		struct fetched fetched;
		uint64_t commit;

		if (accesses[i].access == FM_ACCESS_LOAD)
			continue;
		/* ownership is asked for as soon as the store has retired; stores leave in order */
		fetched = access_memory(timing, &accesses[i], done + STORE_AGE);
		commit = commit_store(timing, fetched.served ? fetched.ready : done + STORE_AGE, &accesses[i]);
		timing->store_buffers[timing->store_next++ % shape->store_buffers] = commit;
	}
	timing->counts.instructions += !instruction->continues;
}

void fm_core_drain(struct fm_core_timing *timing)
{
	uint64_t end = timing->retire_cycle > timing->last_commit ? timing->retire_cycle : timing->last_commit;

	account(timing, end);
	if (timing->issue_cycle < end) {
		timing->issue_cycle = end;
		timing->issued = 0;
	}
}

void fm_core_skip(struct fm_core_timing *timing, uint64_t until)
{
	if (until <= timing->retire_cycle)
		return;
	fm_core_drain(timing);
	if (until <= timing->accounted)
		return;
	/* what was marked for cycles to come is not to be found there */
	memset(timing->ring, 0, RING_CYCLES * sizeof(*timing->ring));
	memset(timing->marked, 0, sizeof(timing->marked));
	timing->accounted = timing->issue_cycle = timing->retire_cycle = until;
	timing->issued = timing->retired = 0;
}

uint64_t fm_core_now(const struct fm_core_timing *timing)
{
	return timing->retire_cycle;
}

const struct fm_timing_counts *fm_core_timing_counts(const struct fm_core_timing *timing)
{
	return &timing->counts;
}

void fm_core_count(struct fm_core_timing *timing, const struct fm_timing_counts *counts)
{
	timing->counts = *counts;
}

void fm_core_timing_destroy(struct fm_core_timing *timing)
{
	if (!timing)
		return;
	if (timing->core && timing->core->prefetch_context == timing) {
		timing->core->on_prefetch = NULL;
		timing->core->is_coming = NULL;
	}
	for (unsigned i = 0; timing->shared && i < FM_SIMULATED_THREADS_MAX; i++)
		if (timing->shared->timings[i] == timing)
			timing->shared->timings[i] = NULL;
	fm_branches_destroy(timing->branches);
	fm_code_cache_destroy(timing->code);
	free(timing->ring);
	free(timing->window);
	free(timing->load_buffers);
	free(timing->store_buffers);
	free(timing->fill_buffers);
	free(timing->super_queue);
	free(timing);
}

/* Of operations that are limited in number by ports alone there is nothing to keep. Dividers are, by themselves. */
static bool set_operations(struct fm_core_timing *timing)
{
	for (unsigned i = 0; i < FM_OPERATION_COUNT; i++) {
		struct fm_operation_description described = timing->shape->operations[i];
		struct fm_lane **lane = &timing->shared->operations[i];

		if (!described.given)
			described = fm_operation_usual((enum fm_operation)i);
		timing->operations[i].unit = fm_operation_unit((enum fm_operation)i);
		timing->operations[i].latency = described.latency;
		timing->operations[i].interval = described.interval;
		if (!described.interval || timing->operations[i].unit == FM_UNIT_DIVIDE || *lane)
			continue;
		*lane = calloc(1, sizeof(**lane));
		if (!*lane)
			return false;
	}
	for (unsigned i = 0; i < FM_ACCESS_WIDTHS; i++) {
		unsigned shares = 100 * LOAD_SHARES / fm_core_loads(timing->shape, i);

		timing->load_shares[i] = shares > LOAD_SHARES ? LOAD_SHARES : shares;
		timing->store_intervals[i] = 10000 / fm_core_stores(timing->shape, i);
	}
	timing->forward_latency = timing->shape->forward ? timing->shape->forward : FM_FORWARD_LATENCY;
	timing->reload_latency = timing->shape->reload ? timing->shape->reload : timing->forward_latency;
	return true;
}

void fm_shared_timing_destroy(struct fm_shared_timing *shared)
{
	for (unsigned i = 0; shared && i < FM_OPERATION_COUNT; i++)
		free(shared->operations[i]);
	free(shared);
}

int fm_core_timing_create(struct fm_hierarchy *hierarchy, unsigned core, struct fm_core_timing **ret_timing,
                          struct fm_error *error)
{
	const struct fm_core_description *shape = &hierarchy->description.core;
	struct fm_core_timing *timing = calloc(1, sizeof(*timing));

	if (!timing)
		return fm_error_set(error, ENOMEM, "out of memory");
	timing->hierarchy = hierarchy;
	timing->core = fm_hierarchy_core(hierarchy, core);
	timing->shape = shape;
	timing->ring = calloc(RING_CYCLES, sizeof(*timing->ring));
	timing->window = calloc(shape->window, sizeof(*timing->window));
	timing->load_buffers = calloc(shape->load_buffers, sizeof(*timing->load_buffers));
	timing->store_buffers = calloc(shape->store_buffers, sizeof(*timing->store_buffers));
	timing->fill_buffers = calloc(shape->fill_buffers, sizeof(*timing->fill_buffers));
	timing->super_queue = calloc(shape->super_queue, sizeof(*timing->super_queue));
	timing->branches = shape->misprediction ? fm_branches_create() : NULL;
	if (shape->code_bytes)
		timing->code =
		    fm_code_cache_create(shape->code_bytes, shape->code_ways ? shape->code_ways : FM_CODE_WAYS,
		                         hierarchy->description.line_bytes);
	if (timing->core && !timing->core->physical->timing)
		timing->core->physical->timing = calloc(1, sizeof(*timing->shared));
	timing->shared = timing->core ? timing->core->physical->timing : NULL;
	timing->sharers = 1;
	if (!timing->shared || !timing->ring || !timing->window || !timing->load_buffers || !timing->store_buffers ||
	    !timing->fill_buffers || !timing->super_queue || (shape->misprediction && !timing->branches) ||
	    (shape->code_bytes && !timing->code) || !set_operations(timing)) {
		fm_core_timing_destroy(timing);
		return fm_error_set(error, ENOMEM, "not enough memory for the timing of core %u", core);
	}
	timing->shared->timings[core / hierarchy->physical_count] = timing;
	timing->core->on_prefetch = on_prefetch;
	timing->core->is_coming = is_coming;
	timing->core->prefetch_context = timing;
	*ret_timing = timing;
	return 0;
}
