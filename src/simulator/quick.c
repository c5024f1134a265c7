/* The hierarchy's quick path: two private caches and a shared one, LRU everywhere, one thread at a time, the line not
   touched by another core: nearly all accesses on nearly all machines. It does exactly what hierarchy.c and prefetch.c
   do, step by step, and hands over to them, before anything has changed, whatever is not of that kind. quick_avx2.c
   compiles it again for processors that compare four ways at once. */
#ifndef FM_QUICK_ACCESS
#define FM_QUICK_ACCESS fm_hierarchy_access_quick
#define FM_QUICK_HIT fm_hierarchy_choose_hit_quick
#endif

#include <stddef.h>

#include "simulator/array.h"
#include "simulator/parts.h"
#include "simulator/streams.h"
#include "simulator/tables.h"
#include "simulator/wide.h"

#define HOT static inline __attribute__((always_inline))

enum { EIGHT = 8, TWELVE = 12 };

HOT bool is_modified(uint64_t entry)
{
	return (entry & FM_LINE_STATE) == FM_LINE_MODIFIED;
}

/* Without branches: which of its neighbours is counted is a matter of arithmetic. */
HOT void count(struct fm_cache_counts *counts, bool store, bool hit)
{
	_Static_assert(offsetof(struct fm_cache_counts, store_misses) ==
	                   offsetof(struct fm_cache_counts, load_hits) + 3 * sizeof(uint64_t),
	               "hits and misses of loads, then of stores");
	(&counts->load_hits)[2 * store + !hit]++;
}

HOT void count_line(struct fm_cache_counts *counts, bool store)
{
	_Static_assert(offsetof(struct fm_cache_counts, lines_ownership) ==
	                   offsetof(struct fm_cache_counts, lines_demand) + sizeof(uint64_t),
	               "first those of loads");
	(&counts->lines_demand)[store]++;
}

/* As fm_array_locate(), fm_array_to_front() and fm_array_push(), for sets of eight first: most private caches have
   them. */
HOT int locate(const uint64_t *set, unsigned stride, uint64_t key)
{
	if (__builtin_expect(stride == EIGHT, 1)) {
		unsigned match = fm_array_match_eight(set, key);

		return match ? __builtin_ctz(match) : -1;
	}
	return fm_array_locate(set, stride, key);
}

HOT void to_front(uint64_t *set, unsigned stride, unsigned way)
{
	if (__builtin_expect(stride == EIGHT, 1))
		fm_array_to_front_of(set, EIGHT, way, set[way]);
	else
		fm_array_to_front(set, way);
}

HOT uint64_t push(const struct fm_array *array, uint64_t *set, uint64_t entry)
{
	if (__builtin_expect(array->ways == EIGHT && !array->fewer, 1))
		return fm_array_push(set, EIGHT, EIGHT, entry);
	return fm_array_push(set, fm_array_ways(array, set), array->stride, entry);
}

/* What is known of the page that an access is to. What nobody has touched is not remote, as if we had. */
struct where {
	uint64_t page;
	bool remote;
};

HOT uint64_t page_of(const struct fm_hierarchy *hierarchy, uint64_t line)
{
	return line >> (hierarchy->page_shift - hierarchy->line_shift);
}

HOT uint64_t page_word(struct fm_hierarchy *hierarchy, uint64_t page)
{
	const struct fm_page_leaf *leaf = fm_pages_leaf(hierarchy->pages, page);

	return leaf ? leaf->pages[page % FM_LEAF_PAGES] : 0;
}

HOT bool is_remote(struct fm_hierarchy *hierarchy, const struct fm_simulated_core *core, uint64_t line)
{
	unsigned home;

	if (hierarchy->description.sockets == 1)
		return false;
	home = fm_page_home(page_word(hierarchy, page_of(hierarchy, line)));
	return home && home != core->socket + 1;
}

HOT bool is_victim(const struct fm_hierarchy *hierarchy)
{
	return hierarchy->description.caches[2].inclusion == FM_INCLUSION_VICTIM;
}

/* Take out what was found in a way; those behind it move down. */
HOT void take_out(uint64_t *set, unsigned way, unsigned ways)
{
	for (; way + 1 < ways; way++)
		set[way] = set[way + 1];
	set[way] = 0;
}

