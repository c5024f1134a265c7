/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/qemu/accesses.h"

#include <stdlib.h>
#include <string.h>

#include "engine/account/decode.h"
#include "engine/qemu/frames.h"
#include "engine/qemu/functions.h"
#include "engine/qemu/guest.h"
#include "engine/qemu/mappings.h"
#include "engine/account/misses.h"
#include "engine/account/objects.h"
#include "engine/account/x86_64/locked.h"
#include "engine/account/places.h"
#include "engine/qemu/queue.h"
#include "engine/qemu/repeated.h"
#include "engine/qemu/samples.h"
#include "engine/qemu/state.h"
#include "engine/qemu/turns.h"
#include "record/stream.h"

/* An instruction that accesses memory in an unusual way, or any with timing, as translated in one block. */
struct translated_site {
	struct fm_result_site *site;
	unsigned index; /* in its block */
	uint8_t whole;  /* bytes of the access when it arrives in pieces of eight; else 0 */
	bool nontemporal;
	/* followed for the stacks of samples, and for a function that alone is counted */
	bool returns;
	uint64_t returns_to;
};

/* A block that ends in a repeated string instruction. */
struct ending {
	const struct fm_result_site *site;
	bool alone; /* it is the only one: QEMU comes here for every element but the first */
	void *work;
};

/* A translated block, for timing. */
struct block {
	uint64_t address;
	uint64_t last; /* of its last instruction */
	unsigned count;
	struct fm_work work;
	struct ending ending;
	struct fm_decoded decoded[];
};

struct fm_engine_thread *fm_engine_self(void)
{
	return __builtin_expect(fm_self != NULL, 1) ? fm_self : fm_engine_thread_begin();
}

/* While elements of a repeated instruction are gathered, the usual path is closed, so that whatever comes next finds
   out; it need not look for itself. */
static bool begin_gathering(struct fm_engine_thread *thread)
{
	if (!thread->core || !thread->tracing)
		return false;
	thread->gathers = true;
	fm_tracing_queue = NULL;
	fm_tracing_core = NULL;
	return true;
}

static __attribute__((noinline)) void end_gathering(struct fm_engine_thread *thread)
{
	if (!thread->gathers)
		return;
	fm_gather_end_all(thread);
	thread->gathers = false;
	thread->goes_on_in = NULL;
	fm_engine_trace(thread, thread->tracing);
}

void fm_engine_trace(struct fm_engine_thread *thread, bool tracing)
{
	end_gathering(thread);
	thread->tracing = tracing;
	fm_tracing_queue = tracing && thread->core ? fm_queue_active() : NULL;
	fm_tracing_core = tracing && !fm_tracing_queue ? thread->core : NULL;
}

static void publish_timing(struct fm_engine_thread *thread)
{
	if (!thread->timing || !thread->core)
		return;
	fm_engine.account->results->timings[thread->core->index] = *fm_core_timing_counts(thread->timing);
	thread->record->clock = thread->clock;
}

/* Accesses */

static inline unsigned access_bytes(qemu_plugin_meminfo_t information)
{
	return 1u << (information >> 4 & 7);
}

static inline bool access_is_store(qemu_plugin_meminfo_t information)
{
	return information >> 16 & QEMU_PLUGIN_MEM_W;
}

/* Nothing to be done but count? Then it is done. */
static inline bool count_hit(struct fm_simulated_core *core, struct fm_result_site *site, uint64_t address,
                             unsigned bytes, bool store)
{
	struct fm_result_slot *slot = fm_account_likely_slot(site, address);

	if (!fm_account_in_slot(slot, address) || !fm_hierarchy_hit(core, address, bytes, store))
		return false;
	if (store)
		slot->stores++;
	else
		slot->loads++;
	return true;
}

static __attribute__((noinline)) void simulate_sample(struct fm_engine_side *side, struct fm_result_site *site,
                                                      uint64_t address, unsigned bytes, enum fm_access access,
                                                      struct fm_stream_sample *sample)
{
	unsigned served = 0;

	if (access >= FM_ACCESS_STORE_NONTEMPORAL || !count_hit(side->core, site, address, bytes, access))
		served = fm_account_slowly(side, site, address, bytes, access);
	fm_samples_finish(sample, served);
}

