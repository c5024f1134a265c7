#include <string.h>

#include "simulator/core_parts.h"

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

/* The first cycle, not before `from`, in which a unit of the core has time for one more operation of `cost` hundredths
   of a cycle. A thread that runs alone has it for itself. */
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
	                                 [offsetof(struct cycle, multiplications)] = SHARED_MULTIPLICATIONS,
	                                 [offsetof(struct cycle, vectors)] = SHARED_VECTORS};

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

/* When the one was let go that had to be before the `ahead`-th next can be had. */
static uint64_t let_go(const struct fm_core_timing *timing, const uint64_t *ring, unsigned count, uint64_t next,
                       unsigned ahead)
{
	return ring[(next + ahead + count - portion(timing, count)) % count];
}

/* Lines of other cores come through the last cache, and queue there. */
static unsigned bandwidth_cause(const struct fm_core_timing *timing, unsigned served)
{
	return CAUSE_BANDWIDTH + (served == FM_SERVED_CORE ? timing->hierarchy->description.cache_count - 1 : served);
}

/* Issue: in order, a limited number per cycle, when the window and the buffers have room. Returns the cycle. */
static uint64_t issue(struct fm_core_timing *timing, unsigned loads, unsigned stores, unsigned places)
{
	const struct fm_core_description *shape = timing->shape;
	uint64_t cycle = timing->issue_cycle, before_stores, free_at;

	if (timing->issued == shape->width)
		cycle++;
	if (timing->issues_from > cycle)
		cycle = timing->issues_from;
	if (timing->code_from > cycle)
		cycle = timing->code_from;
	if (timing->block_cycle > cycle)
		cycle = timing->block_cycle;
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
	cycle = take_unit(timing, SHARED_ISSUE, cycle, 100 * places / shape->width);
	if (cycle != timing->issue_cycle) {
		timing->issue_cycle = cycle;
		timing->issued = 0;
	}
	/* what has no room any more takes places of the next cycles */
	timing->issued += places;
	while (timing->issued > shape->width) {
		timing->issue_cycle++;
		timing->issued -= shape->width;
	}
	return cycle;
}

/* Retire: in order, a limited number per cycle. The cycles since the retirement before were spent on `cause`, the first
   `queued` of them on `queue_cause`. */
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

/* A branch went there. Was it foreseen? */
static bool foresee(struct fm_core_timing *timing, enum fm_branch_kind kind, uint64_t address, unsigned bytes,
                    uint64_t target)
{
	bool taken = kind != FM_BRANCH_CONDITIONAL || target != address + bytes;

	return !timing->branches || fm_branches_foresee(timing->branches, kind, address, taken, target);
}

/* A branch is taken. Is where it goes known only in a later cycle? */
static bool is_late(struct fm_core_timing *timing, uint64_t address)
{
	return timing->taken &&
	       !fm_code_cache_touch_in(timing->taken, address >> timing->hierarchy->line_shift, address);
}

/* Cycles until what comes after a branch is delivered, beyond the next one. */
static unsigned waits_for(struct fm_core_timing *timing, enum fm_branch_kind kind, uint64_t address)
{
	const struct fm_core_description *shape = timing->shape;
	unsigned wait = is_late(timing, address) ? shape->taken_wait : 0, more = 0;

	if (kind == FM_BRANCH_RETURN)
		more = shape->return_wait;
	else if (kind == FM_BRANCH_INDIRECT && timing->branches && fm_branches_vary(timing->branches, address))
		more = shape->indirect_wait;
	return more > wait ? more : wait;
}

void fm_core_branch(struct fm_core_timing *timing, enum fm_branch_kind kind, uint64_t address, unsigned bytes,
                    uint64_t target)
{
	timing->counts.branches += kind == FM_BRANCH_CONDITIONAL || kind == FM_BRANCH_INDIRECT;
	if (target != address + bytes) {
		timing->block_line = 0;
		timing->block_cycle += waits_for(timing, kind, address);
	}
	if (foresee(timing, kind, address, bytes, target))
		return;
	timing->counts.mispredictions++;
	timing->issues_from = timing->executed_at + timing->shape->misprediction;
	timing->issues_from -= timing->shape->misprediction > REFILL ? REFILL : timing->shape->misprediction;
}

void fm_core_skip_branch(struct fm_core_timing *timing, enum fm_branch_kind kind, uint64_t address, unsigned bytes,
                         uint64_t target)
{
	if (target != address + bytes)
		is_late(timing, address);
	foresee(timing, kind, address, bytes, target);
}

/* The first cycle in which a line that the instruction cache lacks can be issued. Lines come one after the other, ahead
   of issue; after a mispredicted branch there was no earlier request. */
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

