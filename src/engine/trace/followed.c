#include "engine/trace/followed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/account/room.h"
#include "simulator/array.h"
#include "simulator/numbers.h"
#include "engine/trace/known.h"
#include "engine/trace/line_curves.h"
#include "engine/trace/pace.h"
#include "engine/trace/state.h"
#include "engine/trace/tuning.h"
#include "translate/translate.h"

enum {
	SHARE_BITS = 5, /* FM_FOLLOWED_SHARE */
	LINE_SHIFT = 6,
	PAIR_SHIFT = 7, /* what the translator's filter chooses */
	LEAST_BITS = 7,
	MOST_BITS = 11,
	LEAST_SEEN = 1 << 12,
	MOST_SEEN = 1 << 26, /* places: 512 MiB, for a program that touches 64 GiB */
};

_Static_assert(1 << SHARE_BITS == FM_FOLLOWED_SHARE && 1 << (MOST_BITS - SHARE_BITS) <= FM_RESULT_GROUPS_MAX,
               "groups have room");

struct fm_followed {
	struct fm_hierarchy *hierarchy;
	struct fm_translate_filter filter;
	unsigned bits; /* of a pair's number by which it is chosen */
	bool scattered;
	struct fm_result_group groups[FM_RESULT_GROUPS_MAX];
	struct fm_result_group outside;                        /* of the region that alone is wanted */
	uint64_t *seen, seen_mask, seen_count;                 /* lines that were ever touched, plus one */
	struct fm_result_group latest[FM_SIMULATED_CORES_MAX]; /* numbers of each core when they were last looked at */
	struct fm_line_curves *curves;                         /* NULL: not wanted */
	uint64_t passed;           /* ticks: the end of the latest stretch that was passed on */
	double slower;             /* time of the program outside of windows, in native run times */
	unsigned passes_since;     /* that was last looked at */
	uint64_t phase;            /* latest phase after a native rest; 0: none */
	struct fm_touched touched; /* lines that the last cache was asked for in this phase */
	struct fm_filled filled;
};

/* The bits of a line's number that give its set in the second cache, and its group in those below. */
static unsigned index_bits(const struct fm_machine_description *description)
{
	const struct fm_cache_description *cache =
	    &description->caches[description->cache_count > 1 ? 1 : description->cache_count - 1];
	uint64_t sets = cache->bytes / description->line_bytes / cache->ways;
	unsigned bits = description->physical ? MOST_BITS : (unsigned)__builtin_ctzll(sets / 2 | 1ull << MOST_BITS);

	return bits > MOST_BITS ? MOST_BITS : bits;
}

bool fm_followed_choose(const struct fm_machine_description *description, uint64_t random,
                        struct fm_trace_session *session)
{
	unsigned bits = index_bits(description);

	if (description->line_bytes != 1u << LINE_SHIFT || bits < LEAST_BITS)
		return false;
	/* any odd number permutes the values of these bits; the offset decides which come first */
	session->line_multiplier = ((uint32_t)random | 1) << (32 - PAIR_SHIFT - bits);
	session->line_limit = 1u << (32 - SHARE_BITS);
	session->line_offset = (uint32_t)(random >> 32 & ((1u << bits) - 1)) << PAIR_SHIFT;
	return true;
}

/* The last cache is indexed by a hash of all of the address: there is no set that followed lines do not use. */
static void shrink(struct fm_cache_description *cache, unsigned line_bytes)
{
	uint64_t sets = cache->bytes / line_bytes / cache->ways / FM_FOLLOWED_SHARE;

	cache->bytes = (sets ? sets : 1) * cache->ways * line_bytes;
	cache->available /= FM_FOLLOWED_SHARE;
}

int fm_followed_create(const struct fm_machine_description *description, const struct fm_trace_session *session,
                       struct fm_followed **ret_lines, struct fm_error *error)
{
	struct fm_machine_description own = *description;
	struct fm_followed *lines;
	int r;

	*ret_lines = NULL;
	if (!session->line_limit)
		return 0;
	lines = calloc(1, sizeof(*lines));
	if (!lines)
		return fm_error_set(error, ENOMEM, "out of memory");
	own.tlb_count = 0;
	if (own.physical && own.cache_count > 2)
		shrink(&own.caches[own.cache_count - 1], own.line_bytes);
	for (unsigned i = 0; i < own.cache_count; i++)
		own.caches[i].streams = own.caches[i].next = 0;
	lines->bits = index_bits(description);
	lines->scattered = description->physical;
	lines->filter =
	    (struct fm_translate_filter){session->line_multiplier, session->line_limit, session->line_offset};
	r = fm_hierarchy_create(&own, &lines->hierarchy, error);
	if (r) {
		free(lines);
		return r;
	}
	*ret_lines = lines;
	return 0;
}

