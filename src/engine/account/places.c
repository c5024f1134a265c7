#include "engine/account/places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/account/objects.h"

void fm_places_note_program(struct fm_account *account, const char *path)
{
	snprintf(account->results->program, sizeof(account->results->program), "%s", path ? path : "?");
}

static bool is_known(const struct fm_account *account, uint64_t address)
{
	const struct fm_results *results = account->results;

	for (unsigned i = 0; i < results->module_count; i++)
		if (address >= results->modules[i].begin && address < results->modules[i].end)
			return true;
	return false;
}

void fm_places_add_module(struct fm_account *account, uint64_t begin, uint64_t end, uint64_t offset, const char *path)
{
	struct fm_results *results = account->results;
	struct fm_result_module *module = &results->modules[results->module_count];

	if (is_known(account, begin) || results->module_count == FM_RESULT_MODULES_MAX ||
	    !fm_room_claim(&account->room, module, sizeof(*module)))
		return;
	module->begin = begin;
	module->end = end;
	module->offset = offset;
	snprintf(module->path, sizeof(module->path), "%s", path);
	if (account->before_objects)
		account->before_objects();
	fm_objects_add_module(account, results->module_count++);
}

void fm_places_note_module(struct fm_account *account, uint64_t address)
{
	char line[512];
	FILE *maps;

	if (is_known(account, address))
		return;
	maps = fopen("/proc/self/maps", "re");
	while (maps && fgets(line, sizeof(line), maps)) {
		unsigned long begin, end, offset;
		int path = 0;

		if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %n", &begin, &end, &offset, &path) < 3 || !path ||
		    address < begin || address >= end)
			continue;
		line[strcspn(line, "\n")] = 0;
		fm_places_add_module(account, begin, end, offset, line + path);
		break;
	}
	if (maps)
		fclose(maps);
}

static bool has_room(struct fm_account *account, uint32_t index)
{
	struct fm_results *results = account->results;

	return fm_room_claim(&account->room, &results->sites[index], sizeof(results->sites[0])) &&
	       fm_room_claim(&account->room, &results->places[index], sizeof(results->places[0]));
}

struct fm_result_site *fm_places_find(struct fm_account *account, uint64_t address)
{
	struct fm_results *results = account->results;
	size_t slot = (address * 0x9e3779b97f4a7c15u) >> 40;
	uint32_t *slots;
	uint64_t *addresses;

	if (!account->index.slots) {
		account->index.slots = calloc(2 * FM_RESULT_SITES_MAX, sizeof(*account->index.slots));
		account->index.addresses = calloc(FM_RESULT_SITES_MAX, sizeof(*account->index.addresses));
	}
	slots = account->index.slots;
	addresses = account->index.addresses;
	for (size_t probe = 0; slots && addresses && probe < FM_RESULT_SITES_MAX; probe++) {
		uint32_t *place = &slots[(slot + probe) % (2 * FM_RESULT_SITES_MAX)];
		struct fm_result_site *site;

		if (*place) {
			if (addresses[*place - 1] == address)
				return &results->sites[*place - 1];
			continue;
		}
		if (results->site_count == FM_RESULT_SITES_MAX || !has_room(account, results->site_count))
			break;
		results->places[results->site_count].address = addresses[results->site_count] = address;
		site = &results->sites[results->site_count++];
		*place = results->site_count;
		return site;
	}
	results->lost_sites++;
	return &account->site_nowhere;
}

uint64_t fm_places_address(const struct fm_account *account, const struct fm_result_site *site)
{
	size_t index = (size_t)(site - account->results->sites);

	return index < FM_RESULT_SITES_MAX ? account->index.addresses[index] : 0;
}

void fm_places_claim(struct fm_account *account, const struct fm_result_site *site)
{
	struct fm_results *results = account->results;
	size_t index = (size_t)(site - results->sites);

	/* the parent's, used here for the first time */
	if (index < FM_RESULT_SITES_MAX && !has_room(account, (uint32_t)index) && !site->slots[0].size)
		results->lost_sites++;
}

bool fm_places_is_used(const struct fm_result_site *site)
{
	return site->slots[0].size || site->slots[1].size;
}

void fm_places_inherit(struct fm_account *account, uint32_t sites, uint32_t objects)
{
	/* numbers only: copies of addresses and names would fill the memory of thousands of forks */
	account->results->site_count = sites;
	account->results->object_count = objects;
}
