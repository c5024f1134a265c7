#include <math.h>
#include <string.h>

#include "translate/translate.h"
#include "simulator/array.h"
#include "simulator/wide.h"
#include "engine/account/decode.h"
#include "engine/account/x86_64/locked.h"
#include "engine/account/places.h"
#include "engine/trace/curve.h"
#include "engine/trace/long_string.h"
#include "engine/trace/state.h"
#include "engine/trace/string_class.h"
#include "engine/trace/tuning.h"

/* The loop counts in one number: loads, stores, bytes loaded, bytes stored. Its fields limit the accesses of one
   call. */
enum { STORES = 12, LOAD_BYTES = 24, STORE_BYTES = 44, ACCESSES_MAX = (1 << 12) - 1 };

/* Lines of one string instruction between two signs of life: some ten milliseconds. */
enum { BEAT_EVERY = 1 << 13 };

/* Sites are numbered as they come: the table grows with them. Returns how many there are now, this one included. */
static __attribute__((noinline)) uint64_t grow(struct fm_consumer *consumer, uint64_t number)
{
	enum { STEP = 1024 };

	for (; consumer->site_count <= number; consumer->site_count++)
		if (consumer->site_count % STEP == 0)
			for (unsigned i = 0; i < STEP; i++)
				consumer->sites[consumer->site_count + i].site = &consumer->empty;
	consumer->site_count = (consumer->site_count + STEP - 1) / STEP * STEP;
	return consumer->site_count;
}

static void prepare(struct fm_consumer *consumer, uint32_t number)
{
	const struct fm_trace_site *given = &consumer->trace->sites[number];
	struct fm_traced_site *site = &consumer->sites[number];
	struct fm_traced_rest *rest = &consumer->rests[number];
	unsigned line = 1u << consumer->account->hierarchy->line_shift, size = given->size;
	unsigned char bytes[FM_INSTRUCTION_BYTES_MAX];
	struct fm_decoded decoded = {0};
	size_t length;

	rest->seen = true;
	if (!__atomic_load_n(&given->ready, __ATOMIC_ACQUIRE) || !size ||
	    (given->kind & FM_TRANSLATE_REPEATED && size > sizeof(uint64_t)) ||
	    !(given->kind & (FM_TRANSLATE_LOAD | FM_TRANSLATE_STORE)))
		return;
	rest->loads = given->kind & FM_TRANSLATE_LOAD;
	rest->stores = given->kind & FM_TRANSLATE_STORE;
	rest->repeated = given->kind & FM_TRANSLATE_REPEATED;
	rest->apart = given->kind & FM_TRANSLATE_APART;
	rest->size = (uint16_t)size;
	rest->pc = given->pc;
	rest->access = rest->stores ? FM_ACCESS_STORE : FM_ACCESS_LOAD;
	if (rest->stores || rest->repeated) {
		length = fm_code_bytes(consumer->code, rest->pc, bytes, sizeof(bytes));
		if (length && fm_decode(bytes, (unsigned)length, &decoded)) {
			if (rest->stores && decoded.nontemporal)
				rest->access = FM_ACCESS_STORE_NONTEMPORAL;
			rest->locked = rest->stores && fm_is_locked(bytes, (unsigned)length);
			rest->copies = rest->repeated && decoded.reads && decoded.writes;
			rest->may_stop = rest->repeated && !decoded.writes;
		}
	}
	fm_code_note_module(consumer->code, consumer->account, rest->pc);
	rest->site = fm_places_find(consumer->account, rest->pc);
	if (rest->repeated || rest->loads == rest->stores || size > line || size > 64 || rest->access > FM_ACCESS_STORE)
		return;
	site->store = rest->stores;
	site->sum = rest->stores ? 1ull << STORES | (uint64_t)size << STORE_BYTES : 1 | (uint64_t)size << LOAD_BYTES;
	site->last = (uint8_t)(size - 1);
	site->first = FM_LINE_KEY(0) | (rest->stores ? FM_LINE_MODIFIED : 1);
	site->range = rest->stores ? 1 : FM_LINE_PREFETCHED - 1;
	site->site = rest->site;
}