void fm_followed_destroy(struct fm_followed *lines)
{
	if (!lines)
		return;
	fm_hierarchy_destroy(lines->hierarchy);
	fm_line_curves_destroy(lines->curves);
	free(lines->seen);
	free(lines->touched.lines);
	free(lines->filled.sets);
	free(lines);
}

int fm_followed_keep_distances(struct fm_followed *lines)
{
	lines->curves = fm_line_curves_create();
	return lines->curves ? 0 : -ENOMEM;
}

static unsigned group_of(const struct fm_followed *lines, uint64_t address)
{
	uint32_t hash = (((uint32_t)address + lines->filter.offset) & ~127u) * lines->filter.multiplier;

	return (hash >> (32 - lines->bits)) % FM_RESULT_GROUPS_MAX;
}

/* Where the line lies in the second hierarchy, so that it uses one set of 64 of each cache: for the lowest bits that
   were chosen by, the number of the group, in sets whose number is a multiple of 64. A page of its own where pages lie
   at random. */
static uint64_t place_of(const struct fm_followed *lines, uint64_t address, unsigned group)
{
	uint64_t pair = address >> PAIR_SHIFT, line = address >> LINE_SHIFT & 1;

	pair =
	    lines->scattered ? pair << SHARE_BITS : pair >> lines->bits << lines->bits | (uint64_t)group << SHARE_BITS;
	return (pair << 1 | line) << LINE_SHIFT;
}

/* The growth of a number since the last look. */
static inline uint64_t grow(uint64_t *latest, uint64_t now, uint64_t *group, uint64_t *window)
{
	uint64_t more = now - *latest;

	if (more) {
		*latest = now;
		*group += more;
		if (window)
			*window += more;
	}
	return more;
}

/* Adds the core's counts since the last look. Returns the caches that lines came into, one bit each. */
static unsigned add_moved(const struct fm_followed *lines, const struct fm_simulated_core *core,
                          struct fm_result_group *latest, struct fm_result_group *group, struct fm_result_group *window)
{
	const struct fm_core_counts *counts = &core->counts;
	unsigned into = 0;

	grow(&latest->memory_reads, counts->memory_reads, &group->memory_reads, window ? &window->memory_reads : NULL);
	grow(&latest->memory_writes, counts->memory_writes, &group->memory_writes,
	     window ? &window->memory_writes : NULL);
	for (unsigned i = 0; i < lines->hierarchy->description.cache_count; i++) {
		const struct fm_cache_counts *cache = &counts->caches[i];

		if (grow(&latest->brought[i], cache->lines_demand + cache->lines_ownership + cache->lines_prefetch,
		         &group->brought[i], window ? &window->brought[i] : NULL))
			into |= 1u << i;
		grow(&latest->owned[i], cache->lines_ownership + cache->lines_prefetch_ownership, &group->owned[i],
		     window ? &window->owned[i] : NULL);
		grow(&latest->written[i], cache->lines_written, &group->written[i],
		     window ? &window->written[i] : NULL);
	}
	return into;
}

/* Was it touched before? Without room for more, every line was. */
static bool is_new(struct fm_followed *lines, uint64_t line)
{
	uint64_t room = lines->seen ? lines->seen_mask + 1 : 0, at;

	if (2 * lines->seen_count >= room) {
		uint64_t larger = room ? 2 * room : LEAST_SEEN, *before = lines->seen,
		         *seen = larger <= MOST_SEEN ? calloc(larger, sizeof(*seen)) : NULL;

		if (seen) {
			lines->seen = seen;
			lines->seen_mask = larger - 1;
			for (uint64_t i = 0; i < room; i++)
				if (before[i]) {
					at = before[i] * 0x9e3779b97f4a7c15u >> 20 & lines->seen_mask;
					while (seen[at])
						at = (at + 1) & lines->seen_mask;
					seen[at] = before[i];
				}
			free(before);
		} else if (lines->seen_count + 1 >= room) {
			return false;
		}
	}
	line++; /* 0 is empty */
	at = line * 0x9e3779b97f4a7c15u >> 20 & lines->seen_mask;
	for (; lines->seen[at]; at = (at + 1) & lines->seen_mask)
		if (lines->seen[at] == line)
			return false;
	lines->seen[at] = line;
	lines->seen_count++;
	return true;
}

