/* The hierarchy's quick path: two private caches and a shared one, LRU everywhere, one thread at a time, the line not
   touched by another core: nearly all accesses on nearly all machines. It does exactly what hierarchy.c and prefetch.c
   do, step by step, and hands over to them, before anything has changed, whatever is not of that kind. quick_avx2.c
   compiles it again for processors that compare four ways at once. */
#ifndef FM_QUICK_ACCESS
#define FM_QUICK_ACCESS fm_hierarchy_access_quick
#define FM_QUICK_HIT fm_hierarchy_choose_hit_quick
#define FM_QUICK_MISS fm_hierarchy_miss_quick
#define FM_QUICK_PAGE fm_hierarchy_page_quick
#endif

#include <stddef.h>

#include "simulator/array.h"
#include "simulator/parts.h"
#include "simulator/streams.h"
#include "simulator/tables.h"
#include "simulator/wide.h"

#define HOT static inline __attribute__((always_inline))

enum { EIGHT = 8, TWELVE = 12 };

HOT unsigned line_shift_of(const struct fm_hierarchy *hierarchy, const enum fm_shape shape)
{
	return shape == FM_SHAPE_ANY ? hierarchy->line_shift : 6;
}

HOT unsigned page_shift_of(const struct fm_hierarchy *hierarchy, const enum fm_shape shape)
{
	return shape == FM_SHAPE_ANY ? hierarchy->page_shift : 12;
}

HOT unsigned page_lines_shift(const struct fm_hierarchy *hierarchy, const enum fm_shape shape)
{
	return shape == FM_SHAPE_ANY ? fm_streams_shift(hierarchy) : 12 - 6;
}

/* Parts that few misses need, compiled for each shape: separate functions leave registers for the others. */
struct parts {
	int (*miss)(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t address, unsigned bytes,
	            bool store, const uint64_t *place);
	void (*adjacent)(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t line, bool store,
	                 uint64_t from);
	void (*run_ahead)(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, struct stream *stream,
	                  uint64_t line, bool store, uint64_t from);
	void (*ask_next)(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t line);
	unsigned (*fetch)(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t line,
	                  uint64_t *second_set, bool store);
};
static const struct parts parts[FM_SHAPES];

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
	(&counts->load_hits)[2 * (size_t)store + !hit]++;
}

HOT void count_line(struct fm_cache_counts *counts, bool store)
{
	_Static_assert(offsetof(struct fm_cache_counts, lines_ownership) ==
	                   offsetof(struct fm_cache_counts, lines_demand) + sizeof(uint64_t),
	               "first those of loads");
	(&counts->lines_demand)[store]++;
}

/* The ways of a cache, if the compiler knows them, or 0. */
HOT unsigned ways_of(const enum fm_shape shape, const unsigned level)
{
	static const unsigned char ways[][3] = {[FM_SHAPE_ANY] = {0, 0, 0},
	                                        [FM_SHAPE_8_8_20] = {EIGHT, EIGHT, 20},
	                                        [FM_SHAPE_8_8_16] = {EIGHT, EIGHT, 16},
	                                        [FM_SHAPE_12_20_12] = {TWELVE, 20, TWELVE}};

	return ways[shape][level];
}

HOT uint64_t *set_of(const struct fm_array *array, uint64_t line, const enum fm_shape shape, const unsigned level)
{
	if (!ways_of(shape, level))
		return fm_array_set(array, line);
	return array->entries + (level < 2 ? line & array->mask : fm_array_index(array, line)) * ways_of(shape, level);
}

/* Is the line of this key the latest of its set? Most lines of a stream are. */
HOT bool is_latest(const uint64_t *set, uint64_t key)
{
	return (set[0] ^ key) <= FM_LINE_FLAGS;
}

/* Is it there at all? */
HOT bool has(const struct fm_array *array, const uint64_t *set, uint64_t key, const enum fm_shape shape,
             const unsigned level)
{
	unsigned ways = ways_of(shape, level);

	return ways ? fm_array_has_of(set, ways, NULL, 0, key) : fm_array_locate(set, array->stride, key) >= 0;
}

HOT int locate(const struct fm_array *array, const uint64_t *set, uint64_t key, const enum fm_shape shape,
               const unsigned level)
{
	unsigned ways = ways_of(shape, level);

	if (ways == EIGHT || (!ways && level < 2 && __builtin_expect(array->stride == EIGHT, 1))) {
		unsigned match = fm_array_match_eight(set, key);

		return match ? __builtin_ctz(match) : -1;
	}
	return ways ? fm_array_locate_of(set, ways, key) : fm_array_locate(set, array->stride, key);
}

/* Make a way the first, with a new entry. */
HOT void to_front(const struct fm_array *array, uint64_t *set, unsigned way, uint64_t entry, const enum fm_shape shape,
                  const unsigned level)
{
	unsigned ways = ways_of(shape, level);

	if (ways == EIGHT || ways == TWELVE)
		fm_array_to_front_of(set, ways, way, entry);
	else if (!ways && level < 2 && __builtin_expect(array->stride == EIGHT, 1))
		fm_array_to_front_of(set, EIGHT, way, entry);
	else
		fm_array_to_front_as(set, way, entry);
}