static void access_one(struct fm_consumer *consumer, struct fm_traced_thread *thread, struct fm_result_site *site,
                       uint64_t address, unsigned bytes, enum fm_access access)
{
	struct fm_result_slot *slot = fm_account_likely_slot(site, address);

	if (thread->timed.on)
		fm_timing_access(consumer, thread, site, address, bytes, access);
	else if (consumer->windows)
		fm_window_access(consumer, thread, site, address, bytes, access);
	else if (access > FM_ACCESS_STORE || !fm_account_in_slot(slot, address) ||
	         !fm_hierarchy_hit(thread->side.core, address, bytes, access == FM_ACCESS_STORE)) {
		if (fm_account_slowly(&thread->side, site, address, bytes, access) && consumer->stack)
			fm_traced_curve_touch(consumer, address);
	} else if (access == FM_ACCESS_STORE)
		slot->stores++;
	else
		slot->loads++;
}

/* Longer than a line perhaps. */
static void access_parts(struct fm_consumer *consumer, struct fm_traced_thread *thread,
                         const struct fm_traced_rest *rest, uint64_t address, enum fm_access access)
{
	unsigned line = 1u << consumer->account->hierarchy->line_shift;

	for (unsigned at = 0; at < rest->size; at += line)
		access_one(consumer, thread, rest->site, address + at, rest->size - at < line ? rest->size - at : line,
		           access);
}

/* The next line's part of a repeated instruction. */
static void access_line(struct fm_consumer *consumer, struct fm_traced_thread *thread,
                        struct fm_traced_repeated *repeated, uint64_t *left)
{
	const struct fm_traced_rest *rest = repeated->site;
	unsigned line = 1u << consumer->account->hierarchy->line_shift,
	         room = line - (unsigned)(repeated->address % line);
	unsigned bytes = *left < room ? (unsigned)*left : room;

	if (!bytes)
		return;
	access_one(consumer, thread, rest->site, repeated->address, bytes,
	           !rest->stores   ? FM_ACCESS_LOAD
	           : bytes == line ? FM_ACCESS_STORE_WHOLE
	                           : FM_ACCESS_STORE);
	repeated->address += bytes;
	*left -= bytes;
	thread->string_lines++;
}

int fm_traced_count_repeated(struct fm_consumer *consumer, bool stores, bool copies, uint64_t address, uint64_t bytes)
{
	struct fm_references *repeated = &consumer->repeated;
	unsigned shift = consumer->account->hierarchy->line_shift;
	uint64_t lines;
	int class;

	if (!bytes)
		return FM_STRING_SHORT;
	lines = ((address + bytes - 1) >> shift) - (address >> shift) + 1;
	class = fm_string_class(stores, copies, lines);
	if (class == FM_STRING_SHORT) {
		double logarithm = log((double)lines);

		consumer->short_lines += lines;
		consumer->repeated_logarithm += (double)lines * logarithm;
		consumer->repeated_square += (double)lines * logarithm * logarithm;
	} else if (stores || !copies) { /* of a copy, its stores count for both */
		consumer->string_lines[class] += lines;
	}
	*(stores ? &repeated->stores : &repeated->loads) += lines;
	*(stores ? &repeated->store_bytes : &repeated->load_bytes) += bytes;
	return class;
}

/* Entries are released in batches, and some take long: a waiting writer must not give up. */
static void beat(struct fm_consumer *consumer)
{
	uint64_t *beats = &consumer->trace->head.beats;

	__atomic_store_n(beats, *beats + 1, __ATOMIC_RELAXED);
}

static void follow_only(struct fm_consumer *consumer, struct fm_traced_thread *thread,
                        const struct fm_traced_repeated *repeated, uint64_t bytes)
{
	if (consumer->followed && !thread->unfollowed)
		fm_followed_range(consumer->followed, thread, repeated->site->site, repeated->address, bytes,
		                  repeated->site->stores);
}

/* Skips lines that a sample of the same instruction represents. Followed lines among them are still followed. */
static void pass_lines(struct fm_consumer *consumer, struct fm_traced_thread *thread,
                       struct fm_traced_repeated *repeated, uint64_t lines, uint64_t *left)
{
	const struct fm_traced_rest *rest = repeated->site;
	uint64_t bytes = lines << consumer->account->hierarchy->line_shift;
	struct fm_result_slot *slot = fm_account_find_slot(thread->side.account, rest->site, repeated->address);

