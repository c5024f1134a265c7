/* Prefetchers: what they learn from the accesses that reach their cache, and the lines they bring. */
#include "simulator/array.h"
#include "simulator/parts.h"
#include "simulator/streams.h"
#include "simulator/tables.h"

static bool held_by_others(struct fm_hierarchy *hierarchy, const struct fm_simulated_core *core, uint64_t line)
{
	if (hierarchy->active_cores < 2 || !fm_hierarchy_touched_by_others(hierarchy, core, line))
		return false;
	for (unsigned i = 0; i < hierarchy->active_cores; i++) {
		struct fm_simulated_core *other = hierarchy->active[i];
		bool held = false;

		if (other->core == core->core)
			continue;
		/* its first cache may be in the middle of moving this very line to the front */
		fm_hierarchy_lock_core(hierarchy, other);
		for (unsigned k = 0; !held && k < hierarchy->private_caches; k++)
			held = fm_array_peek(other->arrays[k], line);
		fm_hierarchy_unlock_core(hierarchy, other);
		if (held)
			return true;
	}
	return false;
}

static void count_request(struct fm_simulated_core *core, unsigned level, bool store)
{
	core->counts.caches[level].prefetch_requests++;
	core->counts.caches[level].prefetch_requests_ownership += store;
}

/* In the first cache a line is used without further questions, unless it is known to move between cores. */
static unsigned watch(const struct fm_hierarchy *hierarchy, uint64_t line)
{
	return hierarchy->active_cores > 1 && fm_lines_find(hierarchy->lines, line) ? FM_LINE_WATCHED : 0;
}

/* Into the private caches from `level` down to the one before `bottom`. As with demand, the copy furthest down is
   responsible for what was changed. */
static void fill_private(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, unsigned level,
                         unsigned bottom, uint64_t line, unsigned state, bool store)
{
	unsigned watched = level ? 0 : watch(hierarchy, line);

	while (bottom-- > level) {
		core->counts.caches[bottom].lines_prefetch++;
		core->counts.caches[bottom].lines_prefetch_ownership += store;
		fm_hierarchy_insert_private(hierarchy, core, bottom, line,
		                            state | FM_LINE_PREFETCHED | (bottom ? 0 : watched));
		if (state == FM_LINE_MODIFIED)
			state = FM_LINE_EXCLUSIVE;
	}
}

/* A line that another core has, for a load that is seen coming: both have it shared then. */
static void prefetch_from_core(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, unsigned level,
                               uint64_t line)
{
	unsigned last = fm_hierarchy_last_cache(hierarchy), below = level + 1;
	struct fm_found found;

	while (below < hierarchy->private_caches && !fm_array_peek(core->arrays[below], line))
		below++;
	/* what is further down in the core itself is no transfer */
	if (below < hierarchy->private_caches ||
	    (core->on_prefetch && !core->on_prefetch(core->prefetch_context, line, level, FM_SERVED_CORE, false)))
		return;
	fm_hierarchy_touch_page(hierarchy, core, line >> (hierarchy->page_shift - hierarchy->line_shift));
	count_request(core, level, false);
	found = fm_hierarchy_ask_others(hierarchy, core, line, false);
	fm_hierarchy_count_transfer(hierarchy, core, line, &found, FM_ASKER_PREFETCHER);
	if (fm_hierarchy_has_shared(hierarchy)) {
		uint64_t *set = fm_array_set(core->arrays[last], line);

		if (fm_array_find_in(core->arrays[last], set, line)) {
			core->counts.caches[last].prefetches_answered++;
		} else {
			core->counts.caches[last].lines_prefetch++;
			if (hierarchy->description.caches[last].inclusion != FM_INCLUSION_VICTIM)
				fm_hierarchy_insert_shared(hierarchy, core, set, line, FM_LINE_EXCLUSIVE);
		}
	}
	fill_private(hierarchy, core, level, hierarchy->private_caches, line, FM_LINE_SHARED, false);
}

/* Bring a line into a private cache ahead of its use. A copy elsewhere is left alone, unless the
   machine's description says otherwise; for stores always: prefetchers do not fight for lines. */
