#include "simulator/hierarchy.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/array.h"
#include "simulator/parts.h"
#include "simulator/tables.h"
#include "simulator/wide.h"
#include "simulator/tuning.h"

/* Where a line lives in memory. */
bool fm_hierarchy_is_remote(const struct fm_hierarchy *hierarchy, const struct fm_simulated_core *core, uint64_t line)
{
	uint64_t page = line >> (hierarchy->page_shift - hierarchy->line_shift);
	const struct fm_page_leaf *leaf;

	if (hierarchy->description.sockets == 1)
		return false;
	leaf = fm_pages_leaf(hierarchy->pages, page);
	return leaf && fm_page_home(leaf->pages[page % FM_LEAF_PAGES]) &&
	       fm_page_home(leaf->pages[page % FM_LEAF_PAGES]) != core->socket + 1;
}

static void write_memory(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t line)
{
	core->counts.memory_writes++;
	core->counts.memory_writes_remote += fm_hierarchy_is_remote(hierarchy, core, line);
}

/* Evictions. What goes out of a cache because of `core` is counted there. */

/* Every private copy below an inclusive cache must go with its line; true when one was modified. */
bool fm_hierarchy_back_invalidate(struct fm_hierarchy *hierarchy, const struct fm_array *shared, uint64_t line)
{
	bool modified = false;

	for (unsigned i = 0; i < hierarchy->active_cores; i++) {
		struct fm_simulated_core *core = hierarchy->active[i];

		if (core->arrays[fm_hierarchy_last_cache(hierarchy)] != shared)
			continue;
		fm_hierarchy_lock_core(hierarchy, core);
		for (unsigned level = 0; level < hierarchy->private_caches; level++)
			modified |= (fm_array_remove(core->arrays[level], line) & FM_LINE_STATE) == FM_LINE_MODIFIED;
		fm_hierarchy_unlock_core(hierarchy, core);
	}
	return modified;
}

/* A line has left the last cache: what was changed goes to memory. */
static void leave_last(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t gone)
{
	unsigned level = fm_hierarchy_last_cache(hierarchy);
	bool dirty = (gone & FM_LINE_STATE) == FM_LINE_MODIFIED;

	if (hierarchy->description.caches[level].inclusion == FM_INCLUSION_INCLUSIVE)
		dirty |= fm_hierarchy_back_invalidate(hierarchy, core->arrays[level], FM_LINE_OF(gone));
	if (dirty) {
		core->counts.caches[level].lines_written++;
		write_memory(hierarchy, core, FM_LINE_OF(gone));
	}
}

void fm_hierarchy_forget(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, double us)
{
	unsigned level = fm_hierarchy_last_cache(hierarchy), life = hierarchy->description.caches[level].life;
	struct fm_array *last = core->arrays[level];
	double lines = (double)(last->sets * last->ways);

	if (!life)
		return;
	hierarchy->to_forget += lines * fmin(us / life, 1);
	for (; hierarchy->to_forget >= 1; hierarchy->to_forget--) {
		uint64_t random = fm_array_random(last), *set = last->entries + random % last->sets * last->stride,
		         gone = set[(random >> 40) % last->ways];

		if (!gone)
			continue;
		fm_array_remove(last, FM_LINE_OF(gone));
		leave_last(hierarchy, core, gone);
	}
}

void fm_hierarchy_insert_shared(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t *set,
                                uint64_t line, unsigned state)
{
	unsigned level = fm_hierarchy_last_cache(hierarchy);
	uint64_t gone = fm_array_insert_in(core->arrays[level], set, line, state);

	if (gone)
		leave_last(hierarchy, core, gone);
}