static inline __attribute__((always_inline)) void simulate_all(struct fm_engine_side *side,
                                                               const struct fm_queued *accesses, size_t count,
                                                               const struct fm_fast_view view)
{
	uint64_t loads = 0, load_bytes = 0, stores = 0, store_bytes = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t address = fm_queued_address(&accesses[i]);
		unsigned bytes = fm_queued_bytes(&accesses[i]);
		enum fm_access access = fm_queued_access(&accesses[i]);
		struct fm_result_slot *slot = fm_account_likely_slot(accesses[i].site, address);

		__builtin_prefetch(&accesses[i + FM_QUEUE_AHEAD]);
		if (!fm_account_in_slot(slot, address) || access >= FM_ACCESS_STORE_NONTEMPORAL ||
		    !fm_hierarchy_only_counts(&view, address, bytes, access)) {
			if (__builtin_expect(access & FM_QUEUE_SAMPLED, 0))
				simulate_sample(side, accesses[i].site, address, bytes,
				                access & ~(unsigned)FM_QUEUE_SAMPLED, fm_queue_sample(&accesses[i]));
			else
				fm_account_slowly(side, accesses[i].site, address, bytes, access);
		} else if (access == FM_ACCESS_LOAD) {
			loads++;
			load_bytes += bytes;
			slot->loads++;
		} else {
			stores++;
			store_bytes += bytes;
			slot->stores++;
		}
	}
	side->core->counts.loads += loads;
	side->core->counts.load_bytes += load_bytes;
	side->core->counts.caches[0].load_hits += loads;
	side->core->counts.stores += stores;
	side->core->counts.store_bytes += store_bytes;
	side->core->counts.caches[0].store_hits += stores;
}

void fm_engine_simulate(struct fm_engine_side *side, const struct fm_queued *accesses, size_t count)
{
	/* a copy, so that the compiler knows that nothing else changes it; and what nearly all machines have, known to
	   it beforehand */
	struct fm_fast_view view = side->core->view;

	if (view.line_shift == 6 && view.page_shift == 12 && view.first_ways == 8 && view.page_ways == 4) {
		view.line_shift = 6;
		view.page_shift = 12;
		view.first_ways = 8;
		view.page_ways = 4;
		simulate_all(side, accesses, count, view);
	} else {
		simulate_all(side, accesses, count, view);
	}
}

/* A new thread, or one whose accesses do not count, or a miss. */
static __attribute__((noinline)) void access_slowly(struct fm_result_site *site, uint64_t address, unsigned bytes,
                                                    enum fm_access access)
{
	struct fm_engine_thread *thread = fm_engine_self();

	if (!thread || !thread->core || !thread->tracing)
		return;
	end_gathering(thread);
	if (fm_tracing_queue)
		fm_queue_push(fm_tracing_queue, site, address, bytes, access);
	else
		fm_account_slowly(&thread->side, site, address, bytes, access);
}

static void on_load(unsigned vcpu, qemu_plugin_meminfo_t information, uint64_t address, void *data)
{
	struct fm_queue *queue = fm_tracing_queue;
	struct fm_simulated_core *core = fm_tracing_core;

	(void)vcpu;
	if (__builtin_expect(queue != NULL, 1))
		fm_queue_push(queue, data, address, access_bytes(information), FM_ACCESS_LOAD);
	else if (!core || !count_hit(core, data, address, access_bytes(information), false))
		access_slowly(data, address, access_bytes(information), FM_ACCESS_LOAD);
}

static void on_store(unsigned vcpu, qemu_plugin_meminfo_t information, uint64_t address, void *data)
{
	struct fm_queue *queue = fm_tracing_queue;
	struct fm_simulated_core *core = fm_tracing_core;

	(void)vcpu;
	if (__builtin_expect(queue != NULL, 1))
		fm_queue_push(queue, data, address, access_bytes(information), FM_ACCESS_STORE);
	else if (!core || !count_hit(core, data, address, access_bytes(information), true))
		access_slowly(data, address, access_bytes(information), FM_ACCESS_STORE);
}

/* The later pieces of an access that was taken as a whole when its first piece came. */
static inline bool is_piece(struct fm_engine_thread *thread, const struct translated_site *where, uint64_t address)
{
	if (!where->whole || thread->next_piece != address || thread->pieces_of != where)
		return false;
	thread->next_piece += 8;
	if (!--thread->pieces_left)
		thread->pieces_of = NULL;
	return true;
}

static inline unsigned whole_access(struct fm_engine_thread *thread, const struct translated_site *where,
                                    uint64_t address, unsigned bytes)
{
	if (!where->whole || bytes != 8)
		return bytes;
	thread->pieces_of = where;
	thread->pieces_left = where->whole / 8u - 1;
	thread->next_piece = address + 8;
	return where->whole;
}

static inline enum fm_access access_kind(const struct translated_site *where, qemu_plugin_meminfo_t information)
{
	return !access_is_store(information) ? FM_ACCESS_LOAD
	       : where->nontemporal          ? FM_ACCESS_STORE_NONTEMPORAL
	                                     : FM_ACCESS_STORE;
}