/* In one cycle come instructions of one line, at most DELIVERED, until a branch is taken. They wait in a queue. */
static void deliver(struct fm_core_timing *timing, uint64_t line)
{
	uint64_t cycle = timing->block_cycle + 1;

	if (timing->block_line == line + 1 && timing->block_count < DELIVERED) {
		timing->block_count++;
		return;
	}
	if (timing->issue_cycle > cycle + DELIVERED_AHEAD)
		cycle = timing->issue_cycle - DELIVERED_AHEAD;
	timing->block_cycle = timing->issues_from > cycle ? timing->issues_from : cycle;
	timing->block_line = line + 1;
	timing->block_count = 1;
}

void fm_core_fetch(struct fm_core_timing *timing, uint64_t address, unsigned bytes)
{
	unsigned shift = timing->hierarchy->line_shift;

	if (!timing->delivers || !bytes)
		return;
	deliver(timing, address >> shift);
	for (uint64_t line = address >> shift; timing->code && line <= (address + bytes - 1) >> shift; line++) {
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

/* Loads of the stored data get it from here: the data was there at `data`, it left for its buffer at `at`, and for the
   cache at `committed`. */
static void note_store(struct fm_core_timing *timing, const struct fm_instruction *instruction,
                       const struct fm_memory_access *access, uint64_t data, uint64_t at, uint64_t committed)
{
	const struct forward forward = {.address = access->address,
	                                .address_reads = instruction->address_reads,
	                                .changes = changes_of(timing, instruction->address_reads),
	                                .ready = at + timing->forward_latency,
	                                .reloaded = data + timing->reload_latency,
	                                .unblocked = data + timing->shape->blocked,
	                                .committed = committed,
	                                .bytes = access->bytes};

	for (uint64_t word = access->address / 8; word <= (access->address + access->bytes - 1) / 8; word++)
		timing->forwards[word % FORWARDS] = forward;
}

/* When a load at `cycle` can have what several stores wrote, or one and the cache: when the last of these is in the
   cache. 0: at once. */
static uint64_t unblocked(const struct fm_core_timing *timing, const struct fm_memory_access *load, uint64_t cycle)
{
	uint64_t until = 0, end = load->address + load->bytes;

	for (uint64_t word = load->address / 8; word <= (end - 1) / 8; word++) {
		const struct forward *forward = &timing->forwards[word % FORWARDS];

		if (forward->committed <= cycle || forward->address >= end ||
		    forward->address + forward->bytes <= load->address)
			continue;
		if (forward->unblocked > until)
			until = forward->unblocked;
		if (forward->committed > until)
			until = forward->committed;
	}
	return until;
}

/* When, not before `cycle`, there is a unit for the operation. */
static uint64_t take_lanes(struct fm_core_timing *timing, unsigned operation, uint64_t cycle)
{
	if (timing->operations[operation].lane)
		cycle = fm_lane_take(timing->operations[operation].lane, cycle, timing->operations[operation].interval);
	if (timing->operations[operation].among)
		cycle = fm_lane_take(timing->operations[operation].among, cycle,
		                     timing->operations[operation].among_interval);
	return cycle;
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
	uint64_t stores_from, store_wait = 0, stored_data = 0, stored_at = 0;

	if (is_fused(timing, instruction, count)) {
		timing->counts.instructions++;
		timing->latest_written = 0;
		/* the comparison took a unit among all; the branch wants one of few */
		if (timing->operations[operation].lane)
			fm_lane_take(timing->operations[operation].lane, timing->executed_at - 1, interval);
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
	issued = issue(timing, loads, stores, 1u + instruction->more);
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
		fetched = fm_core_access(timing, &accesses[i], at);
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
		} else if (shape->blocked) {
			forwarded = unblocked(timing, &accesses[i], at);
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
	data = take_lanes(timing, operation, data);
	switch (timing->operations[operation].unit) {
	case FM_UNIT_MULTIPLY:
		done = take_port(timing, data, offsetof(struct cycle, multiplications), 1, shape->multiply_ports) +
		       latency;
		break;
	case FM_UNIT_VECTOR:
		done = take_port(timing, data, offsetof(struct cycle, vectors), 1, timing->vector_ports) + latency;
		break;
	case FM_UNIT_DIVIDE:
		data = timing->divider_free > data ? timing->divider_free : data;
		data = take_unit(timing, SHARED_DIVIDER, data, interval);
		done = take_port(timing, data, offsetof(struct cycle, executed), 1, shape->ports);
		timing->divider_free = done + interval / 100;
		done += latency;
		break;
	case FM_UNIT_SERIAL:
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
		stored_data = done;
		stored_at = take_port(timing, done, offsetof(struct cycle, stores), 1, shape->store_ports);
		if (stored_at + 1 > done)
			done = stored_at + 1;
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
		fetched = fm_core_access(timing, &accesses[i], done + STORE_AGE);
		commit = commit_store(timing, fetched.served ? fetched.ready : done + STORE_AGE, &accesses[i]);
		timing->store_buffers[timing->store_next++ % shape->store_buffers] = commit;
		note_store(timing, instruction, &accesses[i], stored_data, stored_at, commit);
	}
	timing->counts.instructions += !instruction->continues;
	if (timing->operations[operation].unit == FM_UNIT_SERIAL)
		fm_core_drain(timing);
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