	if (thread->window.warm && thread->counts)
		*(rest->stores ? &slot->stores : &slot->loads) += lines;
	thread->string_lines += lines;
	follow_only(consumer, thread, repeated, bytes);
	repeated->address += bytes;
	*left -= bytes;
}

/* A program that does nothing but clear what its second cache holds moves millions of lines in one window: a part of
   them is enough, and the rest is neither simulated nor counted in it, as if the window were over. Totals do not
   change: windows are weighed by the lines that they have seen (windows/totals.h). What is timed is always
   simulated. */
static bool has_enough(const struct fm_consumer *consumer, const struct fm_traced_thread *thread)
{
	return consumer->windows && !thread->timed.on &&
	       (thread->window.is_closed || thread->string_lines - thread->window.string_lines >
	                                        (thread->window.warm ? STRING_LINES_ENOUGH : STRING_LINES_WARM));
}

static uint64_t bytes_of(const struct fm_traced_repeated *repeated)
{
	const uint64_t most = REPEATED_BYTES_MOST;

	return repeated->count > most / repeated->site->size ? most : repeated->count * repeated->site->size;
}

/* One stream, or two at a time. */
static void feed_repeated(struct fm_consumer *consumer, struct fm_traced_thread *thread,
                          struct fm_traced_repeated *first, struct fm_traced_repeated *second)
{
	unsigned line = 1u << consumer->account->hierarchy->line_shift;
	uint64_t left = bytes_of(first), other = second ? bytes_of(second) : 0, lines = 0, passed;
	struct fm_long_string sample;
	int class;

	/* the place at which it found its value is unknown */
	if (first->site->may_stop && left > line - first->address % line)
		left = line - first->address % line;
	beat(consumer);
	class = fm_traced_count_repeated(consumer, first->site->stores, first->site->copies, first->address, left);
	if (second)
		class = fm_traced_count_repeated(consumer, second->site->stores, second->site->copies, second->address,
		                                 other);
	if (has_enough(consumer, thread)) {
		fm_window_enough(consumer, thread);
		follow_only(consumer, thread, first, left);
		if (second)
			follow_only(consumer, thread, second, other);
		return;
	}
	passed = fm_long_string_passes(consumer, second && other < left ? other : left);
	fm_timing_string_begin(thread);
	while (left || other) {
		access_line(consumer, thread, first, &left);
		if (second)
			access_line(consumer, thread, second, &other);
		if (++lines % BEAT_EVERY == 0)
			beat(consumer);
		if (!passed) {
			fm_timing_string_line(consumer, thread);
			continue;
		}
		if (lines == FM_LONG_STRING_FILLS) {
			fm_timing_string_line(consumer, thread);
			fm_long_string_begin(thread, first->site, second ? second->site : NULL, &sample);
		}
		if (lines == FM_LONG_STRING_FILLS + FM_LONG_STRING_SAMPLE) {
			fm_long_string_stand_for(thread, &sample, passed);
			pass_lines(consumer, thread, first, passed, &left);
			if (second)
				pass_lines(consumer, thread, second, passed, &other);
			passed = 0;
		}
	}
	fm_timing_string_end(consumer, thread, class);
}

void fm_traced_feed_rest(struct fm_consumer *consumer, struct fm_traced_thread *thread)
{
	thread->waiting.site = NULL;
	if (thread->held.site)
		feed_repeated(consumer, thread, &thread->held, NULL);
	thread->held.site = NULL;
}

static void on_repeated(struct fm_consumer *consumer, struct fm_traced_thread *thread,
                        const struct fm_traced_rest *rest, uint64_t value)
{
	struct fm_traced_repeated *held = &thread->held;

	if (thread->waiting.site != rest) {
		thread->waiting = (struct fm_traced_repeated){.site = rest, .address = value};
		return;
	}
	thread->waiting.count = value;
	if (held->site && held->site->pc == rest->pc && held->count == value) {
		/* loads before stores */
		if (held->site->stores)
			feed_repeated(consumer, thread, &thread->waiting, held);
		else
			feed_repeated(consumer, thread, held, &thread->waiting);
		held->site = NULL;
	} else {
		struct fm_traced_repeated complete = thread->waiting;

		fm_traced_feed_rest(consumer, thread);
		if (rest->copies)
			*held = complete;
		else
			feed_repeated(consumer, thread, &complete, NULL);
	}
	thread->waiting.site = NULL;
}