/* Wide, or past the caches, or both a load and a store. */
static void on_any(unsigned vcpu, qemu_plugin_meminfo_t information, uint64_t address, void *data)
{
	const struct translated_site *where = data;
	struct fm_engine_thread *thread = fm_engine_self();
	struct fm_queue *queue = fm_tracing_queue;
	unsigned bytes;

	(void)vcpu;
	if (__builtin_expect(!thread, 0) || is_piece(thread, where, address))
		return;
	bytes = whole_access(thread, where, address, access_bytes(information));
	if (!queue && thread->gathers) {
		end_gathering(thread);
		queue = fm_tracing_queue;
	}
	if (queue)
		fm_queue_push(queue, where->site, address, bytes, access_kind(where, information));
	else if (thread->core && thread->tracing &&
	         (where->nontemporal ||
	          !count_hit(thread->core, where->site, address, bytes, access_is_store(information))))
		fm_account_slowly(&thread->side, where->site, address, bytes, access_kind(where, information));
}

/* The same with samples. */

static unsigned sample_kind(enum fm_access access)
{
	return access == FM_ACCESS_LOAD ? FM_STREAM_LOAD : FM_STREAM_STORE;
}

/* The chosen one, or one that finds the usual path closed. */
static __attribute__((noinline)) void access_sampled_slowly(struct fm_result_site *site, uint64_t address,
                                                            unsigned bytes, enum fm_access access)
{
	struct fm_engine_thread *thread = fm_engine_self();
	struct fm_stream_sample *sample;

	if (!thread || !thread->core || !thread->tracing)
		return;
	if (!fm_tracing_queue && !fm_tracing_core) {
		end_gathering(thread);
		fm_samples_left--;
	}
	sample = fm_samples_left ? NULL : fm_samples_choose(thread, site, address, bytes, sample_kind(access));
	if (fm_tracing_queue && sample)
		fm_queue_push_sample(fm_tracing_queue, site, address, bytes, access, sample);
	else if (fm_tracing_queue)
		fm_queue_push(fm_tracing_queue, site, address, bytes, access);
	else if (sample)
		simulate_sample(&thread->side, site, address, bytes, access, sample);
	else
		fm_account_slowly(&thread->side, site, address, bytes, access);
}

static inline __attribute__((always_inline)) void access_sampled(struct fm_result_site *site, uint64_t address,
                                                                 unsigned bytes, enum fm_access access)
{
	struct fm_queue *queue = fm_tracing_queue;
	struct fm_simulated_core *core = fm_tracing_core;

	if (__builtin_expect(queue != NULL, 1)) {
		if (__builtin_expect(--fm_samples_left == 0, 0))
			access_sampled_slowly(site, address, bytes, access);
		else
			fm_queue_push(queue, site, address, bytes, access);
	} else if (__builtin_expect(!core || --fm_samples_left == 0, 0)) {
		access_sampled_slowly(site, address, bytes, access);
	} else if (access >= FM_ACCESS_STORE_NONTEMPORAL ||
	           !count_hit(core, site, address, bytes, access != FM_ACCESS_LOAD)) {
		access_slowly(site, address, bytes, access);
	}
}

static void on_load_sampled(unsigned vcpu, qemu_plugin_meminfo_t information, uint64_t address, void *data)
{
	(void)vcpu;
	access_sampled(data, address, access_bytes(information), FM_ACCESS_LOAD);
}

static void on_store_sampled(unsigned vcpu, qemu_plugin_meminfo_t information, uint64_t address, void *data)
{
	(void)vcpu;
	access_sampled(data, address, access_bytes(information), FM_ACCESS_STORE);
}

static void on_any_sampled(unsigned vcpu, qemu_plugin_meminfo_t information, uint64_t address, void *data)
{
	const struct translated_site *where = data;
	struct fm_engine_thread *thread = fm_engine_self();

	(void)vcpu;
	if (thread && !is_piece(thread, where, address))
		access_sampled(where->site, address, whole_access(thread, where, address, access_bytes(information)),
		               access_kind(where, information));
}

static __attribute__((noinline)) void element_slowly(qemu_plugin_meminfo_t information, uint64_t address,
                                                     const struct fm_result_site *site)
{
	struct fm_engine_thread *thread = fm_engine_self();

	if (thread && (thread->gathers || begin_gathering(thread)))
		fm_gather_slowly(thread, site, address, access_bytes(information), access_is_store(information));
}