/* Lines that came into the first cache or left it: where none did, nothing happened further down either. */
static uint64_t moved_of(const struct fm_simulated_core *core)
{
	const struct fm_cache_counts *first = &core->counts.caches[0];

	return first->lines_demand + first->lines_ownership + first->lines_prefetch + first->lines_written;
}

void fm_followed_rested(struct fm_followed *lines, uint64_t phase)
{
	if (phase <= lines->phase)
		return;
	lines->phase = phase;
	fm_touched_forget(&lines->touched);
}

/* True if the outcome of a request of the last cache is unknown: the first one for its line since a native rest, in a
   set that may still hold older lines. */
static bool is_unknown(struct fm_followed *lines, const struct fm_simulated_core *core, uint64_t line)
{
	const struct fm_array *array = core->arrays[lines->hierarchy->description.cache_count - 1];

	if (!lines->phase)
		return false;
	if (!lines->filled.sets) {
		lines->filled.sets = calloc(array->sets, sizeof(*lines->filled.sets));
		lines->filled.array = array;
	}
	if (!fm_touched_add(&lines->touched, line))
		return false;
	/* several last caches: their sets are not distinguished */
	return !lines->filled.sets || array != lines->filled.array ||
	       !fm_filled_add(&lines->filled, lines->phase, line);
}

unsigned fm_followed_access(struct fm_followed *lines, struct fm_traced_thread *thread,
                            const struct fm_result_site *site, uint64_t address, bool store)
{
	struct fm_simulated_core *core = fm_hierarchy_core(lines->hierarchy, thread->side.core->index);
	unsigned group = group_of(lines, address);
	struct fm_result_group *own = thread->counts ? &lines->groups[group] : &lines->outside,
	                       *window = thread->window.warm && thread->counts ? &thread->window.followed : NULL;
	unsigned into, last = lines->hierarchy->description.cache_count - 1;
	uint64_t moved;

	if (lines->curves)
		fm_line_curves_touch(lines->curves, thread, group, address, site);
	if (!core)
		return 0;
	moved = moved_of(core);
	fm_hierarchy_access(lines->hierarchy, core, place_of(lines, address, group), 1,
	                    store ? FM_ACCESS_STORE : FM_ACCESS_LOAD);
	if (moved == moved_of(core)) {
		own->accesses++;
		if (window)
			window->accesses++;
		return 0;
	}
	into = add_moved(lines, core, &lines->latest[core->index], own, window);
	if (!last || into >> (last - 1) & 1) {
		if (is_unknown(lines, core, place_of(lines, address, group) >> LINE_SHIFT)) {
			*(into >> last & 1 ? &own->unknown_misses : &own->unknown_hits) += 1;
			into |= FM_FOLLOWED_UNKNOWN;
		}
	}
	own->accesses++;
	/* what hits the first caches was there before */
	if (into & 1 && is_new(lines, address >> LINE_SHIFT)) {
		own->cold++;
		if (window)
			window->cold++;
	}
	if (window)
		window->accesses++;
	return into;
}

void fm_followed_range(struct fm_followed *lines, struct fm_traced_thread *thread, const struct fm_result_site *site,
                       uint64_t address, uint64_t bytes, bool store)
{
	const struct fm_translate_filter *filter = &lines->filter;
	const uint64_t line = 1u << LINE_SHIFT, pair = 1u << PAIR_SHIFT;
	const uint64_t end = address + bytes;
	/* what fm_translate_is_followed() compares, of one pair after the other: programs that clear the same few lines
	   all the time come here more often than anywhere else */
	uint32_t hash = (((uint32_t)address + filter->offset) & ~((uint32_t)pair - 1)) * filter->multiplier,
	         step = (uint32_t)pair * filter->multiplier;

	if (!bytes || end < address)
		return;
	for (uint64_t left = ((end - 1) >> PAIR_SHIFT) - (address >> PAIR_SHIFT) + 1; left; left--) {
		uint64_t next = (address & ~(pair - 1)) + pair, until = next < end ? next : end;

		if (hash < filter->limit)
			for (; address < until; address = (address & ~(line - 1)) + line)
				fm_followed_access(lines, thread, site, address, store);
		address = next;
		hash += step;
	}
}