HOT uint64_t push(const struct fm_array *array, uint64_t *set, uint64_t entry, const enum fm_shape shape,
                  const unsigned level)
{
	unsigned ways = ways_of(shape, level);

	if (ways)
		return level < 2 ? fm_array_push_of(set, ways, entry) : fm_array_push_of_old(set, ways, entry);
	if (level < 2 && __builtin_expect(array->ways == EIGHT && !array->fewer, 1))
		return fm_array_push_of(set, EIGHT, entry);
	return fm_array_push(set, fm_array_ways(array, set), array->stride, entry);
}

/* Take out what was found in a way; those behind it move down. */
HOT void take_out(const struct fm_array *array, uint64_t *set, unsigned way, const enum fm_shape shape,
                  const unsigned level)
{
	unsigned ways = ways_of(shape, level);

	if (ways) {
		fm_array_take_out_of(set, ways, way);
		return;
	}
	for (; way + 1 < array->ways; way++)
		set[way] = set[way + 1];
	set[way] = 0;
}

HOT uint64_t page_of(const struct fm_hierarchy *hierarchy, uint64_t line, const enum fm_shape shape)
{
	return line >> (page_shift_of(hierarchy, shape) - line_shift_of(hierarchy, shape));
}

HOT uint64_t page_word(struct fm_hierarchy *hierarchy, uint64_t page)
{
	const struct fm_page_leaf *leaf = fm_pages_leaf(hierarchy->pages, page);

	return leaf ? leaf->pages[page % FM_LEAF_PAGES] : 0;
}

/* A page without a touch is not remote, as after our own touch. */
HOT bool is_remote(struct fm_hierarchy *hierarchy, const struct fm_simulated_core *core, uint64_t line)
{
	unsigned home;

	if (hierarchy->description.sockets == 1)
		return false;
	home = fm_page_home(page_word(hierarchy, page_of(hierarchy, line, FM_SHAPE_ANY)));
	return home && home != core->socket + 1;
}

/* Another core may have lines of the page: not a case for us. As fm_hierarchy_touched_by_others(). */
HOT bool is_others(struct fm_hierarchy *hierarchy, const struct fm_simulated_core *core, uint64_t page)
{
	uint64_t others;

	if (__builtin_expect(hierarchy->active_cores <= 1, 1))
		return false;
	others = fm_page_cores(page_word(hierarchy, page));
	if (hierarchy->physical_count <= FM_PAGE_CORES)
		others &= ~(1ull << core->core);
	return others;
}

HOT bool is_victim(const struct fm_hierarchy *hierarchy)
{
	return hierarchy->description.caches[2].inclusion == FM_INCLUSION_VICTIM;
}

/* As fm_array_remove(); seldom there. */
HOT uint64_t remove_line(const struct fm_array *array, uint64_t line, const enum fm_shape shape, unsigned level)
{
	uint64_t *set = set_of(array, line, shape, level), entry;
	int way = locate(array, set, FM_LINE_KEY(line), shape, level);

	if (__builtin_expect(way < 0, 1))
		return 0;
	entry = set[way];
	take_out(array, set, (unsigned)way, shape, level);
	return entry;
}

/* A line leaves the last cache, which includes what the only active core has. True when a copy of it was modified. */
static __attribute__((noinline)) bool take_back(struct fm_simulated_core *core, uint64_t line)
{
	bool modified = is_modified(remove_line(core->arrays[0], line, FM_SHAPE_ANY, 0));

	return modified | is_modified(remove_line(core->arrays[1], line, FM_SHAPE_ANY, 1));
}

/* Does the core have a copy? Lines that leave the last cache nearly never have one. */
HOT bool has_copy(const struct fm_simulated_core *core, uint64_t line, const enum fm_shape shape)
{
	const struct fm_array *first = core->arrays[0], *second = core->arrays[1];
	const uint64_t *first_set = set_of(first, line, shape, 0), *second_set = set_of(second, line, shape, 1);
	uint64_t key = FM_LINE_KEY(line);

	if (ways_of(shape, 0))
		return fm_array_has_of(first_set, ways_of(shape, 0), second_set, ways_of(shape, 1), key);
	return has(first, first_set, key, shape, 0) || has(second, second_set, key, shape, 1);
}

static __attribute__((noinline)) void write_memory(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core,
                                                   uint64_t line)
{
	core->counts.caches[2].lines_written++;
	core->counts.memory_writes++;
	core->counts.memory_writes_remote += is_remote(hierarchy, core, line);
}

/* A line comes into the last cache; the one that has to go takes private copies with it. */
HOT void fill_shared(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t *set, uint64_t line,
                     unsigned state, const enum fm_shape shape)
{
	struct fm_array *shared = core->arrays[2];
	uint64_t gone = push(shared, set, FM_LINE_KEY(line) | state, shape, 2);
	uint64_t out = FM_LINE_OF(gone);
	bool dirty = is_modified(gone);

	if (!gone)
		return;
	if (hierarchy->description.caches[2].inclusion == FM_INCLUSION_INCLUSIVE) {
		if (__builtin_expect(hierarchy->active_cores > 1, 0)) {
			dirty |= fm_hierarchy_back_invalidate(hierarchy, shared, out);
		} else if (__builtin_expect(has_copy(core, out, shape), 0)) {
			dirty |= take_back(core, out);
		}
	}
	if (dirty)
		write_memory(hierarchy, core, out);
}