/* One element of a repeated instruction. There are many: nothing here that is not needed for most of them. */
static void on_element(unsigned vcpu, qemu_plugin_meminfo_t information, uint64_t address, void *data)
{
	struct fm_engine_thread *thread = fm_self;

	(void)vcpu;
	if (__builtin_expect(
	        !thread || !fm_gather(thread, thread->gathered, data, address, access_is_store(information)), 0))
		element_slowly(information, address, data);
}

/* With timing, accesses are kept until their block is complete, and then fed to the core with their instructions. */

/* An instruction, or a part of one. */
static void execute(struct fm_engine_thread *thread, const struct fm_instruction *instruction,
                    const struct fm_engine_access *kept, unsigned count)
{
	struct fm_memory_access accesses[FM_INSTRUCTION_ACCESSES_MAX];

	for (unsigned i = 0; i < count; i++) {
		accesses[i] = kept[i].access;
		if (kept[i].access.access == FM_ACCESS_LOAD)
			fm_account_find_slot(thread->side.account, kept[i].site, kept[i].access.address)->loads++;
		else
			fm_account_find_slot(thread->side.account, kept[i].site, kept[i].access.address)->stores++;
	}
	fm_core_execute(thread->timing, instruction, accesses, count);
	for (unsigned i = 0; i < count; i++) {
		struct fm_result_site *site = kept[i].site;

		if (kept[i].sample)
			fm_samples_finish(kept[i].sample, accesses[i].served);
		if (!accesses[i].served)
			continue;
		if (accesses[i].served == FM_SERVED_CORE)
			fm_hierarchy_note_site(fm_engine.account->hierarchy, thread->core, accesses[i].address,
			                       fm_places_of(thread->side.account, site)->address);
		fm_misses_note(&thread->side, site,
		               fm_account_find_slot(thread->side.account, site, accesses[i].address),
		               accesses[i].address, accesses[i].served);
	}
}

/* The next instruction of the block, with the accesses kept of it from `next` on; those beyond what one may have are
   further parts of it. Returns how many there were. */
static unsigned feed_one(struct fm_engine_thread *thread, unsigned next)
{
	const struct fm_instruction *instruction = &thread->block->decoded[thread->fed].instruction;
	unsigned first = next;

	while (!thread->fed_in_part || (next < thread->kept_count && thread->kept[next].index == thread->fed)) {
		struct fm_instruction part;
		unsigned count = 0;

		while (count < FM_INSTRUCTION_ACCESSES_MAX && next + count < thread->kept_count &&
		       thread->kept[next + count].index == thread->fed)
			count++;
		if (thread->fed_in_part) {
			part = *instruction;
			part.continues = 1;
		}
		execute(thread, thread->fed_in_part ? &part : instruction, &thread->kept[next], count);
		thread->fed_in_part = true;
		next += count;
	}
	return next - first;
}

/* All instructions before that of this number. Their accesses come in program order. */
static void feed(struct fm_engine_thread *thread, unsigned until)
{
	uint64_t at = thread->block->address;
	unsigned next = 0;

	for (unsigned i = 0; i < thread->fed; i++)
		at += thread->block->decoded[i].length;
	for (; thread->fed < until; thread->fed++) {
		const struct fm_decoded *decoded = &thread->block->decoded[thread->fed];

		if (!thread->fed_in_part)
			fm_core_fetch(thread->timing, at, decoded->length);
		at += decoded->length;
		next += feed_one(thread, next);
		thread->fed_in_part = false;
	}
	thread->kept_count -= next;
	if (thread->kept_count)
		memmove(thread->kept, thread->kept + next, thread->kept_count * sizeof(thread->kept[0]));
}

static void on_access_timed(unsigned vcpu, qemu_plugin_meminfo_t information, uint64_t address, void *data)
{
	const struct translated_site *where = data;
	struct fm_engine_thread *thread = fm_engine_self();
	struct fm_engine_access *kept;

	(void)vcpu;
	if (!thread || !thread->tracing || !thread->block || is_piece(thread, where, address))
		return;
	if (__builtin_expect(thread->kept_count == FM_ENGINE_KEPT_MAX, 0)) {
		feed(thread, where->index);
		if (thread->kept_count == FM_ENGINE_KEPT_MAX)
			feed_one(thread, 0);
		if (thread->kept_count == FM_ENGINE_KEPT_MAX)
			thread->kept_count = 0;
	}
	kept = &thread->kept[thread->kept_count++];
	kept->access.address = address;
	kept->access.bytes = (uint8_t)whole_access(thread, where, address, access_bytes(information));
	kept->access.access = (uint8_t)access_kind(where, information);
	kept->index = where->index;
	kept->site = where->site;
	kept->sample = fm_engine.every ? fm_samples_next(thread, where->site, address, kept->access.bytes,
	                                                 sample_kind(kept->access.access))
	                               : NULL;
}

