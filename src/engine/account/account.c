#include "engine/account/account.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "engine/account/objects.h"
#include "engine/account/places.h"
#include "engine/account/room.h"
#include "simulator/space.h"

struct fm_account fm_account;

int fm_account_begin(const struct fm_machine_description *description, bool prefetch, struct fm_error *error)
{
	int status = fm_hierarchy_create_in(description, fm_account.results->cores, &fm_account.hierarchy, error);

	if (status)
		return status;
	fm_account.hierarchy->prefetch = prefetch;
	fm_account.cache_count = description->cache_count;
	for (unsigned i = 0; i < description->cache_count; i++)
		fm_account.latency[i] = description->caches[i].latency;
	fm_account.latency[FM_SERVED_MEMORY] = description->memory_latency;
	fm_account.latency[FM_SERVED_REMOTE] = description->memory_remote_latency;
	fm_account.latency[FM_SERVED_CORE] = description->caches[description->cache_count - 1].latency;
	return 0;
}

unsigned fm_account_core_list(const char *text, unsigned *ret_list, unsigned room)
{
	unsigned count = 0;

	while (*text) {
		char *end;
		unsigned long first = strtoul(text, &end, 10), last = first;

		if (end == text)
			return 0;
		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		for (; first <= last; first++) {
			if (first >= fm_account.hierarchy->core_count || count == room)
				return 0;
			ret_list[count++] = (unsigned)first;
		}
		text = end + (*end == '+');
	}
	return count;
}

bool fm_account_claim_least(unsigned cores, bool timing)
{
	struct fm_results *results = fm_account.results;

	return fm_room_claim(results, offsetof(struct fm_results, cores)) &&
	       fm_room_claim(results->cores, cores * sizeof(results->cores[0])) &&
	       (!timing || fm_room_claim(results->timings, cores * sizeof(results->timings[0])));
}

/* Not those of programs beside it, whose space is another. */
static size_t keep_own(struct fm_shared_line *lines, struct fm_line_users *users, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (!fm_space_of(lines[i].line)) {
			lines[kept] = lines[i];
			users[kept++] = users[i];
		}
	return kept;
}

void fm_account_publish_lines(void)
{
	static struct fm_shared_line lines[FM_RESULT_LINES_MAX];
	static struct fm_line_users users[FM_RESULT_LINES_MAX];
	struct fm_results *results = fm_account.results;
	size_t count;

	count = fm_hierarchy_shared_lines(fm_account.hierarchy, lines, users, FM_RESULT_LINES_MAX);
	if (results->beside_count)
		count = keep_own(lines, users, count);
	/* what has come so far is better than nothing */
	while (count && (!fm_room_claim(results->lines, count * sizeof(lines[0])) ||
	                 !fm_room_claim(results->line_users, count * sizeof(users[0]))))
		count /= 2;
	memcpy(results->lines, lines, count * sizeof(lines[0]));
	memcpy(results->line_users, users, count * sizeof(users[0]));
	results->line_count = (uint32_t)count;
	results->simulator_bytes = fm_account.hierarchy->memory_bytes;
}

struct fm_result_slot *fm_account_find_slot(struct fm_result_site *site, uint64_t address)
{
	struct fm_result_slot *slot = fm_account_likely_slot(site, address);

	return fm_account_in_slot(slot, address) ? slot : fm_objects_change(site, address);
}

unsigned fm_account_slowly(struct fm_engine_side *side, struct fm_result_site *site, uint64_t address, unsigned bytes,
                           enum fm_access access)
{
	return fm_account_in(side, site, fm_account_find_slot(site, address), address, bytes, access);
}

__attribute__((hot)) unsigned fm_account_in(struct fm_engine_side *side, struct fm_result_site *site,
                                            struct fm_result_slot *slot, uint64_t address, unsigned bytes,
                                            enum fm_access access)
{
	/* whoever calls has tried the fast path */
	unsigned served = fm_account.hierarchy->access_slowly(fm_account.hierarchy, side->core, address, bytes, access);

	if (access == FM_ACCESS_LOAD)
		slot->loads++;
	else
		slot->stores++;
	/* time goes on in a repeated instruction, though it is only one */
	side->delay += access == FM_ACCESS_STORE_WHOLE;
	if (served) {
		side->delay += fm_account.latency[served];
		fm_misses_note(side, site, slot, address, served);
		if (served == FM_SERVED_CORE)
			fm_hierarchy_note_site(fm_account.hierarchy, side->core, address, fm_places_of(site)->address);
	}
	return served;
}
