/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exact/plugin/places.h"

#include <stdio.h>
#include <string.h>

#include "exact/plugin/state.h"

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
		if (address < begin || address >= end || results->module_count == FM_RESULT_MODULES_MAX)
			continue;
		line[strcspn(line, "\n")] = 0;
		module->begin = begin;
		module->end = end;
		module->offset = offset;
		snprintf(module->path, sizeof(module->path), "%s", line + path);
		results->module_count++;
		break;
	}
	if (maps)
		fclose(maps);
}

struct fm_result_site *fm_places_find(uint64_t address)
{
	static struct fm_result_site nowhere;
	struct fm_results *results = fm_engine.results;
	size_t slot = (address * 0x9e3779b97f4a7c15u) >> 40;

	for (unsigned probe = 0; probe < 64; probe++) {
		struct fm_result_site *site = &results->sites[(slot + probe) % FM_RESULT_SITES_MAX];

		if (site->address == address)
			return site;
		if (!site->address) {
			site->address = address;
			results->site_count++;
			return site;
		}
	}
	results->lost_sites++;
	return &nowhere;
}