/* Whatever the loop does not do itself. */
__attribute__((noinline)) void fm_traced_feed_slowly(struct fm_consumer *consumer, struct fm_traced_thread *thread,
                                                     uint32_t number, uint64_t address)
{
	const struct fm_traced_site *site = &consumer->sites[number];
	const struct fm_traced_rest *rest = &consumer->rests[number];

	if (!rest->site) {
		/* once: what is not ready although it is used never will be */
		if (!rest->seen)
			prepare(consumer, number);
		if (!rest->site) {
			consumer->account->results->lost_accesses++;
			return;
		}
	}
	if (rest->repeated) {
		on_repeated(consumer, thread, rest, address);
		return;
	}
	if (!consumer->windows && site->site != &consumer->empty) {
		if (fm_account_slowly(&thread->side, rest->site, address, rest->size, (enum fm_access)rest->access) &&
		    consumer->stack)
			fm_traced_curve_touch(consumer, address);
		return;
	}
	thread->unfollowed = rest->apart;
	thread->side.core->locked = rest->locked;
	if (rest->loads)
		access_parts(consumer, thread, rest, address, FM_ACCESS_LOAD);
	if (rest->stores)
		access_parts(consumer, thread, rest, address, (enum fm_access)rest->access);
	thread->side.core->locked = false;
	thread->unfollowed = false;
}

/* An access of a plain site to an object that is known. */
static __attribute__((noinline)) void feed_miss(struct fm_consumer *consumer, struct fm_traced_thread *thread,
                                                const struct fm_traced_site *site, struct fm_result_slot *slot,
                                                uint64_t address, enum fm_hit hit)
{
	struct fm_hierarchy *hierarchy = consumer->account->hierarchy;
	unsigned bytes = site->last + 1u;
	int served = -1;

	if (hit == FM_HIT_ABSENT && hierarchy->miss_quickly)
		served = hierarchy->miss_quickly(hierarchy, thread->side.core, address, bytes, site->store);
	if (served >= 0) {
		if (__builtin_expect(consumer->stack != NULL, 0))
			fm_traced_curve_touch(consumer, address);
		fm_account_missed(&thread->side, site->site, slot, address, site->store, (unsigned)served);
	} else if (fm_account_in(&thread->side, site->site, slot, address, bytes,
	                         site->store ? FM_ACCESS_STORE : FM_ACCESS_LOAD) &&
	           consumer->stack) {
		fm_traced_curve_touch(consumer, address);
	}
}

const struct fm_traced_rest *fm_traced_site(struct fm_consumer *consumer, uint32_t number)
{
	const struct fm_traced_rest *rest = &consumer->rests[number];

	if (number >= consumer->site_count)
		grow(consumer, number);
	if (!rest->seen)
		prepare(consumer, number);
	return rest->site ? rest : NULL;
}

const struct fm_work *fm_traced_piece(struct fm_consumer *consumer, uint32_t number)
{
	const struct fm_trace_piece *given = &consumer->trace->pieces[number];
	struct fm_work *work = &consumer->pieces[number];

	if (!work->instructions && __atomic_load_n(&given->ready, __ATOMIC_ACQUIRE))
		*work = fm_code_work(consumer->code, given->pc, given->bytes, given->instructions);
	return work;
}

void fm_traced_settle(struct fm_consumer *consumer, struct fm_traced_thread *thread)
{
	struct fm_work outside = {0}, *sum = thread->counts ? &thread->record->work : &outside;

	for (uint32_t i = 0; i < thread->touched_count; i++) {
		const struct fm_work *work = fm_traced_piece(consumer, thread->touched[i]);
		uint64_t times = thread->pieces[thread->touched[i]];

		fm_work_add_times(sum, work, times);
		thread->pieces[thread->touched[i]] = 0;
		consumer->piece_seen[thread->touched[i]] |= thread->window.warm;
	}
	thread->window.outside += outside.instructions;
	thread->touched_count = 0;
}

static __attribute__((noinline)) void note_piece(struct fm_traced_thread *thread, uint64_t number)
{
	thread->touched[thread->touched_count++] = (uint32_t)number;
}

static inline void pass_piece(struct fm_traced_thread *thread, uint64_t number)
{
	thread->recent[thread->recent_next++ % FM_TRACED_RECENT] = (uint32_t)number;
}