/* A line leaves the last private cache. */
void fm_hierarchy_leave_private(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t entry)
{
	unsigned level = fm_hierarchy_last_cache(hierarchy);
	uint64_t line = FM_LINE_OF(entry);
	bool dirty = (entry & FM_LINE_STATE) == FM_LINE_MODIFIED;
	uint64_t *below, *set;

	if (!fm_hierarchy_has_shared(hierarchy)) {
		if (dirty)
			write_memory(hierarchy, core, line);
		return;
	}
	if (!dirty && hierarchy->description.caches[level].inclusion != FM_INCLUSION_VICTIM)
		return;
	set = fm_array_set(core->arrays[level], line);
	below = fm_array_find_in(core->arrays[level], set, line);
	if (below) {
		if (dirty)
			*below = FM_LINE_KEY(line) | FM_LINE_MODIFIED;
	} else {
		fm_hierarchy_insert_shared(hierarchy, core, set, line, dirty ? FM_LINE_MODIFIED : FM_LINE_EXCLUSIVE);
	}
}

/* A line leaves a private cache. */
static void evict_private(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, unsigned level,
                          uint64_t entry)
{
	uint64_t line = FM_LINE_OF(entry);
	bool dirty = (entry & FM_LINE_STATE) == FM_LINE_MODIFIED;
	uint64_t *below;

	if (dirty)
		core->counts.caches[level].lines_written++;
	if (level + 1 == hierarchy->private_caches) {
		/* what a cache above still holds has not left the core */
		fm_hierarchy_leave_private(hierarchy, core, entry & ~(uint64_t)FM_LINE_PREFETCHED);
		return;
	}
	if (!dirty)
		return;
	below = fm_array_find(core->arrays[level + 1], line);
	if (below)
		*below = FM_LINE_KEY(line) | FM_LINE_MODIFIED;
	else
		fm_hierarchy_insert_private(hierarchy, core, level + 1, line, FM_LINE_MODIFIED);
}

void fm_hierarchy_insert_private(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, unsigned level,
                                 uint64_t line, unsigned state)
{
	uint64_t gone;

	fm_hierarchy_lock_core(hierarchy, core);
	gone = fm_array_insert(core->arrays[level], line, state);
	fm_hierarchy_unlock_core(hierarchy, core);
	if (gone)
		evict_private(hierarchy, core, level, gone);
}

/* Other cores */

/* A mask of cores, by number modulo FM_PAGE_CORES, that touched the page and may be others than this one. */
uint64_t fm_hierarchy_touched_by_others(struct fm_hierarchy *hierarchy, const struct fm_simulated_core *core,
                                        uint64_t line)
{
	uint64_t page = line >> (hierarchy->page_shift - hierarchy->line_shift);
	const struct fm_page_leaf *leaf = fm_pages_leaf(hierarchy->pages, page);
	uint64_t cores = leaf ? fm_page_cores(leaf->pages[page % FM_LEAF_PAGES]) : 0;

	/* with more cores than bits another one may stand at our place of the mask */
	return hierarchy->physical_count > FM_PAGE_CORES ? cores : cores & ~(1ull << core->core);
}

struct fm_found fm_hierarchy_ask_others(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t line,
                                        bool take)
{
	struct fm_found found = {0};
	struct fm_shared_line *record;
	uint64_t cores = fm_hierarchy_touched_by_others(hierarchy, core, line);

	for (unsigned i = 0; cores && i < hierarchy->active_cores; i++) {
		struct fm_simulated_core *other = hierarchy->active[i];
		bool had = false, modified = false;

		if (other->core == core->core || !(cores >> other->core % FM_PAGE_CORES & 1))
			continue;
		fm_hierarchy_lock_core(hierarchy, other);
		for (unsigned level = 0; level < hierarchy->private_caches; level++) {
			uint64_t *entry = fm_array_peek(other->arrays[level], line);

			if (!entry)
				continue;
			had = true;
			modified |= (*entry & FM_LINE_STATE) == FM_LINE_MODIFIED;
			if (take)
				fm_array_remove(other->arrays[level], line);
			else
				*entry = FM_LINE_KEY(line) | FM_LINE_SHARED | (level ? 0 : FM_LINE_WATCHED);
		}
		fm_hierarchy_unlock_core(hierarchy, other);
		if (!had)
			continue;
		/* the one with the newest copy delivers it */
		if (!found.any || modified)
			found.from = other->index;
		found.any = true;
		found.modified |= modified;
		if (take) {
			core->counts.invalidations++;
			record = fm_lines_touch(hierarchy->lines, line);
			if (record)
				record->invalidations++;
		}
		if (modified && !take) {
			/* the reader gets the line and so does the level below */
			other->counts.caches[hierarchy->private_caches - 1].lines_written++;
			fm_hierarchy_leave_private(hierarchy, other, FM_LINE_KEY(line) | FM_LINE_MODIFIED);
		}
	}
	return found;
}

