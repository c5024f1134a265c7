/* The hierarchy's quick path: two private caches and a shared one, LRU everywhere, one thread at a time, the line not
   touched by another core: nearly all accesses on nearly all machines. It does exactly what hierarchy.c does, step by
   step, and hands over to it, before anything has changed, whatever is not of that kind. quick_avx2.c compiles it again
   for processors that compare four ways at once. */
#ifndef FM_QUICK_ACCESS
#define FM_QUICK_ACCESS fm_hierarchy_access_quick
#define FM_QUICK_HIT fm_hierarchy_hit_quick
#endif

#include "simulator/array.h"
#include "simulator/parts.h"
#include "simulator/tables.h"

#define HOT static inline __attribute__((always_inline))

HOT bool is_modified(uint64_t entry)
{
	return (entry & FM_LINE_STATE) == FM_LINE_MODIFIED;
}

HOT void count(struct fm_cache_counts *counts, bool store, bool hit)
{
	if (store && hit)
		counts->store_hits++;
	else if (store)
		counts->store_misses++;
	else if (hit)
		counts->load_hits++;
	else
		counts->load_misses++;
}

HOT void count_line(struct fm_cache_counts *counts, bool store)
{
	if (store)
		counts->lines_ownership++;
	else
		counts->lines_demand++;
}

/* A line comes into the last cache from memory; the one that has to go takes private copies with it. */
HOT void fill_shared(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t *set, uint64_t line)
{
	struct fm_array *shared = core->arrays[2];
	uint64_t gone =
	    fm_array_push(set, fm_array_ways(shared, set), shared->stride, FM_LINE_KEY(line) | FM_LINE_EXCLUSIVE);
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
		core->counts.memory_writes_remote += fm_hierarchy_is_remote(hierarchy, core, out);
	}
}

HOT void fill_second(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t *set, uint64_t line,
                     unsigned state)
{
	struct fm_array *second = core->arrays[1];
	uint64_t gone = fm_array_push(set, fm_array_ways(second, set), second->stride, FM_LINE_KEY(line) | state);

	if (!is_modified(gone))
		return;
	core->counts.caches[1].lines_written++;
	fm_hierarchy_leave_private(hierarchy, core, gone & ~(uint64_t)FM_LINE_PREFETCHED);
}

HOT void fill_first(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t *set, uint64_t line,
                    unsigned state)
{
	struct fm_array *first = core->arrays[0];
	uint64_t gone = fm_array_push(set, fm_array_ways(first, set), first->stride, FM_LINE_KEY(line) | state);
	uint64_t out = FM_LINE_OF(gone);
	uint64_t *below;

	if (!is_modified(gone))
		return;
	core->counts.caches[0].lines_written++;
	below = fm_array_find(core->arrays[1], out);
	if (below)
		*below = FM_LINE_KEY(out) | FM_LINE_MODIFIED;
	else
		fm_hierarchy_insert_private(hierarchy, core, 1, out, FM_LINE_MODIFIED);
}

/* The tables of the simulator itself are larger than the caches it runs on: ask for what a miss will need early. */
HOT void expect_miss(const struct fm_array *last, uint64_t line)
{
	const uint64_t *set = fm_array_set(last, line);

	for (unsigned at = 0; at < last->stride; at += 64 / sizeof(*set))
		__builtin_prefetch(set + at, 1);
}