static inline void count_piece(struct fm_traced_thread *thread, uint32_t *pieces, uint64_t number)
{
	pass_piece(thread, number);
	if (__builtin_expect(!pieces[number]++, 0))
		note_piece(thread, number);
}

static void add_sum(struct fm_core_counts *counts, uint64_t sum)
{
	uint64_t loads = sum & ACCESSES_MAX, stores = sum >> STORES & ACCESSES_MAX;

	counts->loads += loads;
	counts->caches[0].load_hits += loads;
	counts->load_bytes += sum >> LOAD_BYTES & ((1u << (STORE_BYTES - LOAD_BYTES)) - 1);
	counts->stores += stores;
	counts->caches[0].store_hits += stores;
	counts->store_bytes += sum >> STORE_BYTES;
}

/* Machines that the loop is compiled for. */
enum shape {
	SHAPE_USUAL,  /* a set of the first cache is 64 bytes, one of the first translation buffer 32, a page 4096: a
	                 set's place is a part of the address */
	SHAPE_TWELVE, /* the same with 12 ways of the first cache */
	SHAPE_SETS,   /* other ways, and larger pages */
	SHAPE_WIDE,   /* the first cache is a usual one, the first translation buffer has many ways */
	SHAPE_WIDE_SETS,
	SHAPE_NONE, /* lines of other sizes than 64 bytes, or no fast path */
};

static enum shape shape_of(const struct fm_fast_view *view)
{
	bool small = view->page_shift == 12;

	if (view->line_shift != 6 || !view->first_mask)
		return SHAPE_NONE;
	if (view->wide)
		return small && view->first_ways == 8 ? SHAPE_WIDE : SHAPE_WIDE_SETS;
	if (!small || view->page_ways != 4)
		return SHAPE_SETS;
	return view->first_ways == 8 ? SHAPE_USUAL : view->first_ways == 12 ? SHAPE_TWELVE : SHAPE_SETS;
}

/* Lines that are followed in windows are looked at one access at a time. */
static inline bool can_be_quick(fm_hierarchy_hit_function *hit_quickly, const bool windows,
                                const struct fm_translate_filter *followed, uint64_t address)
{
	return hit_quickly && !(windows && fm_translate_is_followed(followed, address));
}

/* A miss of all private caches waits for the sets of the last one, which the processor's own caches do not hold all of:
   those of a later entry, most often such a miss too, are asked for now. */
static inline void look_ahead(const struct fm_account *account, const struct fm_simulated_core *core,
                              const struct fm_trace_entry *entry, const struct fm_trace_entry *end)
{
	enum { AHEAD = 12, LINE = 8 /* entries of an array */ };
	const unsigned last = account->cache_count - 1;
	const uint64_t *set;
	uint64_t line;

	if (!core->goes_far || end - entry <= AHEAD || entry[AHEAD].what >= FM_TRACE_SITES)
		return;
	line = entry[AHEAD].address >> 6;
	for (unsigned i = 1; i < last; i++)
		__builtin_prefetch(fm_array_set(core->arrays[i], line));
	/* of the line's pair: a prefetcher wants the other one */
	set = fm_array_set(core->arrays[last], line & ~(uint64_t)1);
	for (unsigned i = 0; i < 2 * core->arrays[last]->stride; i += LINE)
		__builtin_prefetch(set + i);
}

/* Where in the thread's trace a reference is: how far apart those to one line are (fm_line_user). */
static inline void note_position(struct fm_traced_thread *thread, uint64_t index)
{
	thread->side.core->position = thread->read + index;
}

/* The loop over references, with as few instructions as possible: a line's entry is a part of the address. With
   windows, lines must have been touched in this one; until it is `warm`, nothing counts. */
