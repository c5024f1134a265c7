#include "engine/account/misses.h"

#include <stdbool.h>
#include <string.h>

#include "engine/account/objects.h"
#include "engine/account/places.h"
#include "engine/account/account.h"

static inline uint64_t lines_of(const struct fm_cache_counts *counts)
{
	return counts->lines_demand + counts->lines_ownership + counts->lines_prefetch;
}

/* The lines that came into one cache. */
static inline void note_level(const struct fm_simulated_core *core, uint64_t *before, struct fm_result_place *place,
                              struct fm_result_object *object, const unsigned level)
{
	uint64_t lines = lines_of(&core->counts.caches[level]), moved = lines - before[level];

	if (!moved)
		return;
	before[level] = lines;
	place->moved[level] += moved;
	object->moved[level] += moved;
}

/* Levels that the machine does not have count nothing; few machines have the last. One number after the other: a vector
   that is loaded from where its numbers were just stored waits for them. */
static inline void note_lines(const struct fm_account *account, const struct fm_simulated_core *core, uint64_t *before,
                              struct fm_result_place *place, struct fm_result_object *object)
{
	_Static_assert(FM_SIMULATED_CACHES_MAX == 4, "all of them");
	note_level(core, before, place, object, 0);
	note_level(core, before, place, object, 1);
	note_level(core, before, place, object, 2);
	if (account->cache_count > 3)
		note_level(core, before, place, object, 3);
}

static inline uint64_t requests_of(const struct fm_simulated_core *core)
{
	const struct fm_cache_counts *caches = core->counts.caches;

	_Static_assert(FM_SIMULATED_CACHES_MAX == 4, "all of them");
	return caches[0].prefetch_requests + caches[1].prefetch_requests + caches[2].prefetch_requests +
	       caches[3].prefetch_requests;
}

static inline bool is_alike(const struct fm_account *account, uint64_t difference, uint64_t other)
{
	const uint64_t most = account->line_mask;

	return difference - other + most <= 2 * most;
}

/* Not as far from the miss before as that one from its own predecessor. */
static __attribute__((noinline)) void note_turn(const struct fm_account *account, struct fm_miss_history *walk,
                                                struct fm_result_place *place, uint64_t difference)
{
	unsigned like = 0;

	while (like < walk->known && !is_alike(account, difference, walk->differences[like]))
		like++;
	if (like < walk->known)
		place->regular++;
	else if (walk->known)
		place->irregular++;
	/* the latest comes first: the one like it makes room, or the oldest */
	if (like == walk->known && walk->known < FM_WALK_DIFFERENCES)
		walk->known++;
	else if (like == walk->known)
		like--;
	for (; like; like--)
		walk->differences[like] = walk->differences[like - 1];
	walk->differences[0] = difference;
}

/* As far from the miss before as one of the last few was from its own predecessor, give or take a line: nested loops
   and instructions that go to and fro between arrays have more than one such distance. */
static inline void note_walk(struct fm_engine_side *side, const struct fm_result_site *site,
                             struct fm_result_place *place, uint64_t address)
{
	struct fm_miss_history *walk = &side->walks[(uintptr_t)site / sizeof(*site) % FM_WALKS];
	uint64_t difference = address - walk->last;

	if (walk->site != site) {
		*walk = (struct fm_miss_history){.site = site, .last = address};
		return;
	}
	walk->last = address;
	if (walk->known && is_alike(side->account, difference, walk->differences[0])) {
		place->regular++;
		walk->differences[0] = difference;
	} else {
		note_turn(side->account, walk, place, difference);
	}
}

/* By the number of levels that were missed. */
static const uint64_t missed[FM_SIMULATED_CACHES_MAX + 1][FM_SIMULATED_CACHES_MAX] = {
    {0}, {1}, {1, 1}, {1, 1, 1}, {1, 1, 1, 1}};
_Static_assert(FM_SIMULATED_CACHES_MAX == 4, "one row for each number of levels");

/* A line from beyond the second cache. */
static __attribute__((noinline)) void note_far(struct fm_engine_side *side, const struct fm_result_site *site,
                                               const struct fm_result_slot *slot, uint64_t address, unsigned served)
{
	struct fm_account *account = side->account;
	struct fm_result_place *place = fm_places_of(account, site);
	struct fm_result_object *object = fm_objects_of(account, place, (unsigned)(slot - site->slots));
	struct fm_counted_lines *before = &account->counted[side->core->index];
	/* a line from another core's private cache missed ours; the last cache was asked, but not missed */
	unsigned levels = served == FM_SERVED_CORE ? account->hierarchy->private_caches : account->cache_count;

	levels = levels < served ? levels : served;
	if (levels > FM_SIMULATED_CACHES_MAX)
		levels = FM_SIMULATED_CACHES_MAX;
	for (unsigned i = 0; i < FM_SIMULATED_CACHES_MAX; i++)
		place->misses[i] += missed[levels][i];
	for (unsigned i = 0; i < FM_SIMULATED_CACHES_MAX; i++)
		object->misses[i] += missed[levels][i];
	before->requests = requests_of(side->core);
	note_lines(account, side->core, before->lines, place, object);
	note_walk(side, site, place, address);
}

void fm_misses_note(struct fm_engine_side *side, const struct fm_result_site *site, const struct fm_result_slot *slot,
                    uint64_t address, unsigned served)
{
	struct fm_account *account = side->account;
	struct fm_result_place *place;
	struct fm_result_object *object;
	struct fm_counted_lines *before;
	uint64_t requests;

	/* mostly the second cache had the line; this is shorter without the other case in it */
	if (__builtin_expect(served != 1, 0)) {
		note_far(side, site, slot, address, served);
		return;
	}
	place = fm_places_of(account, site);
	object = fm_objects_of(account, place, (unsigned)(slot - site->slots));
	before = &account->counted[side->core->index];
	requests = requests_of(side->core);
	place->misses[0]++;
	object->misses[0]++;
	if (requests == before->requests) {
		/* no prefetches since */
		note_level(side->core, before->lines, place, object, 0);
	} else {
		before->requests = requests;
		note_lines(account, side->core, before->lines, place, object);
	}
	note_walk(side, site, place, address);
}

void fm_misses_after_fork(struct fm_account *account)
{
	memset(account->counted, 0, sizeof(account->counted));
}