/* A line leaves the second cache: the last one gets what was changed, or everything. */
HOT void leave_second(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t gone,
                      const enum fm_shape shape)
{
	struct fm_array *last = core->arrays[2];
	uint64_t line = FM_LINE_OF(gone), *set;
	bool dirty = is_modified(gone);
	int way;

	if (!gone || (!dirty && !is_victim(hierarchy)))
		return;
	core->counts.caches[1].lines_written += dirty;
	set = set_of(last, line, shape, 2);
	if (dirty && is_latest(set, FM_LINE_KEY(line))) {
		set[0] = FM_LINE_KEY(line) | FM_LINE_MODIFIED;
		return;
	}
	way = locate(last, set, FM_LINE_KEY(line), shape, 2);
	if (way < 0) {
		fill_shared(hierarchy, core, set, line, dirty ? FM_LINE_MODIFIED : FM_LINE_EXCLUSIVE, shape);
		return;
	}
	to_front(last, set, (unsigned)way, dirty ? FM_LINE_KEY(line) | FM_LINE_MODIFIED : set[way], shape, 2);
}

HOT void fill_second(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t *set, uint64_t line,
                     unsigned state, const enum fm_shape shape)
{
	leave_second(hierarchy, core, push(core->arrays[1], set, FM_LINE_KEY(line) | state, shape, 1), shape);
}

HOT void fill_first(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t *set, uint64_t line,
                    unsigned state, const enum fm_shape shape)
{
	struct fm_array *second = core->arrays[1];
	uint64_t gone = push(core->arrays[0], set, FM_LINE_KEY(line) | state, shape, 0);
	uint64_t out = FM_LINE_OF(gone);
	uint64_t *below;
	int way;

	if (!is_modified(gone))
		return;
	core->counts.caches[0].lines_written++;
	below = set_of(second, out, shape, 1);
	if (is_latest(below, FM_LINE_KEY(out))) {
		below[0] = FM_LINE_KEY(out) | FM_LINE_MODIFIED;
		return;
	}
	way = locate(second, below, FM_LINE_KEY(out), shape, 1);
	if (way >= 0)
		to_front(second, below, (unsigned)way, FM_LINE_KEY(out) | FM_LINE_MODIFIED, shape, 1);
	else
		fm_hierarchy_insert_private(hierarchy, core, 1, out, FM_LINE_MODIFIED);
}

/* The tables of the simulator itself are larger than the caches it runs on: ask for what a miss will need early. */
HOT void expect(const struct fm_array *last, const uint64_t *set)
{
	__builtin_prefetch(set, 1);
	__builtin_prefetch(set + EIGHT, 1);
	for (unsigned at = 2 * EIGHT; at < last->stride; at += EIGHT)
		__builtin_prefetch(set + at, 1);
}

/* Prefetchers. They sit at the second cache, and no callback decides whether a line may come. */

/* Neighbours are not counted together, here and below: the compiler would load both at once where one was just stored,
   and wait for it. */
HOT void count_request(struct fm_simulated_core *core, bool store)
{
	core->counts.caches[1].prefetch_requests++;
	if (store)
		core->counts.caches[1].prefetch_requests_ownership++;
}

/* Of a line from memory into the last cache. */
HOT void count_read(struct fm_simulated_core *core, bool store, bool remote)
{
	core->counts.caches[2].lines_prefetch++;
	core->counts.memory_reads++;
	if (store)
		core->counts.caches[2].lines_prefetch_ownership++;
	if (__builtin_expect(remote, 0))
		core->counts.memory_reads_remote++;
}

/* The source of a prefetch. */
struct origin {
	uint64_t line;               /* of the access */
	const struct stream *stream; /* NULL: none */
};

HOT bool is_remote_from(struct fm_hierarchy *hierarchy, const struct fm_simulated_core *core, uint64_t line,
                        const struct origin *origin, const enum fm_shape shape)
{
	return shape == FM_SHAPE_ANY || !origin->stream ? is_remote(hierarchy, core, line) : origin->stream->remote;
}

/* On another page than the access: another core may have touched it, or ours has not yet. Streams that leave their 4
   KiB do not come here, so pages are smaller than that. */
HOT bool is_elsewhere(const struct fm_hierarchy *hierarchy, uint64_t line, const struct origin *origin,
                      const enum fm_shape shape)
{
	return shape == FM_SHAPE_ANY &&
	       __builtin_expect(page_of(hierarchy, line, shape) != page_of(hierarchy, origin->line, shape), 0);
}