/* A call or a return. Its own access still belongs to the frame that it leaves behind. */

static inline void follow_call(uint64_t slot, const struct translated_site *where)
{
	if (fm_frames)
		fm_frames_call(fm_frames, slot, where->returns_to);
	fm_functions_pass(slot);
}

static inline void follow_return(uint64_t slot)
{
	if (fm_frames)
		fm_frames_return(fm_frames, slot);
	fm_functions_pass(slot);
}

static void on_call(unsigned vcpu, qemu_plugin_meminfo_t information, uint64_t address, void *data)
{
	const struct translated_site *where = data;

	(void)vcpu;
	if (!access_is_store(information)) { /* of where it goes */
		access_sampled(where->site, address, access_bytes(information), FM_ACCESS_LOAD);
		return;
	}
	access_sampled(where->site, address, access_bytes(information), FM_ACCESS_STORE);
	follow_call(address, where);
}

static void on_return(unsigned vcpu, qemu_plugin_meminfo_t information, uint64_t address, void *data)
{
	const struct translated_site *where = data;

	(void)vcpu;
	access_sampled(where->site, address, access_bytes(information), FM_ACCESS_LOAD);
	follow_return(address);
}

/* Where the access itself is none of the program's. */
static void on_own_transfer(unsigned vcpu, qemu_plugin_meminfo_t information, uint64_t address, void *data)
{
	const struct translated_site *where = data;

	(void)vcpu;
	if (where->returns)
		follow_return(address);
	else if (access_is_store(information))
		follow_call(address, where);
}

static void on_transfer_timed(unsigned vcpu, qemu_plugin_meminfo_t information, uint64_t address, void *data)
{
	on_access_timed(vcpu, information, address, data);
	on_own_transfer(vcpu, information, address, data);
}

static void on_element_timed(unsigned vcpu, qemu_plugin_meminfo_t information, uint64_t address, void *data)
{
	const struct translated_site *where = data;
	struct fm_engine_thread *thread = fm_engine_self();

	(void)vcpu;
	if (!thread || !thread->block ||
	    fm_gather(thread, thread->gathered, where->site, address, access_is_store(information)) ||
	    !(thread->gathers || begin_gathering(thread)))
		return;
	/* what comes before it in its block; later elements come in a block of their own */
	if (thread->began != where->site) {
		feed(thread, where->index);
		thread->began = where->site;
		thread->repeated = &thread->block->decoded[where->index];
	}
	fm_gather_slowly(thread, where->site, address, access_bytes(information), access_is_store(information));
}

static void note_time(struct fm_engine_thread *thread)
{
	thread->clock = fm_core_now(thread->timing);
	if (++thread->flushes % 64 == 0)
		publish_timing(thread);
}

/* A line's part of a repeated instruction. */
static void execute_part(struct fm_engine_thread *thread, const struct fm_engine_access *gathered)
{
	const struct fm_instruction part = fm_instruction_part(&thread->repeated->instruction, !thread->fed_in_part,
	                                                       gathered->access.access != FM_ACCESS_LOAD);

	thread->fed_in_part = true;
	execute(thread, &part, gathered, 1);
	note_time(thread);
}

void fm_engine_gathered(struct fm_engine_thread *thread, struct fm_result_site *site, uint64_t address, unsigned bytes,
                        bool store)
{
	enum fm_access access = !store                                                    ? FM_ACCESS_LOAD
	                        : bytes == 1u << fm_engine.account->hierarchy->line_shift ? FM_ACCESS_STORE_WHOLE
	                                                                                  : FM_ACCESS_STORE;
	struct fm_queue *queue = fm_queue_active();
	struct fm_stream_sample *sample =
	    fm_engine.every ? fm_samples_next(thread, site, address, bytes, sample_kind(access) | FM_STREAM_REPEATED)
	                    : NULL;

	if (thread->timing)
		execute_part(thread, &(struct fm_engine_access){
		                         .access = {.address = address, .bytes = (uint8_t)bytes, .access = access},
		                         .site = site,
		                         .sample = sample});
	else if (queue && sample)
		fm_queue_push_sample(queue, site, address, bytes, access, sample);
	else if (queue)
		fm_queue_push(queue, site, address, bytes, access);
	else if (sample)
		simulate_sample(&thread->side, site, address, bytes, access, sample);
	else if (access == FM_ACCESS_STORE_WHOLE || !count_hit(thread->core, site, address, bytes, store))
		fm_account_slowly(&thread->side, site, address, bytes, access);
}