/* Is the user a hardware thread of the same core? */
static bool is_of_core(const struct fm_hierarchy *hierarchy, const struct fm_line_user *user,
                       const struct fm_simulated_core *core)
{
	return (user->core - 1) % hierarchy->physical_count == core->core;
}

/* The core gets a line that others have: was it worth it the last time? */
static void begin_use(struct fm_hierarchy *hierarchy, const struct fm_simulated_core *core,
                      struct fm_shared_line *record, bool prefetched)
{
	struct fm_line_users *users = record ? fm_lines_users(hierarchy->lines, record) : NULL;
	struct fm_line_user *user = users ? fm_line_user(users, core->index) : NULL;
	uint64_t stale = ~0ull, unseen = 0;

	if (!user)
		return;
	/* the other hardware threads of the core get it too; what one of them had was not new to any */
	for (unsigned i = 0; i < FM_LINE_USERS && users->users[i].core; i++)
		if (is_of_core(hierarchy, &users->users[i], core)) {
			users->false_transfers += users->users[i].pending == FM_PENDING_ASKED;
			/* what was prefetched in vain is still new */
			if (users->users[i].pending == FM_PENDING_PREFETCHED)
				unseen |= users->users[i].incoming;
			users->users[i].pending = FM_PENDING_NO;
			stale &= users->users[i].stale;
			users->users[i].stale = 0;
		}
	user->got++;
	user->pending = prefetched ? FM_PENDING_PREFETCHED : FM_PENDING_ASKED;
	user->fresh = 1;
	user->incoming = stale | unseen;
}

/* The density of the core's accesses to the line. The parts of one instruction are one step. */
static void note_step(struct fm_line_user *user, const struct fm_simulated_core *core, bool store)
{
	uint64_t position = core->position ? core->position : core->counts.loads + core->counts.stores,
	         step = position - user->at;

	if (step && user->at && step <= FM_LINE_NEAR) {
		user->near++;
		user->span += step;
		if (!core->position && step == 1 && !store && user->looked) {
			uint64_t cycles = user->moment && core->moment > user->moment ? core->moment - user->moment : 0;

			/* who looks again after longer than a turn has slept in between */
			user->looks++;
			user->look_cycles += cycles <= FM_LOOK_MOST ? cycles : 0;
		}
	}
	user->moment = core->moment;
	user->looked = !store;
	user->at = position;
}

/* An access to a watched line. With the hierarchy's lock held, or by the only thread. */
static void note_use(struct fm_hierarchy *hierarchy, const struct fm_simulated_core *core, uint64_t line, bool store)
{
	struct fm_shared_line *record = fm_lines_find(hierarchy->lines, line);
	struct fm_line_users *users = record && record->users ? fm_lines_users(hierarchy->lines, record) : NULL;
	struct fm_line_user *user = users ? fm_line_user(users, core->index) : NULL;

	if (!user)
		return;
	for (unsigned i = 0; i < FM_LINE_USERS && users->users[i].core; i++) {
		struct fm_line_user *fetcher = &users->users[i];

		if (fetcher->pending && fetcher->incoming & core->touching && is_of_core(hierarchy, fetcher, core)) {
			fetcher->pending = FM_PENDING_NO;
			users->true_transfers++;
		}
	}
	note_step(user, core, store);
	if (!store) {
		user->loads++;
		user->read |= core->touching;
		return;
	}
	user->stores++;
	user->atomics += core->locked;
	user->written |= core->touching;
	for (unsigned i = 0; i < FM_LINE_USERS && users->users[i].core; i++)
		if (!is_of_core(hierarchy, &users->users[i], core))
			users->users[i].stale |= core->touching;
}