void fm_hierarchy_prefetch_line(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, unsigned level,
                                uint64_t line, bool store)
{
	unsigned caches = hierarchy->description.cache_count, last = caches - 1, below = level + 1;
	unsigned state = FM_LINE_EXCLUSIVE;

	if (fm_array_peek(core->arrays[level], line))
		return;
	if (held_by_others(hierarchy, core, line)) {
		if (!store && hierarchy->description.caches[level].others)
			prefetch_from_core(hierarchy, core, level, line);
		return;
	}
	while (below < caches && !fm_array_peek(core->arrays[below], line))
		below++;
	if (core->on_prefetch) {
		unsigned served = below < caches ? below : FM_SERVED_MEMORY;

		if (served == FM_SERVED_MEMORY && fm_hierarchy_is_remote(hierarchy, core, line))
			served = FM_SERVED_REMOTE;
		if (!core->on_prefetch(core->prefetch_context, line, level, served, store))
			return;
	}
	fm_hierarchy_touch_page(hierarchy, core, line >> (hierarchy->page_shift - hierarchy->line_shift));
	count_request(core, level, store);
	if (below < caches) {
		uint64_t *entry = fm_array_find(core->arrays[below], line);

		core->counts.caches[below].prefetches_answered++;
		if (below < hierarchy->private_caches) {
			if ((*entry & FM_LINE_STATE) == FM_LINE_SHARED)
				state = FM_LINE_SHARED;
		} else if (hierarchy->description.caches[last].inclusion == FM_INCLUSION_VICTIM) {
			state = *entry & FM_LINE_STATE;
			fm_array_remove(core->arrays[last], line);
		}
	} else {
		if (fm_hierarchy_has_shared(hierarchy)) {
			core->counts.caches[last].lines_prefetch++;
			core->counts.caches[last].lines_prefetch_ownership += store;
			if (hierarchy->description.caches[last].inclusion != FM_INCLUSION_VICTIM)
				fm_hierarchy_insert_shared(hierarchy, core, fm_array_set(core->arrays[last], line),
				                           line, FM_LINE_EXCLUSIVE);
		}
		core->counts.memory_reads++;
		core->counts.memory_reads_remote += fm_hierarchy_is_remote(hierarchy, core, line);
	}
	fill_private(hierarchy, core, level, below < hierarchy->private_caches ? below : hierarchy->private_caches,
	             line, state, store);
}

/* Ask the last cache to have a line. */
void fm_hierarchy_prefetch_beyond(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, unsigned level,
                                  uint64_t line, bool store)
{
	unsigned last = fm_hierarchy_last_cache(hierarchy);
	bool remote;

	count_request(core, level, store);
	if (fm_array_peek(core->arrays[last], line) || held_by_others(hierarchy, core, line))
		return;
	remote = fm_hierarchy_is_remote(hierarchy, core, line);
	if (core->on_prefetch &&
	    !core->on_prefetch(core->prefetch_context, line, last, remote ? FM_SERVED_REMOTE : FM_SERVED_MEMORY, store))
		return;
	fm_hierarchy_touch_page(hierarchy, core, line >> (hierarchy->page_shift - hierarchy->line_shift));
	core->counts.caches[last].lines_prefetch++;
	core->counts.caches[last].lines_prefetch_ownership += store;
	core->counts.memory_reads++;
	core->counts.memory_reads_remote += remote;
	fm_hierarchy_insert_shared(hierarchy, core, fm_array_set(core->arrays[last], line), line, FM_LINE_EXCLUSIVE);
}

void fm_hierarchy_train(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, unsigned level, uint64_t line,
                        bool miss, bool store)
{
	const struct fm_cache_description *cache = &hierarchy->description.caches[level];
	struct fm_stream_plan plan;
	struct stream *stream;

	if (miss && cache->adjacent) {
		uint64_t neighbour = fm_streams_neighbour(cache, line, fm_streams_shift(hierarchy));

		if (neighbour != line)
			fm_hierarchy_prefetch_line(hierarchy, core, level, neighbour, store);
	}
	stream = cache->streams ? fm_streams_learn(hierarchy, core, line, fm_streams_shift(hierarchy), cache->crosses)
	                        : NULL;
	if (!stream)
		return;
	plan = fm_streams_plan(cache, stream, line, fm_streams_shift(hierarchy), fm_hierarchy_goes_beyond(hierarchy));
	for (unsigned i = 0; i < plan.near + plan.across; i++)
		fm_hierarchy_prefetch_line(hierarchy, core, level, plan.next + i * plan.step, store);
	for (unsigned i = 0; i < plan.far; i++)
		fm_hierarchy_prefetch_beyond(hierarchy, core, level, plan.beyond + i * plan.step, store);
}

void fm_hierarchy_ask_next(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t line)
{
	unsigned page_lines_shift = fm_streams_shift(hierarchy);
	uint64_t next = line + 1, *below;

	/* physical pages again */
	if (next >> page_lines_shift != line >> page_lines_shift || fm_array_peek(core->arrays[0], next))
		return;
	core->counts.caches[0].prefetch_requests++;
	/* on its way, but not there: nothing is given, and the load will ask again */
	if (core->is_coming && core->is_coming(core->prefetch_context, next))
		return;
	below = fm_array_peek(core->arrays[1], next);
	/* the second cache's prefetchers learn from all that is asked for */
	if (fm_hierarchy_prefetches(hierarchy, 1)) {
		fm_hierarchy_train(hierarchy, core, 1, next, !below, false);
		below = fm_array_peek(core->arrays[1], next);
	}
	if (!below)
		return;
	core->counts.caches[0].lines_prefetch++;
	/* the copy below stays responsible for what was changed */
	fm_hierarchy_insert_private(hierarchy, core, 0, next,
	                            ((*below & FM_LINE_STATE) == FM_LINE_SHARED ? FM_LINE_SHARED : FM_LINE_EXCLUSIVE) |
	                                FM_LINE_PREFETCHED | watch(hierarchy, next));
}