static inline __attribute__((always_inline)) uint64_t
feed_usual(struct fm_consumer *consumer, struct fm_traced_thread *thread, const struct fm_trace_entry *entries,
           uint64_t count, const struct fm_fast_view *view, const enum shape shape, const bool windows, const bool warm)
{
	const struct fm_touched *touched = &consumer->known.cores[thread->side.core->core];
	const struct fm_traced_site *sites = consumer->sites;
	const char *lines = (const char *)view->first_lines, *pages = (const char *)view->page_lines;
	const uint64_t line_mask = view->first_mask << 6, page_mask = view->page_mask << 5;
	const uint64_t line_bytes = view->first_ways * sizeof(uint64_t),
	               page_bytes = view->page_ways * sizeof(uint64_t);
	const bool many = shape == SHAPE_WIDE || shape == SHAPE_WIDE_SETS;
	const unsigned page_shift = shape == SHAPE_SETS || shape == SHAPE_WIDE_SETS ? view->page_shift : 12;
	struct fm_wide *const wide = many ? view->wide->wide : NULL;
	fm_hierarchy_hit_function *const hit_quickly = consumer->account->hierarchy->hit_quickly;
	const struct fm_trace_entry *entry, *end = entries + count;
	const struct fm_translate_filter followed = consumer->filter;
	uint32_t *pieces = thread->pieces;
	uint64_t sum = 0, site_count = consumer->site_count;

	for (entry = entries; entry < end; entry++) {
		uint64_t what = entry->what, address = entry->address, page = address >> page_shift, state, translated;
		const struct fm_wide_place *place = NULL;
		const struct fm_traced_site *site;
		struct fm_result_slot *slot;
		enum fm_hit hit = FM_HIT_DONE;

		if (what >= site_count) {
			if ((what ^ FM_TRACE_PIECE) < FM_TRACE_PIECES) {
				if (warm)
					count_piece(thread, pieces, what ^ FM_TRACE_PIECE);
				else
					pass_piece(thread, what ^ FM_TRACE_PIECE);
				continue;
			}
			if (what >= FM_TRACE_SITES)
				break;
			site_count = grow(consumer, what);
		}
		site = &sites[what];
		slot = site->site->slots;
		if (windows && (!site->range || !fm_is_touched(touched, address >> 6))) {
			note_position(thread, (uint64_t)(entry - entries));
			fm_traced_feed_slowly(consumer, thread, (uint32_t)what, address);
			continue;
		}
		if (warm && __builtin_expect(address - slot->begin >= slot->size, 0)) {
			slot++;
			if (address - slot->begin >= slot->size) {
				note_position(thread, (uint64_t)(entry - entries));
				fm_traced_feed_slowly(consumer, thread, (uint32_t)what, address);
				continue;
			}
		}
		if (shape == SHAPE_USUAL || shape == SHAPE_WIDE)
			memcpy(&state, lines + (address & line_mask), sizeof(state));
		else if (shape == SHAPE_TWELVE)
			memcpy(&state, lines + (address & line_mask) / 2 * 3, sizeof(state));
		else
			memcpy(&state, lines + (address >> 6 & view->first_mask) * line_bytes, sizeof(state));
		if (many) {
			place = &wide->places[fm_wide_index(page)];
			translated = place->entry;
		} else if (shape == SHAPE_SETS) {
			memcpy(&translated, pages + (page & view->page_mask) * page_bytes, sizeof(translated));
		} else {
			memcpy(&translated, pages + (address >> 7 & page_mask), sizeof(translated));
		}
		translated -= page << FM_LINE_BITS;
		/* the line of its last byte: if that is another one, it is not in this set */
		state -= (address + site->last) >> 2 & ~(uint64_t)FM_LINE_FLAGS;
		if (__builtin_expect(state - site->first >= site->range, 0))
			hit = can_be_quick(hit_quickly, windows, &followed, address) && (address & 63) + site->last < 64
			          ? hit_quickly(view, address, site->store)
			          : FM_HIT_OTHER;
		else if (__builtin_expect(translated != (FM_LINE_KEY(0) | FM_LINE_EXCLUSIVE), 0))
			hit = can_be_quick(hit_quickly, windows, &followed, address) &&
			              consumer->account->hierarchy->page_quickly(view, page)
			          ? FM_HIT_DONE
			          : FM_HIT_OTHER;
		if (__builtin_expect(hit != FM_HIT_DONE, 0)) {
			note_position(thread, (uint64_t)(entry - entries));
			if (windows) {
				fm_traced_feed_slowly(consumer, thread, (uint32_t)what, address);
			} else {
				look_ahead(consumer->account, thread->side.core, entry, end);
				feed_miss(consumer, thread, site, slot, address, hit);
			}
			continue;
		}
		if (many)
			fm_wide_use(wide, place->used, page << FM_LINE_BITS | FM_LINE_KEY(0) | FM_LINE_EXCLUSIVE);
		if (warm) {
			sum += site->sum;
			(&slot->loads)[site->store]++;
		}
	}
	add_sum(&thread->side.core->counts, sum);
	return (uint64_t)(entry - entries);
}