void fm_hierarchy_note_site(struct fm_hierarchy *hierarchy, const struct fm_simulated_core *core, uint64_t address,
                            uint64_t site)
{
	struct fm_shared_line *record;
	struct fm_line_user *user = NULL;

	fm_hierarchy_lock(hierarchy, &hierarchy->lock);
	record = fm_lines_find(hierarchy->lines, address >> hierarchy->line_shift);
	if (record && record->users)
		user = fm_line_user(fm_lines_users(hierarchy->lines, record), core->index);
	/* a store to a line that is there already fetched nothing */
	if (user && !user->fresh)
		user = NULL;
	if (user)
		user->fresh = 0;
	/* the majority's candidate */
	if (user && user->site == site) {
		user->votes++;
	} else if (user && user->votes) {
		user->votes--;
	} else if (user) {
		user->site = site;
		user->votes = 1;
	}
	fm_hierarchy_unlock(hierarchy, &hierarchy->lock);
}

void fm_hierarchy_count_transfer(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t line,
                                 const struct fm_found *found, enum fm_asker asker)
{
	struct fm_shared_line *record = fm_lines_touch(hierarchy->lines, line);
	bool remote = hierarchy->cores[found->from].socket != core->socket, load = asker == FM_ASKER_LOAD;

	if (found->modified) {
		core->counts.transfers_modified++;
		core->counts.transfers_modified_remote += remote;
		core->counts.transfers_modified_loads += load;
		core->counts.transfers_modified_loads_remote += remote && load;
	} else {
		core->counts.transfers_clean++;
	}
	if (record && found->modified)
		record->modified++;
	else if (record)
		record->clean++;
	hierarchy->pairs[(size_t)found->from * hierarchy->core_count + core->index]++;
	begin_use(hierarchy, core, record, asker == FM_ASKER_PREFETCHER);
}

void fm_hierarchy_touch_page(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t page)
{
	struct fm_page_leaf *leaf = fm_pages_leaf(hierarchy->pages, page);

	if (leaf)
		fm_page_touch(leaf, page, core);
}

/* Demand accesses */