/* A line comes into the last cache; the one that has to go takes private copies with it. */
HOT void fill_shared(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t *set, uint64_t line,
                     unsigned state)
{
	struct fm_array *shared = core->arrays[2];
	uint64_t gone = push(shared, set, FM_LINE_KEY(line) | state);
	uint64_t out = FM_LINE_OF(gone);
	bool dirty = is_modified(gone);

	if (!gone)
		return;
	if (hierarchy->description.caches[2].inclusion == FM_INCLUSION_INCLUSIVE) {
		if (hierarchy->active_cores > 1) {
			dirty |= fm_hierarchy_back_invalidate(hierarchy, shared, out);
		} else {
			dirty |= is_modified(fm_array_remove(core->arrays[0], out));
			dirty |= is_modified(fm_array_remove(core->arrays[1], out));
		}
	}
	if (dirty) {
		core->counts.caches[2].lines_written++;
		core->counts.memory_writes++;
		core->counts.memory_writes_remote += is_remote(hierarchy, core, out);
	}
}

/* A line leaves the second cache: the last one gets what was changed, or everything. */
HOT void leave_second(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t gone)
{
	struct fm_array *last = core->arrays[2];
	uint64_t line = FM_LINE_OF(gone), *set;
	bool dirty = is_modified(gone);
	int way;

	if (!gone || (!dirty && !is_victim(hierarchy)))
		return;
	core->counts.caches[1].lines_written += dirty;
	set = fm_array_set(last, line);
	way = fm_array_locate(set, last->stride, FM_LINE_KEY(line));
	if (way < 0) {
		fill_shared(hierarchy, core, set, line, dirty ? FM_LINE_MODIFIED : FM_LINE_EXCLUSIVE);
		return;
	}
	fm_array_to_front(set, (unsigned)way);
	if (dirty)
		set[0] = FM_LINE_KEY(line) | FM_LINE_MODIFIED;
}

HOT void fill_second(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t *set, uint64_t line,
                     unsigned state)
{
	leave_second(hierarchy, core, push(core->arrays[1], set, FM_LINE_KEY(line) | state));
}

HOT void fill_first(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t *set, uint64_t line,
                    unsigned state)
{
	uint64_t gone = push(core->arrays[0], set, FM_LINE_KEY(line) | state);
	uint64_t out = FM_LINE_OF(gone);
	uint64_t *below;
	int way;

	if (!is_modified(gone))
		return;
	core->counts.caches[0].lines_written++;
	below = fm_array_set(core->arrays[1], out);
	way = locate(below, core->arrays[1]->stride, FM_LINE_KEY(out));
	if (way >= 0) {
		to_front(below, core->arrays[1]->stride, (unsigned)way);
		*below = FM_LINE_KEY(out) | FM_LINE_MODIFIED;
	} else {
		fm_hierarchy_insert_private(hierarchy, core, 1, out, FM_LINE_MODIFIED);
	}
}

/* The tables of the simulator itself are larger than the caches it runs on: ask for what a miss will need early. */
HOT void expect(const struct fm_array *last, const uint64_t *set)
{
	__builtin_prefetch(set, 1);
	__builtin_prefetch(set + EIGHT, 1);
	for (unsigned at = 2 * EIGHT; at < last->stride; at += EIGHT)
		__builtin_prefetch(set + at, 1);
}

/* Prefetchers. They sit at the second cache, and nobody is asked whether a line may come. */

HOT void count_request(struct fm_simulated_core *core, bool store)
{
	core->counts.caches[1].prefetch_requests++;
	core->counts.caches[1].prefetch_requests_ownership += store;
}

/* Of a line from memory into the last cache. */
HOT void count_read(struct fm_simulated_core *core, bool remote, bool store)
{
	core->counts.caches[2].lines_prefetch++;
	core->counts.caches[2].lines_prefetch_ownership += store;
	core->counts.memory_reads++;
	core->counts.memory_reads_remote += remote;
}