/* The block that was executed is complete. */
static void flush_block(struct fm_engine_thread *thread)
{
	end_gathering(thread);
	if (thread->block && thread->timing) {
		if (thread->core)
			thread->core->moment = thread->clock;
		feed(thread, thread->block->count);
		note_time(thread);
	}
	thread->block = NULL;
	thread->began = NULL;
	thread->kept_count = thread->fed = 0;
	thread->fed_in_part = false;
}

void fm_engine_settle(struct fm_engine_thread *thread)
{
	flush_block(thread);
	fm_queue_drain();
	publish_timing(thread);
}

void fm_engine_drain(struct fm_engine_thread *thread)
{
	flush_block(thread);
	fm_queue_drain();
	if (thread->timing)
		fm_core_drain(thread->timing);
	publish_timing(thread);
}

/* Blocks */

static void on_window(struct fm_engine_thread *thread)
{
	uint64_t at = thread->record->work.instructions;

	if (fm_engine.window_end && !fm_engine.region_only[0])
		fm_engine_trace(thread, at >= fm_engine.window_begin && at < fm_engine.window_end);
}

/* A block's work fits into the pointer that its callback gets: QEMU puts at most 512 instructions into a block, and one
   does at most 32 operations. */
enum { COUNT_BITS = 10, FLOP_BITS = 15, COUNT_MASK = (1 << COUNT_BITS) - 1 };

static void *pack(const struct fm_work *work)
{
	return (void *)(uintptr_t)(work->instructions | work->vector_calculations << COUNT_BITS |
	                           work->vector_inserts << 2 * COUNT_BITS | work->divisions << 3 * COUNT_BITS |
	                           work->flops << 4 * COUNT_BITS);
}

static inline uint64_t packed_instructions(const void *data)
{
	return (uintptr_t)data & COUNT_MASK;
}

static inline bool is_more_than_instructions(const void *data)
{
	return (uintptr_t)data >> COUNT_BITS;
}

static void add_packed(struct fm_work *work, const void *data)
{
	uint64_t packed = (uintptr_t)data;

	work->vector_calculations += packed >> COUNT_BITS & COUNT_MASK;
	work->vector_inserts += packed >> 2 * COUNT_BITS & COUNT_MASK;
	work->divisions += packed >> 3 * COUNT_BITS & COUNT_MASK;
	work->flops += packed >> 4 * COUNT_BITS;
}

static __attribute__((noinline)) void end_gathering_or_yield(struct fm_engine_thread *thread)
{
	end_gathering(thread);
	if (!fm_tracing_queue && thread->record->work.instructions + thread->side.delay > thread->limit)
		fm_turns_yield(thread);
}

static void on_block(unsigned vcpu, void *data)
{
	struct fm_engine_thread *thread = fm_engine_self();
	uint64_t instructions;

	(void)vcpu;
	if (__builtin_expect(!thread, 0))
		return;
	instructions = thread->record->work.instructions + packed_instructions(data);
	thread->record->work.instructions = instructions;
	if (is_more_than_instructions(data))
		add_packed(&thread->record->work, data);
	/* a single thread has no turns */
	if (!fm_tracing_queue &&
	    __builtin_expect(thread->gathers || instructions + thread->side.delay > thread->limit, 0))
		end_gathering_or_yield(thread);
}

/* QEMU enters the block of a repeated instruction for each of its elements. It is one instruction all the same: unless
   others were executed in between, or it is not the first of the block, this is the one that was counted. */
static inline bool goes_on(struct fm_engine_thread *thread, const struct ending *ending)
{
	return ending->alone && thread->repeats == ending->site &&
	       thread->repeats_since == thread->record->work.instructions;
}

static void note_repeated(struct fm_engine_thread *thread, const struct ending *ending)
{
	thread->repeats = ending->site;
	thread->repeats_since = thread->record->work.instructions;
}

static __attribute__((noinline)) void block_repeated_slowly(unsigned vcpu, const struct ending *ending)
{
	struct fm_engine_thread *thread = fm_engine_self();

	if (!thread)
		return;
	if (goes_on(thread, ending)) {
		/* any other event ends the gathering, and a single thread has no turns */
		if (thread->gathers && fm_queue_active())
			thread->goes_on_in = ending;
		else if (!fm_queue_active() && thread->repeats_since + thread->side.delay > thread->limit)
			end_gathering_or_yield(thread);
		return;
	}
	on_block(vcpu, ending->work);
	if (fm_engine.window_end)
		on_window(thread);
	note_repeated(thread, ending);
}

static void on_block_repeated(unsigned vcpu, void *data)
{
	if (__builtin_expect(!fm_self || fm_self->goes_on_in != data, 0))
		block_repeated_slowly(vcpu, data);
}