/* Fetch a line into all private caches from `level` up. Returns who served it. */
static unsigned fetch(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t line, uint64_t *last_set,
                      bool store)
{
	unsigned last = fm_hierarchy_last_cache(hierarchy), served = FM_SERVED_MEMORY, state = FM_LINE_EXCLUSIVE;
	struct fm_found found = {0};
	unsigned level;
	bool watched;

	for (level = 1; level < hierarchy->private_caches; level++) {
		struct fm_cache_counts *counts = &core->counts.caches[level];
		uint64_t *entry = fm_array_find(core->arrays[level], line);

		*(store ? (entry ? &counts->store_hits : &counts->store_misses)
		        : (entry ? &counts->load_hits : &counts->load_misses)) += 1;
		if (!entry)
			continue;
		if (*entry & FM_LINE_PREFETCHED) {
			counts->prefetch_hits++;
			*entry &= ~(uint64_t)FM_LINE_PREFETCHED;
		}
		state = *entry & FM_LINE_STATE;
		served = level;
		break;
	}
	if (served == FM_SERVED_MEMORY && hierarchy->active_cores > 1)
		found = fm_hierarchy_ask_others(hierarchy, core, line, store);
	if (served == FM_SERVED_MEMORY && fm_hierarchy_has_shared(hierarchy)) {
		struct fm_cache_counts *counts = &core->counts.caches[last];
		uint64_t *entry = fm_array_find_in(core->arrays[last], last_set, line);

		*(store ? (entry ? &counts->store_hits : &counts->store_misses)
		        : (entry ? &counts->load_hits : &counts->load_misses)) += 1;
		if (entry) {
			served = last;
			if (hierarchy->description.caches[last].inclusion == FM_INCLUSION_VICTIM) {
				/* it moves; what was dirty stays dirty */
				state = *entry & FM_LINE_STATE;
				fm_array_remove(core->arrays[last], line);
			}
		} else {
			*(store ? &counts->lines_ownership : &counts->lines_demand) += 1;
			if (hierarchy->description.caches[last].inclusion != FM_INCLUSION_VICTIM)
				fm_hierarchy_insert_shared(hierarchy, core, last_set, line, FM_LINE_EXCLUSIVE);
		}
	}
	if (found.any) {
		served = FM_SERVED_CORE;
		fm_hierarchy_count_transfer(hierarchy, core, line, &found, store ? FM_ASKER_STORE : FM_ASKER_LOAD);
		if (!store)
			state = FM_LINE_SHARED;
	} else if (served == FM_SERVED_MEMORY && core->unread) {
		core->counts.whole_lines++;
	} else if (served == FM_SERVED_MEMORY) {
		core->counts.memory_reads++;
		if (fm_hierarchy_is_remote(hierarchy, core, line)) {
			core->counts.memory_reads_remote++;
			served = FM_SERVED_REMOTE;
		}
	}
	if (store && served < hierarchy->private_caches && state == FM_LINE_SHARED) {
		core->counts.upgrades++;
		fm_hierarchy_ask_others(hierarchy, core, line, true);
	}
	/* One copy is responsible for what was changed: the first cache after a store, else the one furthest down. */
	for (unsigned fill = served < hierarchy->private_caches ? served : hierarchy->private_caches; fill-- > 1;) {
		*(store ? &core->counts.caches[fill].lines_ownership : &core->counts.caches[fill].lines_demand) += 1;
		fm_hierarchy_insert_private(hierarchy, core, fill, line,
		                            store && state == FM_LINE_SHARED ? FM_LINE_EXCLUSIVE : state);
		if (state == FM_LINE_MODIFIED)
			state = FM_LINE_EXCLUSIVE;
	}
	if (state == FM_LINE_MODIFIED && hierarchy->private_caches > 1)
		state = FM_LINE_EXCLUSIVE;
	*(store ? &core->counts.caches[0].lines_ownership : &core->counts.caches[0].lines_demand) += 1;
	watched = hierarchy->active_cores > 1 && fm_lines_find(hierarchy->lines, line);
	fm_hierarchy_insert_private(hierarchy, core, 0, line,
	                            (store ? FM_LINE_MODIFIED : state) | (watched ? FM_LINE_WATCHED : 0));
	if (watched)
		note_use(hierarchy, core, line, store);
	return served;
}

static unsigned access_line(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t line, bool store);

/* A line that is not in the first cache. */
static unsigned miss_line(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t line, bool store)
{
	struct fm_cache_counts *counts = &core->counts.caches[0];
	const struct fm_array *last = core->arrays[fm_hierarchy_last_cache(hierarchy)];
	uint64_t *last_set = fm_array_set(last, line);
	unsigned served;

	/* its set is likely needed, and far away: have it fetched while the private caches are searched */
	for (unsigned way = 0; way < last->stride; way += 64 / sizeof(*last_set))
		__builtin_prefetch(last_set + way, 1);
	fm_hierarchy_lock(hierarchy, &hierarchy->lock);
	/* another hardware thread of the core may have fetched it meanwhile */
	if (hierarchy->concurrent && hierarchy->core_count > hierarchy->physical_count) {
		bool found;

		fm_hierarchy_lock_core(hierarchy, core);
		found = fm_array_peek(core->arrays[0], line);
		fm_hierarchy_unlock_core(hierarchy, core);
		if (found) {
			fm_hierarchy_unlock(hierarchy, &hierarchy->lock);
			return access_line(hierarchy, core, line, store);
		}
	}
	*(store ? &counts->store_misses : &counts->load_misses) += 1;
	served = fetch(hierarchy, core, line, last_set, store);
	/* nor do prefetchers read lines for such stores */
	if (core->unread) {
		fm_hierarchy_unlock(hierarchy, &hierarchy->lock);
		return served == FM_SERVED_MEMORY ? fm_hierarchy_last_cache(hierarchy) : served;
	}
	if (hierarchy->prefetch)
		for (unsigned level = 1; level < hierarchy->private_caches && level <= served; level++)
			if (fm_hierarchy_prefetches(hierarchy, level))
				fm_hierarchy_train(hierarchy, core, level, line, level != served, store);
	if (hierarchy->prefetch && !store && served > 1 && hierarchy->private_caches > 1 &&
	    hierarchy->description.caches[0].next)
		fm_hierarchy_ask_next(hierarchy, core, line);
	fm_hierarchy_unlock(hierarchy, &hierarchy->lock);
	return served;
}