/* On a page that another core has touched, or ours has not yet: seldom, since streams mostly stay on theirs. */
HOT bool is_elsewhere(const struct fm_hierarchy *hierarchy, uint64_t line, const struct where *where)
{
	return __builtin_expect(page_of(hierarchy, line) != where->page, 0);
}

static void prefetch_second(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, unsigned level,
                            uint64_t line, bool store, const void *context)
{
	const struct where *where = context;
	struct fm_array *second = core->arrays[1], *last = core->arrays[2];
	uint64_t *second_set, *last_set;
	unsigned state = FM_LINE_EXCLUSIVE;
	int way;

	if (is_elsewhere(hierarchy, line, where)) {
		fm_hierarchy_prefetch_line(hierarchy, core, level, line, store, NULL);
		return;
	}
	second_set = fm_array_set(second, line);
	if (locate(second_set, second->stride, FM_LINE_KEY(line)) >= 0)
		return;
	last_set = fm_array_set(last, line);
	way = fm_array_locate(last_set, last->stride, FM_LINE_KEY(line));
	count_request(core, store);
	if (way < 0) {
		count_read(core, where->remote, store);
		if (!is_victim(hierarchy))
			fill_shared(hierarchy, core, last_set, line, FM_LINE_EXCLUSIVE);
	} else {
		core->counts.caches[2].prefetches_answered++;
		if (is_victim(hierarchy)) {
			state = last_set[way] & FM_LINE_STATE;
			take_out(last_set, (unsigned)way, last->ways);
		} else {
			fm_array_to_front(last_set, (unsigned)way);
		}
	}
	core->counts.caches[1].lines_prefetch++;
	core->counts.caches[1].lines_prefetch_ownership += store;
	fill_second(hierarchy, core, second_set, line, state | FM_LINE_PREFETCHED);
}

static void prefetch_last(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, unsigned level, uint64_t line,
                          bool store, const void *context)
{
	const struct where *where = context;
	struct fm_array *last = core->arrays[2];
	uint64_t *set;

	if (is_elsewhere(hierarchy, line, where)) {
		fm_hierarchy_prefetch_beyond(hierarchy, core, level, line, store, NULL);
		return;
	}
	count_request(core, store);
	set = fm_array_set(last, line);
	if (fm_array_locate(set, last->stride, FM_LINE_KEY(line)) >= 0)
		return;
	count_read(core, where->remote, store);
	fill_shared(hierarchy, core, set, line, FM_LINE_EXCLUSIVE);
}

static void train(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t line, bool miss, bool store,
                  const struct where *where)
{
	fm_streams_train(hierarchy, core, 1, line, miss, store, prefetch_second, prefetch_last, where);
}

/* As fm_hierarchy_ask_next(). */
static void ask_next(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t line,
                     const struct where *where)
{
	unsigned page_lines_shift = 12 - (hierarchy->line_shift < 12 ? hierarchy->line_shift : 12);
	struct fm_array *first = core->arrays[0], *second = core->arrays[1];
	uint64_t next = line + 1, key = FM_LINE_KEY(next), *set, *below;
	int way;

	if (next >> page_lines_shift != line >> page_lines_shift)
		return;
	set = fm_array_set(first, next);
	if (locate(set, first->stride, key) >= 0)
		return;
	core->counts.caches[0].prefetch_requests++;
	below = fm_array_set(second, next);
	way = locate(below, second->stride, key);
	if (fm_hierarchy_prefetches(hierarchy, 1)) {
		train(hierarchy, core, next, way < 0, false, where);
		way = locate(below, second->stride, key);
	}
	if (way < 0)
		return;
	core->counts.caches[0].lines_prefetch++;
	fill_first(hierarchy, core, set, next,
	           ((below[way] & FM_LINE_STATE) == FM_LINE_SHARED ? FM_LINE_SHARED : FM_LINE_EXCLUSIVE) |
	               FM_LINE_PREFETCHED);
}

