#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/stat_text.h"
#include "symbols/symbols.h"

static void add_timing(struct fm_timing_counts *target, const struct fm_timing_counts *other)
{
	uint64_t *a = (uint64_t *)target;
	const uint64_t *b = (const uint64_t *)other;

	for (size_t i = 0; i < sizeof(*target) / sizeof(*a); i++)
		a[i] += b[i];
}

static void add_process(struct fm_stat *stat, const struct fm_results *results)
{
	for (unsigned i = 0; i < results->thread_count; i++) {
		struct fm_core_counts counts;
		struct fm_timing_counts timing;

		fm_result_thread_counts(results, i, &counts, &timing);
		fm_core_counts_add(&stat->total, &counts);
		add_timing(&stat->timing, &timing);
		stat->instructions += results->threads[i].instructions;
	}
}

/* Sites with their names, then merged by function and by line. */

static int by_function(const void *left, const void *right)
{
	const struct fm_stat_place *a = left, *b = right;
	int order = strcmp(a->function, b->function);

	return order ? order : strcmp(a->module, b->module);
}

static int by_line(const void *left, const void *right)
{
	const struct fm_stat_place *a = left, *b = right;
	int order = strcmp(a->file, b->file);

	if (!order)
		order = (a->line > b->line) - (a->line < b->line);
	return order ? order : by_function(left, right);
}

static uint64_t weight(const struct fm_stat_place *place)
{
	/* misses far down count most; ties by accesses */
	return 1000 * place->misses[2] + 100 * place->misses[1] + 10 * place->misses[0] + place->loads + place->stores;
}

static int heaviest_first(const void *left, const void *right)
{
	uint64_t a = weight(left), b = weight(right);

	return a < b ? 1 : a > b ? -1 : by_line(left, right);
}

static size_t merge(const struct fm_stat_place *places, size_t count, int (*order)(const void *, const void *),
                    struct fm_stat_place **ret_merged)
{
	struct fm_stat_place *merged = malloc((count + 1) * sizeof(*merged));
	size_t used = 0;

	if (!merged)
		return 0;
	memcpy(merged, places, count * sizeof(*merged));
	qsort(merged, count, sizeof(*merged), order);
	for (size_t i = 0; i < count; i++) {
		if (used && !order(&merged[used - 1], &merged[i])) {
			merged[used - 1].loads += merged[i].loads;
			merged[used - 1].stores += merged[i].stores;
			for (unsigned k = 0; k < FM_SIMULATED_CACHES_MAX; k++)
				merged[used - 1].misses[k] += merged[i].misses[k];
		} else {
			merged[used++] = merged[i];
		}
	}
	qsort(merged, used, sizeof(*merged), heaviest_first);
	*ret_merged = merged;
	return used;
}

static bool is_used(const struct fm_results *results, size_t site)
{
	const struct fm_result_place *place = &results->places[site];
	const struct fm_result_slot *slots = results->sites[site].slots;

	return place->loads || place->stores || slots[0].loads || slots[0].stores || slots[1].loads || slots[1].stores;
}

static int name_sites(struct fm_stat *stat, const struct fm_results *results, struct fm_error *error)
{
	struct fm_symbols *symbols;
	struct fm_stat_place *places;
	size_t count = 0, room = 0;
	int status = fm_symbols_create(&symbols, error);

	if (status)
		return status;
	for (unsigned i = 0; i < results->module_count; i++)
		fm_symbols_add(symbols, results->modules[i].path, results->modules[i].begin, results->modules[i].end,
		               results->modules[i].offset);
	fm_symbols_ready(symbols);
	for (size_t i = 0; i < results->site_count; i++)
		room += is_used(results, i);
	places = calloc(room + 1, sizeof(*places));
	if (!places) {
		fm_symbols_destroy(symbols);
		return fm_error_set(error, ENOMEM, "out of memory");
	}
	for (size_t i = 0; i < results->site_count; i++) {
		const struct fm_result_place *site = &results->places[i];
		const struct fm_result_slot *slots = results->sites[i].slots;
		struct fm_stat_place *place = &places[count];
		struct fm_location_names names;

		if (!is_used(results, i))
			continue;
		fm_symbols_find(symbols, site->address, &names);
		memcpy(place->function, names.function, sizeof(place->function));
		memcpy(place->file, names.file, sizeof(place->file));
		memcpy(place->module, names.module, sizeof(place->module));
		place->line = names.line;
		place->loads = site->loads + slots[0].loads + slots[1].loads;
		place->stores = site->stores + slots[0].stores + slots[1].stores;
		memcpy(place->misses, site->misses, sizeof(place->misses));
		count++;
	}
	fm_symbols_destroy(symbols);
	stat->function_count = merge(places, count, by_function, &stat->functions);
	stat->line_count = merge(places, count, by_line, &stat->lines);
	free(places);
	return 0;
}

int fm_stat_build(const struct fm_machine_description *machine, const struct fm_engine_options *options,
                  const struct fm_engine_run *run, const char *program, struct fm_stat *ret_stat,
                  struct fm_error *error)
{
	struct fm_stat stat = {.machine = machine, .options = options, .run = run, .program = program};
	int status;

	add_process(&stat, run->results);
	for (unsigned i = 0; i < run->forked_count; i++)
		add_process(&stat, run->forked[i]);
	status = name_sites(&stat, run->results, error);
	if (status)
		return status;
	*ret_stat = stat;
	return 0;
}

void fm_stat_free(struct fm_stat *stat)
{
	free(stat->functions);
	free(stat->lines);
	memset(stat, 0, sizeof(*stat));
}