/* A store to a line of the first cache that others hold too. */
static unsigned upgrade_line(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t line)
{
	uint64_t *entry;

	fm_hierarchy_lock(hierarchy, &hierarchy->lock);
	core->counts.upgrades++;
	core->counts.caches[0].store_hits++;
	fm_hierarchy_ask_others(hierarchy, core, line, true);
	fm_hierarchy_lock_core(hierarchy, core);
	/* it may have been taken away between the two locks; then it comes back modified all the same */
	entry = fm_array_peek(core->arrays[0], line);
	if (entry)
		*entry = FM_LINE_KEY(line) | FM_LINE_MODIFIED | FM_LINE_WATCHED;
	fm_hierarchy_unlock_core(hierarchy, core);
	if (!entry)
		fm_hierarchy_insert_private(hierarchy, core, 0, line, FM_LINE_MODIFIED | FM_LINE_WATCHED);
	note_use(hierarchy, core, line, true);
	fm_hierarchy_unlock(hierarchy, &hierarchy->lock);
	return FM_SERVED_CORE;
}

/* One line of a demand access. */
static unsigned access_line(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t line, bool store)
{
	struct fm_cache_counts *counts = &core->counts.caches[0];
	uint64_t *entry;
	bool upgrade = false, watched = false;

	fm_hierarchy_lock_core(hierarchy, core);
	entry = fm_array_find(core->arrays[0], line);
	if (entry) {
		if (__builtin_expect(*entry & FM_LINE_PREFETCHED, 0)) {
			counts->prefetch_hits++;
			*entry &= ~(uint64_t)FM_LINE_PREFETCHED;
		}
		watched = *entry & FM_LINE_WATCHED;
		upgrade = store && (*entry & FM_LINE_STATE) == FM_LINE_SHARED;
		if (store && !upgrade)
			*entry |= FM_LINE_MODIFIED;
	}
	fm_hierarchy_unlock_core(hierarchy, core);
	if (!entry)
		return miss_line(hierarchy, core, line, store);
	if (upgrade)
		return upgrade_line(hierarchy, core, line);
	if (watched) {
		fm_hierarchy_lock(hierarchy, &hierarchy->lock);
		note_use(hierarchy, core, line, store);
		fm_hierarchy_unlock(hierarchy, &hierarchy->lock);
	}
	*(store ? &counts->store_hits : &counts->load_hits) += 1;
	return 0;
}

void fm_hierarchy_translate(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t page)
{
	bool known = false;

	fm_hierarchy_lock_core(hierarchy, core);
	for (unsigned i = 0; i < hierarchy->description.tlb_count && !known; i++) {
		bool wide = core->tlbs[i]->wide;

		known = wide ? fm_wide_find(core->tlbs[i], page) : fm_array_find(core->tlbs[i], page) != NULL;
		if (known)
			break;
		core->counts.tlb_misses[i]++;
		if (wide)
			fm_wide_insert(core->tlbs[i], page);
		else
			fm_array_insert(core->tlbs[i], page, FM_LINE_EXCLUSIVE);
	}
	fm_hierarchy_unlock_core(hierarchy, core);
	/* what is in a translation buffer has been touched before */
	if (known)
		return;
	fm_hierarchy_lock(hierarchy, &hierarchy->lock);
	fm_hierarchy_touch_page(hierarchy, core, page);
	fm_hierarchy_unlock(hierarchy, &hierarchy->lock);
}