/* Any machine. */
static uint64_t feed_plainly(struct fm_consumer *consumer, struct fm_traced_thread *thread,
                             const struct fm_trace_entry *entries, uint64_t count, const struct fm_fast_view *view)
{
	uint64_t sum = 0, i;

	for (i = 0; i < count; i++) {
		uint64_t what = entries[i].what, address = entries[i].address;
		const struct fm_traced_site *site;
		struct fm_result_slot *slot;

		if (what >= consumer->site_count) {
			if ((what ^ FM_TRACE_PIECE) < FM_TRACE_PIECES) {
				count_piece(thread, thread->pieces, what ^ FM_TRACE_PIECE);
				continue;
			}
			if (what >= FM_TRACE_SITES)
				break;
			grow(consumer, what);
		}
		site = &consumer->sites[what];
		slot = fm_account_likely_slot(site->site, address);
		if (!fm_account_in_slot(slot, address) ||
		    !fm_hierarchy_only_counts(view, address, site->last + 1u, site->store)) {
			note_position(thread, i);
			fm_traced_feed_slowly(consumer, thread, (uint32_t)what, address);
			continue;
		}
		sum += site->sum;
		(&slot->loads)[site->store]++;
	}
	add_sum(&thread->side.core->counts, sum);
	return i;
}

/* With windows, or where nothing counts. Windows go on outside of the region that alone is wanted: its code finds there
   what other code has left in the caches. */
static uint64_t feed_carefully(struct fm_consumer *consumer, struct fm_traced_thread *thread,
                               const struct fm_trace_entry *entries, uint64_t count)
{
	uint64_t i;

	for (i = 0; i < count; i++) {
		uint64_t what = entries[i].what;

		if (what < FM_TRACE_SITES) {
			if (what >= consumer->site_count)
				grow(consumer, what);
			if (thread->counts || consumer->windows) {
				note_position(thread, i);
				fm_traced_feed_slowly(consumer, thread, (uint32_t)what, entries[i].address);
			}
		} else if ((what ^ FM_TRACE_PIECE) < FM_TRACE_PIECES) {
			if (consumer->windows ? thread->window.warm : thread->counts)
				count_piece(thread, thread->pieces, what ^ FM_TRACE_PIECE);
			else
				pass_piece(thread, what ^ FM_TRACE_PIECE);
		} else {
			break;
		}
	}
	return i;
}

#define FEED(shape, windows, warm) feed_usual(consumer, thread, entries, count, view, shape, windows, warm)
#define FEED_SHAPE(shape)                                 \
	(!consumer->windows    ? FEED(shape, false, true) \
	 : thread->window.warm ? FEED(shape, true, true)  \
	                       : FEED(shape, true, false))

uint64_t fm_traced_feed(struct fm_consumer *consumer, struct fm_traced_thread *thread,
                        const struct fm_trace_entry *entries, uint64_t count)
{
	const struct fm_fast_view *view = &thread->side.core->view;
	enum shape shape = shape_of(view);

	if (count > ACCESSES_MAX)
		count = ACCESSES_MAX;
	if (thread->counts && consumer->timing && fm_timing_wants(consumer, thread, count))
		return fm_timing_feed(consumer, thread, entries, count);
	if (!thread->counts || (consumer->windows && (shape == SHAPE_NONE || !fm_windows_know(consumer, thread))))
		return feed_carefully(consumer, thread, entries, count);
	switch (shape) {
	case SHAPE_USUAL:
		return FEED_SHAPE(SHAPE_USUAL);
	case SHAPE_TWELVE:
		return FEED_SHAPE(SHAPE_TWELVE);
	case SHAPE_SETS:
		return FEED_SHAPE(SHAPE_SETS);
	case SHAPE_WIDE:
		return FEED_SHAPE(SHAPE_WIDE);
	case SHAPE_WIDE_SETS:
		return FEED_SHAPE(SHAPE_WIDE_SETS);
	case SHAPE_NONE:
		break;
	}
	return feed_plainly(consumer, thread, entries, count, view);
}