HOT void prefetch_second(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t line, bool store,
                         const struct origin *origin, const enum fm_shape shape)
{
	struct fm_array *second = core->arrays[1], *last = core->arrays[2];
	uint64_t *second_set, *last_set, key = FM_LINE_KEY(line);
	unsigned state = FM_LINE_EXCLUSIVE;
	int way;

	if (is_elsewhere(hierarchy, line, origin, shape)) {
		fm_hierarchy_prefetch_line(hierarchy, core, 1, line, store);
		return;
	}
	second_set = set_of(second, line, shape, 1);
	if (has(second, second_set, key, shape, 1))
		return;
	last_set = set_of(last, line, shape, 2);
	count_request(core, store);
	if (!is_victim(hierarchy) && is_latest(last_set, key)) {
		core->counts.caches[2].prefetches_answered++;
	} else if (way = locate(last, last_set, key, shape, 2), way < 0) {
		count_read(core, store, is_remote_from(hierarchy, core, line, origin, shape));
		if (!is_victim(hierarchy))
			fill_shared(hierarchy, core, last_set, line, FM_LINE_EXCLUSIVE, shape);
	} else {
		core->counts.caches[2].prefetches_answered++;
		if (is_victim(hierarchy)) {
			state = last_set[way] & FM_LINE_STATE;
			take_out(last, last_set, (unsigned)way, shape, 2);
		} else {
			to_front(last, last_set, (unsigned)way, last_set[way], shape, 2);
		}
	}
	core->counts.caches[1].lines_prefetch++;
	if (store)
		core->counts.caches[1].lines_prefetch_ownership++;
	fill_second(hierarchy, core, second_set, line, state | FM_LINE_PREFETCHED, shape);
}

HOT void prefetch_last(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t line, bool store,
                       const struct origin *origin, const enum fm_shape shape)
{
	struct fm_array *last = core->arrays[2];
	uint64_t *set;

	if (is_elsewhere(hierarchy, line, origin, shape)) {
		fm_hierarchy_prefetch_beyond(hierarchy, core, 1, line, store);
		return;
	}
	count_request(core, store);
	set = set_of(last, line, shape, 2);
	if (has(last, set, FM_LINE_KEY(line), shape, 2))
		return;
	count_read(core, store, is_remote_from(hierarchy, core, line, origin, shape));
	fill_shared(hierarchy, core, set, line, FM_LINE_EXCLUSIVE, shape);
}

HOT void run_ahead(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, struct stream *stream, uint64_t line,
                   bool store, uint64_t from, const enum fm_shape shape)
{
	struct fm_stream_plan plan = fm_streams_plan(&hierarchy->description.caches[1], stream, line,
	                                             page_lines_shift(hierarchy, shape), !is_victim(hierarchy));
	const struct origin origin = {from, stream};

	for (; plan.near; plan.near--, plan.next += plan.step)
		prefetch_second(hierarchy, core, plan.next, store, &origin, shape);
	for (; __builtin_expect(plan.across, 0); plan.across--, plan.next += plan.step)
		fm_hierarchy_prefetch_line(hierarchy, core, 1, plan.next, store);
	for (; plan.far; plan.far--, plan.beyond += plan.step)
		prefetch_last(hierarchy, core, plan.beyond, store, &origin, shape);
}

/* A demand access, or one of the first cache's prefetcher, reached the second cache. It comes from an access to the
   line `from`. */
HOT void train(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t line, bool miss, bool store,
               uint64_t from, const enum fm_shape shape)
{
	const struct fm_cache_description *cache = &hierarchy->description.caches[1];
	struct stream *stream;

	if (miss && cache->adjacent) {
		uint64_t neighbour = fm_streams_neighbour(cache, line, page_lines_shift(hierarchy, shape));

		if (neighbour != line)
			parts[shape].adjacent(hierarchy, core, neighbour, store, from);
	}
	if (!cache->streams)
		return;
	stream = fm_streams_learn(hierarchy, core, line, page_lines_shift(hierarchy, shape), cache->crosses);
	if (stream)
		parts[shape].run_ahead(hierarchy, core, stream, line, store, from);
}

/* As fm_hierarchy_ask_next(). */
HOT void ask_next(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t line,
                  const enum fm_shape shape)
{
	struct fm_array *first = core->arrays[0], *second = core->arrays[1];
	uint64_t next = line + 1, key = FM_LINE_KEY(next), *set, *below;
	int way;

	if (!(next & ((1ull << page_lines_shift(hierarchy, shape)) - 1)))
		return;
	set = set_of(first, next, shape, 0);
	if (locate(first, set, key, shape, 0) >= 0)
		return;
	core->counts.caches[0].prefetch_requests++;
	below = set_of(second, next, shape, 1);
	way = locate(second, below, key, shape, 1);
	if (fm_hierarchy_prefetches(hierarchy, 1)) {
		train(hierarchy, core, next, way < 0, false, line, shape);
		way = locate(second, below, key, shape, 1);
	}
	if (way < 0)
		return;
	core->counts.caches[0].lines_prefetch++;
	fill_first(hierarchy, core, set, next,
	           ((below[way] & FM_LINE_STATE) == FM_LINE_SHARED ? FM_LINE_SHARED : FM_LINE_EXCLUSIVE) |
	               FM_LINE_PREFETCHED,
	           shape);
}