/* Past the caches: every copy goes, and a line is written when the stores leave it. */
static unsigned store_past(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t line)
{
	bool remote;

	if (line == core->last_nontemporal_line)
		return 0;
	core->last_nontemporal_line = line;
	fm_hierarchy_lock(hierarchy, &hierarchy->lock);
	if (hierarchy->active_cores > 1)
		fm_hierarchy_ask_others(hierarchy, core, line, true);
	fm_hierarchy_lock_core(hierarchy, core);
	for (unsigned level = 0; level < hierarchy->private_caches; level++)
		fm_array_remove(core->arrays[level], line);
	fm_hierarchy_unlock_core(hierarchy, core);
	if (fm_hierarchy_has_shared(hierarchy))
		fm_array_remove(core->arrays[fm_hierarchy_last_cache(hierarchy)], line);
	core->counts.nontemporal_lines++;
	write_memory(hierarchy, core, line);
	remote = fm_hierarchy_is_remote(hierarchy, core, line);
	fm_hierarchy_unlock(hierarchy, &hierarchy->lock);
	return remote ? FM_SERVED_REMOTE : FM_SERVED_MEMORY;
}

/* One line of any access. */
static unsigned access_one(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t line,
                           enum fm_access access)
{
	uint64_t page = line >> (hierarchy->page_shift - hierarchy->line_shift);

	if (core->view.page_lines[(page & core->view.page_mask) * core->view.page_ways] !=
	    (FM_LINE_KEY(page) | FM_LINE_EXCLUSIVE))
		fm_hierarchy_translate(hierarchy, core, page);
	if (access == FM_ACCESS_LOAD)
		return access_line(hierarchy, core, line, false);
	if (access == FM_ACCESS_STORE_NONTEMPORAL)
		return store_past(hierarchy, core, line);
	return access_line(hierarchy, core, line, true);
}

/* One bit for each of 64 parts of a line: those from `first` to `last` byte. */
static uint64_t bytes_of_line(const struct fm_hierarchy *hierarchy, unsigned first, unsigned last)
{
	unsigned shift = hierarchy->line_shift > 6 ? hierarchy->line_shift - 6 : 0;

	first >>= shift;
	last >>= shift;
	return (last >= 63 ? ~0ull : (1ull << (last + 1)) - 1) & ~((1ull << first) - 1);
}

static __attribute__((noinline)) unsigned access_split(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core,
                                                       uint64_t address, uint64_t past, enum fm_access access)
{
	uint64_t line = address >> hierarchy->line_shift, end = (past - 1) >> hierarchy->line_shift;
	unsigned mask = (1u << hierarchy->line_shift) - 1, slowest = 0;

	core->counts.splits++;
	for (uint64_t first = line; line <= end; line++) {
		unsigned served;

		core->touching = bytes_of_line(hierarchy, line == first ? address & mask : 0,
		                               line == end ? (past - 1) & mask : mask);
		served = access_one(hierarchy, core, line, access);

		if (served > slowest)
			slowest = served;
	}
	return slowest;
}

unsigned fm_hierarchy_access_any(struct fm_hierarchy *hierarchy, struct fm_simulated_core *core, uint64_t address,
                                 unsigned bytes, enum fm_access access)
{
	uint64_t line = address >> hierarchy->line_shift;
	uint64_t end = (address + (bytes ? bytes - 1 : 0)) >> hierarchy->line_shift;

	if (access == FM_ACCESS_LOAD) {
		core->counts.loads++;
		core->counts.load_bytes += bytes;
	} else {
		core->counts.stores++;
		core->counts.store_bytes += bytes;
		core->counts.nontemporal_stores += access == FM_ACCESS_STORE_NONTEMPORAL;
	}
	core->unread = access == FM_ACCESS_STORE_WHOLE && !hierarchy->description.string_allocates &&
	               bytes == 1u << hierarchy->line_shift;
	if (__builtin_expect(line != end, 0))
		return access_split(hierarchy, core, address, address + bytes, access);
	/* how many are active is known under the lock only */
	if (hierarchy->concurrent || hierarchy->active_cores > 1) {
		unsigned offset = address & ((1u << hierarchy->line_shift) - 1);

		core->touching = bytes_of_line(hierarchy, offset, offset + (bytes ? bytes - 1 : 0));
	}
	return access_one(hierarchy, core, line, access);
}