HOT void run_prefetchers(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t line, unsigned served,
                         bool store, const struct where *where)
{
	bool trains = fm_hierarchy_prefetches(hierarchy, 1),
	     asks = !store && served > 1 && hierarchy->description.caches[0].next;

	if (core->on_prefetch || core->is_coming) {
		if (trains)
			fm_hierarchy_train(hierarchy, core, 1, line, served != 1, store);
		if (asks)
			fm_hierarchy_ask_next(hierarchy, core, line);
		return;
	}
	if (trains)
		train(hierarchy, core, line, served != 1, store, where);
	if (asks)
		ask_next(hierarchy, core, line, where);
}

/* Returns the leaf of a page that no translation buffer knew and that has yet to be touched, else NULL. */
HOT struct fm_page_leaf *translate(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t page)
{
	struct fm_page_leaf *leaf = NULL;
	unsigned i = 0;

	if (core->view.wide) {
		if (fm_wide_find(core->view.wide, page))
			return NULL;
		core->counts.tlb_misses[i++]++;
		fm_wide_insert(core->view.wide, page);
	}
	for (; i < hierarchy->description.tlb_count; i++) {
		struct fm_array *tlb = core->tlbs[i];
		uint64_t *set = fm_array_set(tlb, page);
		int way = fm_array_locate(set, tlb->stride, FM_LINE_KEY(page));

		if (way >= 0) {
			fm_array_to_front(set, (unsigned)way);
			return NULL;
		}
		core->counts.tlb_misses[i]++;
		fm_array_push(set, tlb->ways, tlb->stride, FM_LINE_KEY(page) | FM_LINE_EXCLUSIVE);
	}
	leaf = fm_pages_leaf(hierarchy->pages, page);
	if (leaf)
		__builtin_prefetch(&leaf->pages[page % FM_LEAF_PAGES], 1);
	return leaf;
}

/* The line is not in the first cache. Returns who served it, or -1 when this is not a case for us. */
HOT int miss(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t line, uint64_t *first_set,
             uint64_t *last_set, bool store)
{
	struct fm_array *second = core->arrays[1], *last = core->arrays[2];
	uint64_t key = FM_LINE_KEY(line);
	uint64_t *second_set = fm_array_set(second, line);
	struct where where = {.page = page_of(hierarchy, line)};
	unsigned state = FM_LINE_EXCLUSIVE, served;
	int way;

	if (hierarchy->active_cores > 1 || hierarchy->description.sockets > 1) {
		uint64_t word = page_word(hierarchy, where.page), others = fm_page_cores(word);

		/* as fm_hierarchy_touched_by_others() */
		if (hierarchy->physical_count <= FM_PAGE_CORES)
			others &= ~(1ull << core->core);
		if (hierarchy->active_cores > 1 && others)
			return -1;
		where.remote = fm_page_home(word) && fm_page_home(word) != core->socket + 1;
	}
	way = locate(second_set, second->stride, key);
	if (way >= 0) {
		uint64_t entry = second_set[way];

		if (store && (entry & FM_LINE_STATE) == FM_LINE_SHARED)
			return -1;
		if (entry & FM_LINE_PREFETCHED) {
			core->counts.caches[1].prefetch_hits++;
			second_set[way] = entry & ~(uint64_t)FM_LINE_PREFETCHED;
		}
		to_front(second_set, second->stride, (unsigned)way);
		count(&core->counts.caches[1], store, true);
		state = entry & FM_LINE_STATE;
		core->goes_far = false;
		served = 1;
	} else {
		bool victim = is_victim(hierarchy);

		core->goes_far = true;
		if (!last_set) {
			last_set = fm_array_set(last, line);
			expect(last, last_set);
		}
		/* the line that makes room goes there */
		if (victim)
			expect(last, fm_array_set(last, FM_LINE_OF(second_set[second->ways - 1])));
		count(&core->counts.caches[1], store, false);
		way = fm_array_locate(last_set, last->stride, key);
		count(&core->counts.caches[2], store, way >= 0);
		if (way >= 0 && victim) {
			/* it moves; what was dirty stays dirty */
			state = last_set[way] & FM_LINE_STATE;
			take_out(last_set, (unsigned)way, last->ways);
			served = 2;
		} else if (way >= 0) {
			fm_array_to_front(last_set, (unsigned)way);
			served = 2;
		} else {
			count_line(&core->counts.caches[2], store);
			if (!victim)
				fill_shared(hierarchy, core, last_set, line, FM_LINE_EXCLUSIVE);
			core->counts.memory_reads++;
			core->counts.memory_reads_remote += where.remote;
			served = where.remote ? FM_SERVED_REMOTE : FM_SERVED_MEMORY;
		}
		count_line(&core->counts.caches[1], store);
		fill_second(hierarchy, core, second_set, line, state);
	}
	count(&core->counts.caches[0], store, false);
	count_line(&core->counts.caches[0], store);
	/* the copy below stays responsible for what was changed before */
	if (state == FM_LINE_MODIFIED)
		state = FM_LINE_EXCLUSIVE;
	fill_first(hierarchy, core, first_set, line, store ? FM_LINE_MODIFIED : state);
	if (hierarchy->prefetch)
		run_prefetchers(hierarchy, core, line, served, store, &where);
	return (int)served;
}