static void on_block_window(unsigned vcpu, void *data)
{
	on_block(vcpu, data);
	if (fm_self)
		on_window(fm_self);
}

/* Where the last instruction of a block went, if it was a branch. */
static void note_branch(struct fm_engine_thread *thread, const struct block *block, uint64_t target)
{
	const struct fm_decoded *last = block->count ? &block->decoded[block->count - 1] : NULL;

	if (last && last->instruction.branch)
		fm_core_branch(thread->timing, (enum fm_branch_kind)last->instruction.branch, block->last, last->length,
		               target);
}

static void on_block_timed(unsigned vcpu, void *data)
{
	struct fm_engine_thread *thread = fm_engine_self();
	const struct block *block = data;

	(void)vcpu;
	if (!thread)
		return;
	if (goes_on(thread, &block->ending)) {
		if (thread->clock > thread->limit) {
			end_gathering(thread);
			fm_turns_yield(thread);
		}
		return;
	}
	if (thread->block && thread->timing) {
		const struct block *left = thread->block;

		flush_block(thread);
		note_branch(thread, left, block->address);
	} else {
		flush_block(thread);
	}
	fm_work_add(&thread->record->work, &block->work);
	on_window(thread);
	thread->block = thread->tracing ? block : NULL;
	if (block->ending.site)
		note_repeated(thread, &block->ending);
	if (thread->clock > thread->limit)
		fm_turns_yield(thread);
}

static unsigned whole_bytes(const struct fm_decoded *decoded)
{
	return decoded->single && decoded->operand_bytes > 8 && decoded->operand_bytes <= 64 &&
	               decoded->operand_bytes % 8 == 0
	           ? decoded->operand_bytes
	           : 0;
}

/* A call or a return. */
static bool follow(struct qemu_plugin_insn *instruction, const struct fm_decoded *decoded, unsigned index, bool own)
{
	struct translated_site *where = calloc(1, sizeof(*where));

	if (!where)
		return false;
	where->site = own ? NULL : fm_places_find(fm_engine.account, qemu_plugin_insn_vaddr(instruction));
	where->index = index;
	where->returns = decoded->returns;
	where->returns_to = qemu_plugin_insn_vaddr(instruction) + decoded->length;
	qemu_plugin_register_vcpu_mem_cb(instruction,
	                                 own                ? on_own_transfer
	                                 : fm_engine.timing ? on_transfer_timed
	                                 : decoded->returns ? on_return
	                                                    : on_call,
	                                 QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, where);
	return true;
}

static bool watch(struct qemu_plugin_insn *instruction, const struct fm_decoded *decoded, unsigned index)
{
	struct fm_result_site *site = fm_places_find(fm_engine.account, qemu_plugin_insn_vaddr(instruction));
	struct translated_site *where;
	unsigned whole = whole_bytes(decoded);

	if (decoded->writes &&
	    fm_is_locked(qemu_plugin_insn_data(instruction), (unsigned)qemu_plugin_insn_size(instruction)))
		fm_places_of(fm_engine.account, site)->locked = 1;
	if (fm_engine.follows && (decoded->calls || decoded->returns))
		return follow(instruction, decoded, index, false);
	if (!fm_engine.timing && decoded->repeated) {
		qemu_plugin_register_vcpu_mem_cb(instruction, on_element, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
		                                 site);
		return true;
	}
	/* QEMU 7.2 takes no notice when a callback asks for loads or stores only: ask for both, and know better */
	if (!fm_engine.timing && !whole && !decoded->nontemporal && decoded->reads != decoded->writes) {
		qemu_plugin_register_vcpu_mem_cb(instruction,
		                                 !fm_engine.every ? (decoded->reads ? on_load : on_store)
		                                 : decoded->reads ? on_load_sampled
		                                                  : on_store_sampled,
		                                 QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, site);
		return true;
	}
	where = calloc(1, sizeof(*where));
	if (!where)
		return false;
	where->site = site;
	where->index = index;
	where->whole = (uint8_t)whole;
	where->nontemporal = decoded->nontemporal;
	qemu_plugin_register_vcpu_mem_cb(instruction,
	                                 decoded->repeated  ? on_element_timed
	                                 : fm_engine.timing ? on_access_timed
	                                 : fm_engine.every  ? on_any_sampled
	                                                    : on_any,
	                                 QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, where);
	return true;
}