/* Returns the leaf of a page that no translation buffer knew and that has yet to be touched, else NULL. */
HOT struct fm_page_leaf *translate(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t page)
{
	struct fm_page_leaf *leaf = NULL;

	for (unsigned i = 0; i < hierarchy->description.tlb_count; i++) {
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
             bool store)
{
	struct fm_array *second = core->arrays[1], *last = core->arrays[2];
	uint64_t key = FM_LINE_KEY(line);
	uint64_t *last_set = fm_array_set(last, line), *second_set = fm_array_set(second, line);
	unsigned state = FM_LINE_EXCLUSIVE, served;
	int way;

	expect_miss(last, line);
	if (hierarchy->active_cores > 1 && fm_hierarchy_touched_by_others(hierarchy, core, line))
		return -1;
	way = fm_array_locate(second_set, second->stride, key);
	if (way >= 0) {
		uint64_t entry = second_set[way];

		if (store && (entry & FM_LINE_STATE) == FM_LINE_SHARED)
			return -1;
		if (entry & FM_LINE_PREFETCHED) {
			core->counts.caches[1].prefetch_hits++;
			second_set[way] = entry & ~(uint64_t)FM_LINE_PREFETCHED;
		}
		fm_array_to_front(second_set, (unsigned)way);
		count(&core->counts.caches[1], store, true);
		state = entry & FM_LINE_STATE;
		served = 1;
	} else {
		count(&core->counts.caches[1], store, false);
		way = fm_array_locate(last_set, last->stride, key);
		count(&core->counts.caches[2], store, way >= 0);
		if (way >= 0) {
			fm_array_to_front(last_set, (unsigned)way);
			served = 2;
		} else {
			count_line(&core->counts.caches[2], store);
			fill_shared(hierarchy, core, last_set, line);
			core->counts.memory_reads++;
			served = FM_SERVED_MEMORY;
			if (fm_hierarchy_is_remote(hierarchy, core, line)) {
				core->counts.memory_reads_remote++;
				served = FM_SERVED_REMOTE;
			}
		}
		count_line(&core->counts.caches[1], store);
		fill_second(hierarchy, core, second_set, line, FM_LINE_EXCLUSIVE);
	}
	count(&core->counts.caches[0], store, false);
	count_line(&core->counts.caches[0], store);
	/* the copy below stays responsible for what was changed before */
	if (state == FM_LINE_MODIFIED)
		state = FM_LINE_EXCLUSIVE;
	fill_first(hierarchy, core, first_set, line, store ? FM_LINE_MODIFIED : state);
	if (hierarchy->prefetch && fm_hierarchy_prefetches(hierarchy, 1))
		fm_hierarchy_train(hierarchy, core, 1, line, served != 1, store);
	if (hierarchy->prefetch && !store && served > 1 && hierarchy->description.caches[0].next)
		fm_hierarchy_ask_next(hierarchy, core, line);
	return (int)served;
}

HOT int access_line(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t line, bool store)
{
	struct fm_array *first = core->arrays[0];
	uint64_t *set = fm_array_set(first, line);
	int way = fm_array_locate(set, first->stride, FM_LINE_KEY(line));

	if (way < 0)
		return miss(hierarchy, core, line, set, store);
	if (set[way] & (FM_LINE_PREFETCHED | FM_LINE_WATCHED) ||
	    (store && (set[way] & FM_LINE_STATE) == FM_LINE_SHARED))
		return -1;
	if (store)
		set[way] |= FM_LINE_MODIFIED;
	fm_array_to_front(set, (unsigned)way);
	count(&core->counts.caches[0], store, true);
	return 0;
}

/* As fm_array_locate() and fm_array_to_front(), for what is most often the first or the second of its set. */
HOT int locate_recent(const uint64_t *set, unsigned stride, uint64_t key)
{
	if ((set[0] ^ key) <= FM_LINE_FLAGS)
		return 0;
	if ((set[1] ^ key) <= FM_LINE_FLAGS)
		return 1;
	return fm_array_locate(set, stride, key);
}

HOT void make_first(uint64_t *set, int way)
{
	uint64_t entry = set[1];

	if (way > 1) {
		fm_array_to_front(set, (unsigned)way);
	} else if (way == 1) {
		set[1] = set[0];
		set[0] = entry;
	}
}

bool FM_QUICK_HIT(const struct fm_fast_view *view, uint64_t address, bool store)
{
	uint64_t line = address >> view->line_shift, page = address >> view->page_shift;
	uint64_t *set = view->first_lines + (line & view->first_mask) * view->first_ways;
	uint64_t *pages = view->page_lines + (page & view->page_mask) * view->page_ways;
	int way = locate_recent(set, view->first_ways, FM_LINE_KEY(line)), translated;

	if (way < 0 || set[way] & (FM_LINE_PREFETCHED | FM_LINE_WATCHED) ||
	    (store && (set[way] & FM_LINE_STATE) == FM_LINE_SHARED))
		return false;
	translated = locate_recent(pages, view->page_ways, FM_LINE_KEY(page));
	if (translated < 0)
		return false;
	if (store)
		set[way] |= FM_LINE_MODIFIED;
	make_first(pages, translated);
	make_first(set, way);
	return true;
}

unsigned FM_QUICK_ACCESS(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t address,
                         unsigned bytes, enum fm_access access)
{
	uint64_t line = address >> hierarchy->line_shift;
	uint64_t end = (address + bytes - 1) >> hierarchy->line_shift;
	uint64_t page = address >> hierarchy->page_shift;
	struct fm_page_leaf *untouched = NULL;
	int served;

	if (line != end || access == FM_ACCESS_STORE_NONTEMPORAL || hierarchy->careful ||
	    (access == FM_ACCESS_STORE_WHOLE && !hierarchy->description.string_allocates))
		return fm_hierarchy_access_any(hierarchy, core, address, bytes, access);
	if (core->view.page_lines[(page & core->view.page_mask) * core->view.page_ways] !=
	    (FM_LINE_KEY(page) | FM_LINE_EXCLUSIVE)) {
		expect_miss(core->arrays[2], line);
		untouched = translate(hierarchy, core, page);
	}
	served = access_line(hierarchy, core, line, access != FM_ACCESS_LOAD);
	/* Whether we touched the page ourselves did not matter so far: what nobody touched is not remote, as if we had.
	   By now it has arrived. */
	if (untouched)
		fm_page_touch(untouched, page, core);
	if (served < 0)
		return fm_hierarchy_access_any(hierarchy, core, address, bytes, access);
	if (access != FM_ACCESS_LOAD) {
		core->counts.stores++;
		core->counts.store_bytes += bytes;
	} else {
		core->counts.loads++;
		core->counts.load_bytes += bytes;
	}
	return (unsigned)served;
}