HOT void run_prefetchers(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t line, unsigned served,
                         bool store, const enum fm_shape shape)
{
	bool trains = fm_hierarchy_prefetches(hierarchy, 1),
	     asks = !store && served > 1 && hierarchy->description.caches[0].next;

	if (__builtin_expect(core->on_prefetch || core->is_coming, 0)) {
		if (trains)
			fm_hierarchy_train(hierarchy, core, 1, line, served != 1, store);
		if (asks)
			fm_hierarchy_ask_next(hierarchy, core, line);
		return;
	}
	if (trains)
		train(hierarchy, core, line, served != 1, store, line, shape);
	if (asks)
		parts[shape].ask_next(hierarchy, core, line);
}

/* Returns the leaf of a page that no translation buffer knew and that has yet to be touched, else NULL. */
static __attribute__((noinline)) struct fm_page_leaf *translate_any(struct fm_hierarchy *hierarchy,
                                                                    struct fm_simulated_core *core, uint64_t page)
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

/* The same; mostly it is in the first buffer, which mostly has four ways. */
HOT struct fm_page_leaf *translate(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t page)
{
	const struct fm_fast_view *view = &core->view;
	uint64_t *set = view->page_lines + (page & view->page_mask) * view->page_ways;
	uint64_t entry = FM_LINE_KEY(page) | FM_LINE_EXCLUSIVE;
	unsigned match;

	if (*set == entry)
		return NULL;
	match = view->page_ways == FM_ARRAY_STEP ? fm_array_match_entry(set, entry) : 0;
	if (!match)
		return translate_any(hierarchy, core, page);
	fm_array_to_front_four(set, (unsigned)__builtin_ctz(match));
	return NULL;
}

/* Is the page in the first buffer? Then it is its latest. As FM_QUICK_PAGE, which see. */
HOT bool is_translated(const struct fm_fast_view *view, uint64_t page)
{
	uint64_t *set = view->page_lines + (page & view->page_mask) * view->page_ways;
	uint64_t entry = FM_LINE_KEY(page) | FM_LINE_EXCLUSIVE;

	if (*set == entry)
		return true;
	if (view->wide) {
		const struct fm_wide_place *place = &view->wide->wide->places[fm_wide_index(page)];

		if (__builtin_expect(place->entry == entry, 1)) {
			fm_wide_use(view->wide->wide, place->used, entry);
			return true;
		}
	}
	return FM_QUICK_PAGE(view, page);
}

/* The line is neither in the first cache nor in the second: into the latter. Returns who has it, with the line's state
   above FETCH_STATE. */
enum { FETCH_STATE = 8 };

HOT unsigned fetch(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t line, uint64_t *second_set,
                   bool store, const enum fm_shape shape)
{
	struct fm_array *second = core->arrays[1], *last = core->arrays[2];
	uint64_t *set = set_of(last, line, shape, 2);
	unsigned state = FM_LINE_EXCLUSIVE, served = 2;
	bool victim = is_victim(hierarchy);
	int way;

	/* asked for early if the latest miss went far too */
	if (!core->goes_far)
		expect(last, set);
	core->goes_far = true;
	/* the line that makes room goes there */
	if (victim)
		expect(last, set_of(last, FM_LINE_OF(second_set[second->ways - 1]), shape, 2));
	way = locate(last, set, FM_LINE_KEY(line), shape, 2);
	count(&core->counts.caches[1], store, false);
	count(&core->counts.caches[2], store, way >= 0);
	if (way < 0) {
		bool remote = is_remote(hierarchy, core, line);

		count_line(&core->counts.caches[2], store);
		if (!victim)
			fill_shared(hierarchy, core, set, line, FM_LINE_EXCLUSIVE, shape);
		core->counts.memory_reads++;
		core->counts.memory_reads_remote += remote;
		served = remote ? FM_SERVED_REMOTE : FM_SERVED_MEMORY;
	} else if (victim) {
		/* it moves; what was dirty stays dirty */
		state = set[way] & FM_LINE_STATE;
		take_out(last, set, (unsigned)way, shape, 2);
	} else {
		to_front(last, set, (unsigned)way, set[way], shape, 2);
	}
	count_line(&core->counts.caches[1], store);
	fill_second(hierarchy, core, second_set, line, state, shape);
	return served | state << FETCH_STATE;
}

/* The line is not in the first cache, and other cores have nothing of its page. Returns who served it, or -1 when this
   is not a case for us. */