/* A hit of a line that may be used, on a page that is not the latest of its set in the first translation buffer. */
static __attribute__((noinline)) bool hit_other_page(const struct fm_fast_view *view, uint64_t address, bool store)
{
	uint64_t line = address >> view->line_shift, page = address >> view->page_shift;
	uint64_t *set = view->first_lines + (line & view->first_mask) * view->first_ways;
	int way;

	if (view->wide) {
		if (!fm_wide_find(view->wide, page))
			return false;
	} else {
		uint64_t *pages = view->page_lines + (page & view->page_mask) * view->page_ways;

		way = fm_array_locate(pages, view->page_ways, FM_LINE_KEY(page));
		if (way < 0)
			return false;
		fm_array_to_front(pages, (unsigned)way);
	}
	way = locate(set, view->first_ways, FM_LINE_KEY(line));
	set[way] |= (uint64_t)store * FM_LINE_MODIFIED;
	to_front(set, view->first_ways, (unsigned)way);
	return true;
}

enum pages { PAGES_OF_FOUR, PAGES_WIDE, PAGES_ANY };

/* The ways are known to the compiler, or 0: as the view says. Four ways of pages are of 4 KiB. */
HOT bool hit(const struct fm_fast_view *view, uint64_t address, bool store, const unsigned ways, const enum pages pages)
{
	unsigned first_ways = ways ? ways : view->first_ways;
	uint64_t line = address >> (ways ? 6 : view->line_shift), key = FM_LINE_KEY(line);
	uint64_t page = address >> (pages == PAGES_OF_FOUR ? 12 : view->page_shift), entry, state;
	uint64_t translation = FM_LINE_KEY(page) | FM_LINE_EXCLUSIVE;
	uint64_t *set = view->first_lines + (line & view->first_mask) * first_ways;
	int way;

	if (ways == EIGHT || ways == TWELVE) {
		unsigned match =
		    fm_array_match_eight(set, key) | (ways == TWELVE ? fm_array_match(set + EIGHT, key) << EIGHT : 0);

		if (!match)
			return false;
		way = __builtin_ctz(match);
	} else {
		way = fm_array_locate(set, first_ways, key);
		if (way < 0)
			return false;
	}
	entry = set[way];
	/* shared, exclusive or modified and nothing else, or without the first of these */
	state = (entry & FM_LINE_FLAGS) - 1 - store;
	if (__builtin_expect(state > 2u - store, 0))
		return false;
	if (pages == PAGES_WIDE) {
		struct fm_wide *wide = view->wide->wide;
		const struct fm_wide_place *place = &wide->places[fm_wide_index(page)];

		if (__builtin_expect(place->entry != translation, 0))
			return hit_other_page(view, address, store);
		fm_wide_use(wide, place->used, translation);
	} else if (pages == PAGES_OF_FOUR) {
		uint64_t *places = view->page_lines + (page & view->page_mask) * FM_ARRAY_STEP;

		if (places[0] != translation) {
			unsigned match = fm_array_match(places, FM_LINE_KEY(page));

			if (!match)
				return false;
			fm_array_to_front_of(places, FM_ARRAY_STEP, (unsigned)__builtin_ctz(match), translation);
		}
	} else if (view->page_lines[(page & view->page_mask) * view->page_ways] != translation) {
		return hit_other_page(view, address, store);
	}
	entry |= (uint64_t)store * FM_LINE_MODIFIED;
	if (ways) {
		fm_array_to_front_of(set, ways, (unsigned)way, entry);
	} else {
		set[way] = entry;
		fm_array_to_front(set, (unsigned)way);
	}
	return true;
}

