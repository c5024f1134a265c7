#include "engine/account/account.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "engine/account/objects.h"
#include "engine/account/places.h"
#include "simulator/space.h"

struct fm_account *fm_account_create(void)
{
	struct fm_account *account = fm_memory_apart(1, sizeof(*account));

	if (!account)
		return NULL;
	pthread_mutex_init(&account->known.mutex, NULL);
	fm_room_init(&account->room);
	return account;
}

void fm_account_destroy(struct fm_account *account)
{
	if (!account)
		return;
	fm_hierarchy_destroy(account->hierarchy);
	fm_objects_forget(account);
	free(account->index.slots);
	free(account->index.addresses);
	fm_room_release(&account->room);
	free(account);
}

int fm_account_begin(struct fm_account *account, const struct fm_machine_description *description, bool prefetch,
                     struct fm_error *error)
{
	int status = fm_hierarchy_create_in(description, account->results->cores, &account->hierarchy, error);

	if (status)
		return status;
	account->hierarchy->prefetch = prefetch;
	account->cache_count = description->cache_count;
	account->line_mask = (1ull << account->hierarchy->line_shift) - 1;
	for (unsigned i = 0; i < description->cache_count; i++)
		account->latency[i] = description->caches[i].latency;
	account->latency[FM_SERVED_MEMORY] = description->memory_latency;
	account->latency[FM_SERVED_REMOTE] = description->memory_remote_latency;
	account->latency[FM_SERVED_CORE] = description->caches[description->cache_count - 1].latency;
	return 0;
}

unsigned fm_account_core_list(const struct fm_account *account, const char *text, unsigned *ret_list, unsigned room)
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
			if (first >= account->hierarchy->core_count || count == room)
				return 0;
			ret_list[count++] = (unsigned)first;
		}
		text = end + (*end == '+');
	}
	return count;
}

bool fm_account_claim_least(struct fm_account *account, unsigned cores, bool timing)
{
	struct fm_results *results = account->results;

	return fm_room_claim(&account->room, results, offsetof(struct fm_results, cores)) &&
	       fm_room_claim(&account->room, results->cores, cores * sizeof(results->cores[0])) &&
	       (!timing || fm_room_claim(&account->room, results->timings, cores * sizeof(results->timings[0])));
}

/* Lines of programs beside it are in other address spaces. */
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

void fm_account_publish_lines(struct fm_account *account)
{
	struct fm_shared_line *lines = calloc(FM_RESULT_LINES_MAX, sizeof(*lines));
	struct fm_line_users *users = calloc(FM_RESULT_LINES_MAX, sizeof(*users));
	struct fm_results *results = account->results;
	size_t count = 0;

	if (lines && users)
		count = fm_hierarchy_shared_lines(account->hierarchy, lines, users, FM_RESULT_LINES_MAX);
	if (results->beside_count)
		count = keep_own(lines, users, count);
	/* a part of the lines is better than none */
	while (count && (!fm_room_claim(&account->room, results->lines, count * sizeof(lines[0])) ||
	                 !fm_room_claim(&account->room, results->line_users, count * sizeof(users[0]))))
		count /= 2;
	if (count) {
		memcpy(results->lines, lines, count * sizeof(lines[0]));
		memcpy(results->line_users, users, count * sizeof(users[0]));
	}
	results->line_count = (uint32_t)count;
	results->simulator_bytes = account->hierarchy->memory_bytes;
	free(lines);
	free(users);
}

struct fm_result_slot *fm_account_find_slot(struct fm_account *account, struct fm_result_site *site, uint64_t address)
{
	struct fm_result_slot *slot = fm_account_likely_slot(site, address);

	return fm_account_in_slot(slot, address) ? slot : fm_objects_change(account, site, address);
}

unsigned fm_account_slowly(struct fm_engine_side *side, struct fm_result_site *site, uint64_t address, unsigned bytes,
                           enum fm_access access)
{
	return fm_account_in(side, site, fm_account_find_slot(side->account, site, address), address, bytes, access);
}

__attribute__((hot)) unsigned fm_account_in(struct fm_engine_side *side, struct fm_result_site *site,
                                            struct fm_result_slot *slot, uint64_t address, unsigned bytes,
                                            enum fm_access access)
{
	struct fm_account *account = side->account;
	/* the caller has tried the fast path */
	unsigned served = account->hierarchy->access_slowly(account->hierarchy, side->core, address, bytes, access);

	if (access == FM_ACCESS_LOAD)
		slot->loads++;
	else
		slot->stores++;
	/* time goes on in a repeated instruction, though it is only one */
	side->delay += access == FM_ACCESS_STORE_WHOLE;
	if (served) {
		side->delay += account->latency[served];
		fm_misses_note(side, site, slot, address, served);
		if (served == FM_SERVED_CORE)
			fm_hierarchy_note_site(account->hierarchy, side->core, address,
			                       fm_places_of(account, site)->address);
	}
	return served;
}