HOT int miss(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t line, uint64_t *first_set,
             const uint64_t *place, bool store, const enum fm_shape shape)
{
	struct fm_array *second = core->arrays[1];
	uint64_t *second_set = set_of(second, line, shape, 1);
	unsigned state, served = 1;

	if (place) {
		uint64_t entry = *place;

		state = entry & FM_LINE_STATE;
		if (store && state == FM_LINE_SHARED)
			return -1;
		core->counts.caches[1].prefetch_hits += (entry & FM_LINE_PREFETCHED) != 0;
		to_front(second, second_set, (unsigned)(place - second_set), entry & ~(uint64_t)FM_LINE_PREFETCHED,
		         shape, 1);
		count(&core->counts.caches[1], store, true);
		core->goes_far = false;
	} else {
		unsigned fetched = parts[shape].fetch(hierarchy, core, line, second_set, store);

		served = fetched & ((1u << FETCH_STATE) - 1);
		state = fetched >> FETCH_STATE;
	}
	count(&core->counts.caches[0], store, false);
	count_line(&core->counts.caches[0], store);
	/* the copy below stays responsible for what was changed before */
	if (state == FM_LINE_MODIFIED)
		state = FM_LINE_EXCLUSIVE;
	fill_first(hierarchy, core, first_set, line, store ? FM_LINE_MODIFIED : state, shape);
	if (hierarchy->prefetch)
		run_prefetchers(hierarchy, core, line, served, store, shape);
	return (int)served;
}

HOT void count_access(struct fm_core_counts *counts, unsigned bytes, bool store)
{
	_Static_assert(offsetof(struct fm_core_counts, stores) ==
	                       offsetof(struct fm_core_counts, loads) + sizeof(uint64_t) &&
	                   offsetof(struct fm_core_counts, store_bytes) ==
	                       offsetof(struct fm_core_counts, load_bytes) + sizeof(uint64_t),
	               "first those of loads");
	(&counts->loads)[store]++;
	(&counts->load_bytes)[store] += bytes;
}

/* An access that the first cache does not have: see hierarchy.h. The second one has it at that place, or NULL. */
HOT int miss_first(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t address, unsigned bytes,
                   bool store, const uint64_t *place, const enum fm_shape shape)
{
	uint64_t line = address >> line_shift_of(hierarchy, shape), page = address >> page_shift_of(hierarchy, shape);
	struct fm_page_leaf *untouched;
	int served;

	if (is_others(hierarchy, core, page))
		return -1;
	/* asked for where it is not needed it drives out what is */
	if (core->goes_far)
		expect(core->arrays[2], set_of(core->arrays[2], line, shape, 2));
	untouched = translate(hierarchy, core, page);
	served = miss(hierarchy, core, line, set_of(core->arrays[0], line, shape, 0), place, store, shape);
	/* Whether we touched the page ourselves did not matter so far: a page without a touch is not remote, as after
	   our own. By now it has arrived. */
	if (untouched)
		fm_page_touch(untouched, page, core);
	if (served >= 0)
		count_access(&core->counts, bytes, store);
	return served;
}

/* The same for a line that the second cache has as streams have it there, prefetched and exclusive. If it is the next
   one of its stream, there is nothing to find out. */
HOT int miss_streamed(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t address, unsigned bytes,
                      bool store, const uint64_t *place, const enum fm_shape shape)
{
	uint64_t line = address >> line_shift_of(hierarchy, shape), page = address >> page_shift_of(hierarchy, shape);
	const struct fm_fast_view *view = &core->view;
	struct fm_stream_table *table = core->streams;
	unsigned shift = page_lines_shift(hierarchy, shape);
	uint64_t *second_set, next, beyond;
	struct origin origin = {line, NULL};
	struct stream *stream;
	bool far;

	if (hierarchy->active_cores > 1 || !hierarchy->prefetch || core->on_prefetch || core->is_coming || !table->mask)
		return parts[shape].miss(hierarchy, core, address, bytes, store, place);
	stream = fm_streams_find_of(fm_streams_group(table, line >> shift), FM_STREAM_PLACES, line >> shift);
	if (!stream || stream->expected != line || !is_translated(view, page))
		return parts[shape].miss(hierarchy, core, address, bytes, store, place);
	second_set = set_of(core->arrays[1], line, shape, 1);
	if (place == second_set)
		second_set[0] = FM_LINE_KEY(line) | FM_LINE_EXCLUSIVE;
	else
		to_front(core->arrays[1], second_set, (unsigned)(place - second_set),
		         FM_LINE_KEY(line) | FM_LINE_EXCLUSIVE, shape, 1);
	core->goes_far = false;
	core->counts.caches[1].prefetch_hits++;
	count(&core->counts.caches[1], store, true);
	count(&core->counts.caches[0], store, false);
	count_line(&core->counts.caches[0], store);
	count_access(&core->counts, bytes, store);
	fill_first(hierarchy, core, set_of(core->arrays[0], line, shape, 0), line,
	           store ? FM_LINE_MODIFIED : FM_LINE_EXCLUSIVE, shape);
	fm_streams_go_on(table, stream, line);
	if (!stream->steady) {
		parts[shape].run_ahead(hierarchy, core, stream, line, store, line);
		return 1;
	}
	next = stream->ahead + (uint64_t)(int64_t)stream->direction;
	if ((next ^ line) >> shift)
		return 1;
	stream->ahead = next;
	beyond = stream->beyond + (uint64_t)(int64_t)stream->direction;
	far = stream->steady == FM_STEADY_FAR && !((beyond ^ line) >> shift);
	if (far)
		stream->beyond = beyond;
	origin.stream = stream;
	prefetch_second(hierarchy, core, next, store, &origin, shape);
	if (far)
		prefetch_last(hierarchy, core, beyond, store, &origin, shape);
	return 1;
}