#define HIT(name, ways, pages)                                                          \
	static bool name(const struct fm_fast_view *view, uint64_t address, bool store) \
	{                                                                               \
		return hit(view, address, store, ways, pages);                          \
	}
HIT(hit_eight, EIGHT, PAGES_ANY)
HIT(hit_eight_four, EIGHT, PAGES_OF_FOUR)
HIT(hit_eight_wide, EIGHT, PAGES_WIDE)
HIT(hit_twelve, TWELVE, PAGES_ANY)
HIT(hit_twelve_four, TWELVE, PAGES_OF_FOUR)
HIT(hit_twelve_wide, TWELVE, PAGES_WIDE)
HIT(hit_any, 0, PAGES_ANY)

fm_hierarchy_hit_function *FM_QUICK_HIT(const struct fm_fast_view *view)
{
	bool four = view->page_ways == 4 && view->page_shift == 12;

	if (view->line_shift != 6)
		return hit_any;
	if (view->first_ways == EIGHT)
		return view->wide ? hit_eight_wide : four ? hit_eight_four : hit_eight;
	if (view->first_ways == TWELVE)
		return view->wide ? hit_twelve_wide : four ? hit_twelve_four : hit_twelve;
	return hit_any;
}

unsigned FM_QUICK_ACCESS(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t address,
                         unsigned bytes, enum fm_access access)
{
	uint64_t line = address >> hierarchy->line_shift;
	uint64_t end = (address + bytes - 1) >> hierarchy->line_shift;
	uint64_t page = address >> hierarchy->page_shift;
	bool store = access != FM_ACCESS_LOAD;
	struct fm_array *first = core->arrays[0];
	struct fm_page_leaf *untouched = NULL;
	uint64_t *set, *last_set = NULL;
	int way, served = 0;

	if (line != end || access == FM_ACCESS_STORE_NONTEMPORAL || hierarchy->careful ||
	    (access == FM_ACCESS_STORE_WHOLE && !hierarchy->description.string_allocates))
		return fm_hierarchy_access_any(hierarchy, core, address, bytes, access);
	set = first->entries + (line & first->mask) * first->stride;
	way = locate(set, first->stride, FM_LINE_KEY(line));
	if (way < 0) {
		/* asked for where it is not needed it drives out what is */
		if (core->goes_far) {
			last_set = fm_array_set(core->arrays[2], line);
			expect(core->arrays[2], last_set);
		}
	} else if (set[way] & FM_LINE_WATCHED || (store && (set[way] & FM_LINE_STATE) == FM_LINE_SHARED)) {
		return fm_hierarchy_access_any(hierarchy, core, address, bytes, access);
	}
	if (core->view.page_lines[(page & core->view.page_mask) * core->view.page_ways] !=
	    (FM_LINE_KEY(page) | FM_LINE_EXCLUSIVE))
		untouched = translate(hierarchy, core, page);
	if (way < 0) {
		served = miss(hierarchy, core, line, set, last_set, store);
	} else {
		core->counts.caches[0].prefetch_hits += (set[way] & FM_LINE_PREFETCHED) != 0;
		set[way] = (set[way] & ~(uint64_t)FM_LINE_PREFETCHED) | (store ? FM_LINE_MODIFIED : 0);
		to_front(set, first->stride, (unsigned)way);
		count(&core->counts.caches[0], store, true);
	}
	/* Whether we touched the page ourselves did not matter so far: what nobody touched is not remote, as if we had.
	   By now it has arrived. */
	if (untouched)
		fm_page_touch(untouched, page, core);
	if (served < 0)
		return fm_hierarchy_access_any(hierarchy, core, address, bytes, access);
	if (store) {
		core->counts.stores++;
		core->counts.store_bytes += bytes;
	} else {
		core->counts.loads++;
		core->counts.load_bytes += bytes;
	}
	return (unsigned)served;
}
