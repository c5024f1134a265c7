/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/qemu/places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/qemu/objects.h"
#include "engine/qemu/queue.h"
#include "engine/qemu/room.h"
#include "engine/qemu/state.h"

void fm_places_note_program(const char *path)
{
	snprintf(fm_engine.results->program, sizeof(fm_engine.results->program), "%s", path ? path : "?");
}

void fm_places_note_module(uint64_t address)
{
	struct fm_results *results = fm_engine.results;
	FILE *maps;
	char line[512];

	for (unsigned i = 0; i < results->module_count; i++)
		if (address >= results->modules[i].begin && address < results->modules[i].end)
			return;
	maps = fopen("/proc/self/maps", "re");
	while (maps && fgets(line, sizeof(line), maps)) {
		struct fm_result_module *module = &results->modules[results->module_count];
		unsigned long begin, end, offset;
		int path = 0;

		if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %n", &begin, &end, &offset, &path) < 3 || !path)
			continue;
		if (address < begin || address >= end || results->module_count == FM_RESULT_MODULES_MAX ||
		    !fm_room_claim(module, sizeof(*module)))
			continue;
		line[strcspn(line, "\n")] = 0;
		module->begin = begin;
		module->end = end;
		module->offset = offset;
		snprintf(module->path, sizeof(module->path), "%s", line + path);
		/* nobody may look at the objects meanwhile */
		fm_queue_drain();
		fm_objects_add_module(results->module_count++);
		break;
	}
	if (maps)
		fclose(maps);
}

/* Instructions that were translated together stand together. The index is the plugin's own. */
static uint32_t *slots; /* plus one */
static uint64_t *addresses;

static bool has_room(uint32_t index)
{
	struct fm_results *results = fm_engine.results;

	return fm_room_claim(&results->sites[index], sizeof(results->sites[0])) &&
	       fm_room_claim(&results->places[index], sizeof(results->places[0]));
}

struct fm_result_site *fm_places_find(uint64_t address)
{
	static struct fm_result_site nowhere;
	struct fm_results *results = fm_engine.results;
	size_t slot = (address * 0x9e3779b97f4a7c15u) >> 40;

	if (!slots) {
		slots = calloc(2 * FM_RESULT_SITES_MAX, sizeof(*slots));
		addresses = calloc(FM_RESULT_SITES_MAX, sizeof(*addresses));
	}
	for (size_t probe = 0; slots && addresses && probe < FM_RESULT_SITES_MAX; probe++) {
		uint32_t *place = &slots[(slot + probe) % (2 * FM_RESULT_SITES_MAX)];
		struct fm_result_site *site;

		if (*place) {
			if (addresses[*place - 1] == address)
				return &results->sites[*place - 1];
			continue;
		}
		if (results->site_count == FM_RESULT_SITES_MAX || !has_room(results->site_count))
			break;
		results->places[results->site_count].address = addresses[results->site_count] = address;
		site = &results->sites[results->site_count++];
		*place = results->site_count;
		return site;
	}
	results->lost_sites++;
	return &nowhere;
}

uint64_t fm_places_address(const struct fm_result_site *site)
{
	size_t index = (size_t)(site - fm_engine.results->sites);

	return index < FM_RESULT_SITES_MAX ? addresses[index] : 0;
}

struct fm_result_place *fm_places_of(const struct fm_result_site *site)
{
	static struct fm_result_place nowhere;
	struct fm_results *results = fm_engine.results;
	size_t index = (size_t)(site - results->sites);

	return index < FM_RESULT_SITES_MAX ? &results->places[index] : &nowhere;
}

void fm_places_claim(const struct fm_result_site *site)
{
	struct fm_results *results = fm_engine.results;
	size_t index = (size_t)(site - results->sites);

	/* the parent's, used here for the first time */
	if (index < FM_RESULT_SITES_MAX && !has_room((uint32_t)index) && !site->slots[0].size)
		results->lost_sites++;
}

bool fm_places_is_used(const struct fm_result_site *site)
{
	return site->slots[0].size || site->slots[1].size;
}

void fm_places_inherit(uint32_t sites, uint32_t objects)
{
	/* numbers only: what they stand for is in the parent's file, or thousands of forks would fill the memory with
	 * copies */
	fm_engine.results->site_count = sites;
	fm_engine.results->object_count = objects;
}