/* A repeated instruction, of `elements` elements. */
static void feed_range(struct fm_consumer *consumer, struct fm_traced_thread *thread, uint32_t number, uint64_t address,
                       uint64_t elements)
{
	const struct fm_traced_rest *rest = fm_traced_site(consumer, number);
	uint64_t bytes;

	if (!rest)
		return;
	bytes = elements < REPEATED_BYTES_MOST / rest->size ? elements * rest->size : REPEATED_BYTES_MOST;
	fm_traced_count_repeated(consumer, rest->stores, rest->copies, address, bytes);
	fm_followed_range(consumer->followed, thread, consumer->followed->curves ? rest->site : NULL, address, bytes,
	                  rest->stores);
}

/* Only with curves: most sites are not needed outside of windows. */
static const struct fm_result_site *site_of(struct fm_consumer *consumer, const struct fm_followed *lines,
                                            uint32_t number)
{
	const struct fm_traced_rest *rest = lines->curves ? fm_traced_site(consumer, number) : NULL;

	return rest ? rest->site : NULL;
}

/* As far as is known yet. */
static double slower(struct fm_consumer *consumer, struct fm_followed *lines)
{
	const struct fm_trace_head *head = &consumer->trace->head;
	struct fm_result_pace pace;

	if (!(lines->slower > 0) || ++lines->passes_since >= PASSES_BETWEEN) {
		uint64_t count = __atomic_load_n(&head->episode_count, __ATOMIC_ACQUIRE);

		lines->passes_since = 0;
		fm_pace_estimate(head->episodes, count < FM_TRACE_EPISODES ? (unsigned)count : FM_TRACE_EPISODES,
		                 &pace);
		lines->slower = pace.ratio > 0 ? pace.ratio : FOLLOWING_SLOWER;
	}
	return lines->slower;
}

void fm_followed_pass(struct fm_consumer *consumer, const struct fm_traced_thread *thread, uint64_t began,
                      uint64_t ended)
{
	struct fm_followed *lines = consumer->followed;
	double us;

	if (!lines || !thread->live || !consumer->session->ticks_per_second)
		return;
	/* threads that run at once have the same time */
	if (began < lines->passed)
		began = lines->passed;
	if (ended <= began)
		return;
	lines->passed = ended;
	us = 1e6 * (double)(ended - began) / (double)consumer->session->ticks_per_second / slower(consumer, lines);
	fm_hierarchy_forget(lines->hierarchy, fm_hierarchy_core(lines->hierarchy, thread->side.core->index),
	                    thread->window.number ? us / LOGGING_SLOWER : us);
}

uint64_t fm_followed_feed(struct fm_consumer *consumer, struct fm_traced_thread *thread,
                          const struct fm_trace_entry *entries, uint64_t count)
{
	struct fm_followed *lines = consumer->followed;
	uint64_t i;

	for (i = 0; i < count && entries[i].what >= FM_TRACE_LINE && entries[i].what < FM_TRACE_LINE + FM_TRACE_SITES;
	     i++) {
		uint32_t number = (uint32_t)(entries[i].what - FM_TRACE_LINE);
		const struct fm_trace_site *site = &consumer->trace->sites[number];
		uint64_t address = entries[i].address;
		bool store = site->kind & FM_TRANSLATE_STORE;

		if (!lines || !__atomic_load_n(&site->ready, __ATOMIC_ACQUIRE))
			continue;
		if (site->kind & FM_TRANSLATE_REPEATED) {
			if (thread->line_waits && thread->line_site == site) {
				feed_range(consumer, thread, number, thread->line_address, address);
				thread->line_waits = false;
			} else {
				thread->line_waits = true;
				thread->line_site = site;
				thread->line_address = address;
			}
			continue;
		}
		thread->line_waits = false;
		if (fm_translate_is_followed(&lines->filter, address))
			fm_followed_access(lines, thread, site_of(consumer, lines, number), address, store);
	}
	return i;
}

void fm_followed_take(const struct fm_followed *lines, struct fm_result_followed *ret_followed)
{
	ret_followed->group_count = 1u << (lines->bits - SHARE_BITS);
	ret_followed->share = FM_FOLLOWED_SHARE;
	memcpy(ret_followed->groups, lines->groups, sizeof(ret_followed->groups));
}

void fm_followed_finish(const struct fm_followed *lines, struct fm_account *account)
{
	struct fm_results *results = account->results;

	if (lines && fm_room_claim(&account->room, &results->followed, sizeof(results->followed)))
		fm_followed_take(lines, &results->followed);
	if (lines && lines->curves)
		fm_line_curves_finish(lines->curves, 1u << (lines->bits - SHARE_BITS), FM_FOLLOWED_SHARE, account);
}