#define SHAPED static __attribute__((noinline)) void
#define PARTS(shape)                                                                                                \
	SHAPED adjacent_##shape(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t line,      \
	                        bool store, uint64_t from)                                                          \
	{                                                                                                           \
		const struct origin origin = {from, NULL};                                                          \
                                                                                                                    \
		prefetch_second(hierarchy, core, line, store, &origin, shape);                                      \
	}                                                                                                           \
	SHAPED run_ahead_##shape(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core,                    \
	                         struct stream *stream, uint64_t line, bool store, uint64_t from)                   \
	{                                                                                                           \
		run_ahead(hierarchy, core, stream, line, store, from, shape);                                       \
	}                                                                                                           \
	SHAPED ask_next_##shape(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t line)      \
	{                                                                                                           \
		ask_next(hierarchy, core, line, shape);                                                             \
	}                                                                                                           \
	static __attribute__((noinline)) unsigned fetch_##shape(struct fm_hierarchy *hierarchy,                     \
	                                                        struct fm_simulated_core *core, uint64_t line,      \
	                                                        uint64_t *second_set, bool store)                   \
	{                                                                                                           \
		return fetch(hierarchy, core, line, second_set, store, shape);                                      \
	}                                                                                                           \
	static __attribute__((noinline)) int miss_##shape(struct fm_hierarchy *hierarchy,                           \
	                                                  struct fm_simulated_core *core, uint64_t address,         \
	                                                  unsigned bytes, bool store, const uint64_t *place)        \
	{                                                                                                           \
		return miss_first(hierarchy, core, address, bytes, store, place, shape);                            \
	}                                                                                                           \
	static __attribute__((noinline)) int streamed_##shape(struct fm_hierarchy *hierarchy,                       \
	                                                      struct fm_simulated_core *core, uint64_t address,     \
	                                                      unsigned bytes, bool store, const uint64_t *place)    \
	{                                                                                                           \
		return miss_streamed(hierarchy, core, address, bytes, store, place, shape);                         \
	}                                                                                                           \
	static int choose_##shape(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t address, \
	                          unsigned bytes, bool store)                                                       \
	{                                                                                                           \
		uint64_t line = address >> line_shift_of(hierarchy, shape);                                         \
		const uint64_t *set = set_of(core->arrays[1], line, shape, 1);                                      \
		uint64_t streamed = FM_LINE_KEY(line) | FM_LINE_EXCLUSIVE | FM_LINE_PREFETCHED;                     \
		int way;                                                                                            \
                                                                                                                    \
		/* most lines of a stream are still the latest of their set */                                      \
		if (set[0] == streamed)                                                                             \
			return streamed_##shape(hierarchy, core, address, bytes, store, set);                       \
		way = locate(core->arrays[1], set, FM_LINE_KEY(line), shape, 1);                                    \
		if (way < 0)                                                                                        \
			return miss_##shape(hierarchy, core, address, bytes, store, NULL);                          \
		if (set[way] == streamed)                                                                           \
			return streamed_##shape(hierarchy, core, address, bytes, store, set + way);                 \
		return miss_##shape(hierarchy, core, address, bytes, store, set + way);                             \
	}
PARTS(FM_SHAPE_ANY)
PARTS(FM_SHAPE_8_8_20)
PARTS(FM_SHAPE_8_8_16)
PARTS(FM_SHAPE_12_20_12)

#define PARTS_OF(shape) [shape] = {miss_##shape, adjacent_##shape, run_ahead_##shape, ask_next_##shape, fetch_##shape}
static const struct parts parts[FM_SHAPES] = {PARTS_OF(FM_SHAPE_ANY), PARTS_OF(FM_SHAPE_8_8_20),
                                              PARTS_OF(FM_SHAPE_8_8_16), PARTS_OF(FM_SHAPE_12_20_12)};

int FM_QUICK_MISS(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t address, unsigned bytes,
                  bool store)
{
	static fm_hierarchy_miss_function *const misses[FM_SHAPES] = {
	    [FM_SHAPE_ANY] = choose_FM_SHAPE_ANY,
	    [FM_SHAPE_8_8_20] = choose_FM_SHAPE_8_8_20,
	    [FM_SHAPE_8_8_16] = choose_FM_SHAPE_8_8_16,
	    [FM_SHAPE_12_20_12] = choose_FM_SHAPE_12_20_12,
	};

	return misses[core->shape](hierarchy, core, address, bytes, store);
}

bool FM_QUICK_PAGE(const struct fm_fast_view *view, uint64_t page)
{
	uint64_t *set = view->page_lines + (page & view->page_mask) * view->page_ways;
	int way;

	if (view->page_ways == FM_ARRAY_STEP) {
		unsigned match = fm_array_match_entry(set, FM_LINE_KEY(page) | FM_LINE_EXCLUSIVE);

		if (!match)
			return false;
		fm_array_to_front_four(set, (unsigned)__builtin_ctz(match));
		return true;
	}
	if (view->wide)
		return fm_wide_find(view->wide, page);
	way = fm_array_locate(set, view->page_ways, FM_LINE_KEY(page));
	if (way < 0)
		return false;
	fm_array_to_front(set, (unsigned)way);
	return true;
}