static bool decode(struct qemu_plugin_insn *instruction, struct fm_decoded *ret_decoded)
{
	unsigned char bytes[FM_INSTRUCTION_BYTES_MAX];
	size_t count;

	if (fm_decode(qemu_plugin_insn_data(instruction), (unsigned)qemu_plugin_insn_size(instruction), ret_decoded))
		return true;
	/* of an instruction that crosses a page QEMU 7.2 has only the part before */
	count = fm_guest_copy(bytes, sizeof(bytes), qemu_plugin_insn_vaddr(instruction));
	return count && fm_decode(bytes, (unsigned)count, ret_decoded);
}

/* QEMU 7.2 ends a block before an x86 instruction that reaches into the next page, but has reported it by then: it
   comes again as the first of its own block. */
static bool is_left_for_the_next_block(struct qemu_plugin_tb *translated, size_t index,
                                       const struct fm_decoded *decoded)
{
	enum { PAGE_SHIFT = 12 };
	uint64_t first = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(translated, 0)),
	         last = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(translated, index)) + decoded->length - 1;

	return index > 0 && first >> PAGE_SHIFT != last >> PAGE_SHIFT;
}

static void register_block(struct qemu_plugin_tb *translated, struct block *block, const struct fm_work *work,
                           const struct ending *ending)
{
	struct ending *kept;

	if (block) {
		block->work = *work;
		block->ending = *ending;
		qemu_plugin_register_vcpu_tb_exec_cb(translated, on_block_timed, QEMU_PLUGIN_CB_NO_REGS, block);
		return;
	}
	kept = ending->site ? malloc(sizeof(*kept)) : NULL;
	if (kept) {
		*kept = *ending;
		kept->work = pack(work);
		qemu_plugin_register_vcpu_tb_exec_cb(translated, on_block_repeated, QEMU_PLUGIN_CB_NO_REGS, kept);
		return;
	}
	qemu_plugin_register_vcpu_tb_exec_cb(translated, fm_engine.window_end ? on_block_window : on_block,
	                                     QEMU_PLUGIN_CB_NO_REGS, pack(work));
}

static void on_function(unsigned vcpu, void *data)
{
	(void)vcpu, (void)data;
	if (fm_engine_self())
		fm_function_enter();
}

/* Code of Fathom's own library in the program: neither its instructions nor its accesses are the program's. */
static void translate_own(struct qemu_plugin_tb *translated, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(translated, i);
		struct fm_decoded decoded = {0};

		if (!decode(instruction, &decoded))
			continue;
		if (is_left_for_the_next_block(translated, i, &decoded))
			break;
		if (decoded.calls || decoded.returns)
			follow(instruction, &decoded, (unsigned)i, true);
	}
}

/* QEMU translates under a lock of its own, so this runs one at a time. */
void fm_engine_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *translated)
{
	size_t count = qemu_plugin_tb_n_insns(translated);
	struct block *block = NULL;
	struct fm_work work = {0};
	struct ending ending = {0};

	(void)id;
	if (!count)
		return;
	/* not known yet when the plugin is installed */
	if (!fm_engine.account->results->program[0]) {
		fm_places_note_program(fm_engine.account, qemu_plugin_path_to_binary());
		fm_samples_program(fm_engine.account->results->program);
	}
	fm_places_note_module(fm_engine.account, qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(translated, 0)));
	if (fm_mappings_is_own(qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(translated, 0)))) {
		translate_own(translated, count);
		return;
	}
	if (fm_engine.timing) {
		block = calloc(1, sizeof(*block) + count * sizeof(block->decoded[0]));
		if (!block)
			return;
		block->count = (unsigned)count;
		block->address = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(translated, 0));
	}
	for (size_t i = 0; i < count; i++) {
		struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(translated, i);
		struct fm_decoded decoded = {0};
		bool known = fm_engine.x86 && decode(instruction, &decoded);

		if (known && is_left_for_the_next_block(translated, i, &decoded)) {
			if (block)
				block->count = (unsigned)i;
			break;
		}
		decoded.work.instructions = 1;
		fm_work_add(&work, &decoded.work);
		if (block) {
			block->decoded[i] = decoded;
			block->last = qemu_plugin_insn_vaddr(instruction);
		}
		/* of the last one */
		ending.site =
		    decoded.repeated ? fm_places_find(fm_engine.account, qemu_plugin_insn_vaddr(instruction)) : NULL;
		ending.alone = i == 0;
		if (known && !decoded.operand_bytes)
			continue;
		if (!watch(instruction, &decoded, (unsigned)i))
			break;
	}
	/* before the block is counted */
	if (fm_functions_begin_at(qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(translated, 0))))
		qemu_plugin_register_vcpu_tb_exec_cb(translated, on_function, QEMU_PLUGIN_CB_NO_REGS, NULL);
	register_block(translated, block, &work, &ending);
}