/* A hit of a line that may be used, on a page that is not the latest of its set in the first translation buffer. */
static __attribute__((noinline)) enum fm_hit hit_other_page(const struct fm_fast_view *view, uint64_t address,
                                                            bool store)
{
	uint64_t line = address >> view->line_shift, page = address >> view->page_shift;
	uint64_t *set = view->first_lines + (line & view->first_mask) * view->first_ways;
	int way;

	if (!FM_QUICK_PAGE(view, page))
		return FM_HIT_OTHER;
	way = fm_array_locate(set, view->first_ways, FM_LINE_KEY(line));
	set[way] |= (uint64_t)store * FM_LINE_MODIFIED;
	fm_array_to_front(set, (unsigned)way);
	return FM_HIT_DONE;
}

enum pages { PAGES_OF_FOUR, PAGES_WIDE, PAGES_ANY };

/* The ways are known to the compiler, or 0: as the view says. Four ways of pages are of 4 KiB. */
HOT enum fm_hit hit(const struct fm_fast_view *view, uint64_t address, bool store, const unsigned ways,
                    const enum pages pages)
{
	unsigned first_ways = ways ? ways : view->first_ways;
	uint64_t line = address >> (ways ? 6 : view->line_shift), key = FM_LINE_KEY(line);
	uint64_t page = address >> (pages == PAGES_OF_FOUR ? 12 : view->page_shift), entry;
	uint64_t translation = FM_LINE_KEY(page) | FM_LINE_EXCLUSIVE;
	uint64_t *set = view->first_lines + (line & view->first_mask) * first_ways;
	const unsigned usable = 1u << FM_LINE_SHARED | 1u << FM_LINE_EXCLUSIVE | 1u << FM_LINE_MODIFIED;
	int way;

	if (ways == EIGHT || ways == TWELVE) {
		unsigned match =
		    fm_array_match_eight(set, key) | (ways == TWELVE ? fm_array_match(set + EIGHT, key) << EIGHT : 0);

		if (!match)
			return FM_HIT_ABSENT;
		way = __builtin_ctz(match);
	} else {
		way = fm_array_locate(set, first_ways, key);
		if (way < 0)
			return FM_HIT_ABSENT;
	}
	entry = set[way];
	/* shared, exclusive or modified and nothing else, or without the first of these */
	if (__builtin_expect(!((usable & ~((unsigned)store << FM_LINE_SHARED)) >> (entry & FM_LINE_FLAGS) & 1), 0))
		return FM_HIT_OTHER;
	if (pages == PAGES_WIDE) {
		struct fm_wide *wide = view->wide->wide;
		const struct fm_wide_place *place = &wide->places[fm_wide_index(page)];

		if (__builtin_expect(place->entry != translation, 0))
			return hit_other_page(view, address, store);
		fm_wide_use(wide, place->used, translation);
	} else if (pages == PAGES_OF_FOUR) {
		uint64_t *places = view->page_lines + (page & view->page_mask) * FM_ARRAY_STEP;

		if (places[0] != translation) {
			unsigned match = fm_array_match_entry(places, translation);

			if (!match)
				return FM_HIT_OTHER;
			fm_array_to_front_four(places, (unsigned)__builtin_ctz(match));
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
	return FM_HIT_DONE;
}

#define HIT(name, ways, pages)                                                                 \
	static enum fm_hit name(const struct fm_fast_view *view, uint64_t address, bool store) \
	{                                                                                      \
		return hit(view, address, store, ways, pages);                                 \
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
	struct fm_page_leaf *untouched;
	uint64_t *set, entry;
	int way;

	if (line != end || access == FM_ACCESS_STORE_NONTEMPORAL || hierarchy->careful ||
	    (access == FM_ACCESS_STORE_WHOLE && !hierarchy->description.string_allocates))
		return fm_hierarchy_access_any(hierarchy, core, address, bytes, access);
	set = first->entries + (line & first->mask) * first->stride;
	way = locate(first, set, FM_LINE_KEY(line), FM_SHAPE_ANY, 0);
	if (way < 0) {
		int served = FM_QUICK_MISS(hierarchy, core, address, bytes, store);

		return served < 0 ? fm_hierarchy_access_any(hierarchy, core, address, bytes, access) : (unsigned)served;
	}
	entry = set[way];
	if (entry & FM_LINE_WATCHED || (store && (entry & FM_LINE_STATE) == FM_LINE_SHARED))
		return fm_hierarchy_access_any(hierarchy, core, address, bytes, access);
	untouched = translate(hierarchy, core, page);
	if (untouched)
		fm_page_touch(untouched, page, core);
	core->counts.caches[0].prefetch_hits += (entry & FM_LINE_PREFETCHED) != 0;
	entry = (entry & ~(uint64_t)FM_LINE_PREFETCHED) | (store ? FM_LINE_MODIFIED : 0);
	to_front(first, set, (unsigned)way, entry, FM_SHAPE_ANY, 0);
	count(&core->counts.caches[0], store, true);
	count_access(&core->counts, bytes, store);
	return 0;
}
