#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exact/numbers.h"
#include "report/stat_text.h"
#include "symbols/symbols.h"

void fm_stat_add_process(struct fm_stat *stat, const struct fm_results *results)
{
	for (unsigned i = 0; i < results->thread_count; i++) {
		struct fm_core_counts counts;
		struct fm_timing_counts timing;

		fm_result_thread_counts(results, i, &counts, &timing);
		fm_core_counts_add(&stat->total, &counts);
		fm_numbers_add(&stat->timing, &timing, sizeof(timing));
		fm_work_add(&stat->work, &results->threads[i].work);
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

/* Misses far down count most; ties by accesses. */
static uint64_t weight(const uint64_t *misses, uint64_t accesses)
{
	return 1000 * misses[2] + 100 * misses[1] + 10 * misses[0] + accesses;
}

static int heaviest_first(const void *left, const void *right)
{
	const struct fm_stat_place *first = left, *second = right;
	uint64_t a = weight(first->misses, first->loads + first->stores);
	uint64_t b = weight(second->misses, second->loads + second->stores);

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

/* Processes with the same files at the same addresses, which forked ones have, share their names. */
struct naming {
	const struct fm_results *results;
	struct fm_symbols *symbols;
};

enum { NAMINGS_MAX = 16 };

static bool same_modules(const struct fm_results *a, const struct fm_results *b)
{
	return a->module_count == b->module_count &&
	       !memcmp(a->modules, b->modules, a->module_count * sizeof(a->modules[0]));
}

static struct fm_symbols *symbols_for(const struct fm_results *results, struct naming *namings)
{
	for (unsigned k = 0; k < NAMINGS_MAX; k++) {
		struct fm_error error;

		if (namings[k].results && same_modules(namings[k].results, results))
			return namings[k].symbols;
		if (namings[k].results)
			continue;
		if (fm_symbols_create(&namings[k].symbols, &error))
			return NULL;
		namings[k].results = results;
		for (unsigned i = 0; i < results->module_count; i++)
			fm_symbols_add(namings[k].symbols, results->modules[i].path, results->modules[i].begin,
			               results->modules[i].end, results->modules[i].offset);
		fm_symbols_ready(namings[k].symbols);
		return namings[k].symbols;
	}
	return NULL;
}

/* A forked process has the numbers of its parent, and what they stand for is there. */
enum { GENERATIONS_MAX = 64 };

static const struct fm_results *parent_of(const struct fm_engine_run *run, const struct fm_results *results)
{
	if (results->executed || !results->parent)
		return NULL;
	if (run->results->process == results->parent)
		return run->results;
	for (unsigned i = 0; i < run->forked_count; i++)
		if (run->forked[i] != results && run->forked[i]->process == results->parent)
			return run->forked[i];
	return NULL;
}

static uint64_t address_of(const struct fm_engine_run *run, const struct fm_results *results, size_t site)
{
	for (unsigned i = 0; results && i < GENERATIONS_MAX; i++, results = parent_of(run, results))
		if (results->places[site].address)
			return results->places[site].address;
	return 0;
}

static const struct fm_result_object *object_of(const struct fm_engine_run *run, const struct fm_results *results,
                                                unsigned object, const struct fm_results **ret_owner)
{
	const struct fm_result_object *found = &results->objects[object];

	*ret_owner = results;
	for (unsigned i = 0; results && i < GENERATIONS_MAX; i++, results = parent_of(run, results))
		if (results->objects[object].size) {
			*ret_owner = results;
			return &results->objects[object];
		}
	return found;
}

/* The places of one process, appended. */
static int add_places(const struct fm_engine_run *run, const struct fm_results *results, struct naming *namings,
                      struct fm_stat_place **places, size_t *count)
{
	struct fm_symbols *symbols = symbols_for(results, namings);
	struct fm_stat_place *larger;
	size_t room = *count + 1;

	for (size_t i = 0; i < results->site_count; i++)
		room += is_used(results, i);
	larger = realloc(*places, room * sizeof(**places));
	if (!larger)
		return -ENOMEM;
	*places = larger;
	for (size_t i = 0; i < results->site_count; i++) {
		const struct fm_result_place *site = &results->places[i];
		const struct fm_result_slot *slots = results->sites[i].slots;
		struct fm_stat_place *place = &larger[*count];
		struct fm_location_names names = {.function = "?"};

		if (!is_used(results, i))
			continue;
		memset(place, 0, sizeof(*place));
		if (symbols)
			fm_symbols_find(symbols, address_of(run, results, i), &names);
		memcpy(place->function, names.function, sizeof(place->function));
		memcpy(place->file, names.file, sizeof(place->file));
		memcpy(place->module, names.module, sizeof(place->module));
		place->line = names.line;
		place->loads = site->loads + slots[0].loads + slots[1].loads;
		place->stores = site->stores + slots[0].stores + slots[1].stores;
		memcpy(place->misses, site->misses, sizeof(place->misses));
		++*count;
	}
	return 0;
}

static int name_sites(struct fm_stat *stat, const struct fm_engine_run *run, struct fm_error *error)
{
	struct naming namings[NAMINGS_MAX] = {{0}};
	struct fm_stat_place *places = NULL;
	size_t count = 0;
	int status = add_places(run, run->results, namings, &places, &count);

	for (unsigned i = 0; i < run->forked_count && !status; i++)
		status = add_places(run, run->forked[i], namings, &places, &count);
	for (unsigned i = 0; i < NAMINGS_MAX; i++)
		if (namings[i].symbols)
			fm_symbols_destroy(namings[i].symbols);
	if (!status) {
		stat->function_count = merge(places, count, by_function, &stat->functions);
		stat->line_count = merge(places, count, by_line, &stat->lines);
	}
	free(places);
	return status ? fm_error_set(error, ENOMEM, "out of memory") : 0;
}

/* Objects */

static int by_name(const void *left, const void *right)
{
	const struct fm_stat_object *a = left, *b = right;
	int order = strcmp(a->module, b->module);

	return order ? order : strcmp(a->name, b->name);
}

static int most_missed_first(const void *left, const void *right)
{
	const struct fm_stat_object *first = left, *second = right;
	uint64_t a = weight(first->misses, first->loads + first->stores);
	uint64_t b = weight(second->misses, second->loads + second->stores);

	return a < b ? 1 : a > b ? -1 : by_name(left, right);
}

static void add_object(struct fm_stat_object *target, const struct fm_stat_object *other)
{
	target->loads += other->loads;
	target->stores += other->stores;
	for (unsigned k = 0; k < FM_SIMULATED_CACHES_MAX; k++)
		target->misses[k] += other->misses[k];
}

static int add_objects(const struct fm_engine_run *run, const struct fm_results *results,
                       struct fm_stat_object **objects, size_t *count)
{
	struct fm_stat_object *larger = realloc(*objects, (*count + results->object_count + 1) * sizeof(**objects)),
	                      *own;

	if (!larger)
		return -ENOMEM;
	*objects = larger;
	own = larger + *count;
	for (unsigned i = 0; i < results->object_count; i++) {
		const struct fm_results *owner;
		const struct fm_result_object *object = &results->objects[i],
		                              *named = object_of(run, results, i, &owner);
		const char *path = named->module < owner->module_count ? owner->modules[named->module].path : "";
		const char *slash = strrchr(path, '/');

		memset(&own[i], 0, sizeof(own[i]));
		/* the file is shared with a process that is none of ours: end its texts ourselves */
		snprintf(own[i].name, sizeof(own[i].name), "%.*s", FM_RESULT_NAME - 1,
		         named->unnamed ? "(data without a name)" : named->name);
		snprintf(own[i].module, sizeof(own[i].module), "%.63s", slash ? slash + 1 : path);
		own[i].bytes = named->unnamed ? 0 : named->size;
		own[i].loads = object->loads;
		own[i].stores = object->stores;
		memcpy(own[i].misses, object->misses, sizeof(own[i].misses));
	}
	/* what was not settled yet */
	for (unsigned i = 0; i < results->site_count; i++)
		for (unsigned k = 0; k < 2; k++) {
			uint32_t object = results->places[i].objects[k];

			if (!object || object > results->object_count)
				continue;
			own[object - 1].loads += results->sites[i].slots[k].loads;
			own[object - 1].stores += results->sites[i].slots[k].stores;
		}
	*count += results->object_count;
	return 0;
}

static int list_objects(struct fm_stat *stat, const struct fm_engine_run *run, struct fm_error *error)
{
	struct fm_stat_object *objects = NULL, other = {.name = "(heap, stack and other memory)"};
	size_t count = 0, used = 0;
	int status = add_objects(run, run->results, &objects, &count);

	for (unsigned i = 0; i < run->forked_count && !status; i++)
		status = add_objects(run, run->forked[i], &objects, &count);
	if (status) {
		free(objects);
		return fm_error_set(error, ENOMEM, "out of memory");
	}
	qsort(objects, count, sizeof(*objects), by_name);
	for (size_t i = 0; i < count; i++) {
		if (used && !by_name(&objects[used - 1], &objects[i]))
			add_object(&objects[used - 1], &objects[i]);
		else
			objects[used++] = objects[i];
	}
	qsort(objects, used, sizeof(*objects), most_missed_first);
	/* the rest, from the functions, which are complete */
	for (size_t i = 0; i < stat->function_count; i++) {
		other.loads += stat->functions[i].loads;
		other.stores += stat->functions[i].stores;
		for (unsigned k = 0; k < FM_SIMULATED_CACHES_MAX; k++)
			other.misses[k] += stat->functions[i].misses[k];
	}
	for (size_t i = 0; i < used; i++) {
		other.loads -= objects[i].loads;
		other.stores -= objects[i].stores;
		for (unsigned k = 0; k < FM_SIMULATED_CACHES_MAX; k++)
			other.misses[k] -= objects[i].misses[k];
	}
	objects[used++] = other;
	stat->objects = objects;
	stat->object_count = used;
	return 0;
}

/* Lines that moved between cores */

const char *fm_sharing_kind(const struct fm_stat_sharing *sharing)
{
	uint64_t noted = sharing->true_transfers + sharing->false_transfers;

	if (noted < 2)
		return "unknown";
	return 2 * sharing->false_transfers > noted ? "false" : "true";
}

static int thread_on(const struct fm_results *results, unsigned core)
{
	for (unsigned i = 0; i < results->thread_count; i++)
		if (results->threads[i].core == core)
			return (int)i;
	return -1;
}

static const struct fm_result_object *object_at(const struct fm_results *results, uint64_t address)
{
	for (unsigned i = 0; i < results->object_count; i++)
		if (address - results->objects[i].begin < results->objects[i].size && !results->objects[i].unnamed)
			return &results->objects[i];
	return NULL;
}

/* The variable and field at an address. */
static void name_data(const struct fm_results *results, struct fm_symbols *symbols, uint64_t address, char *text,
                      size_t size)
{
	const struct fm_result_object *object = object_at(results, address);
	char name[FM_RESULT_NAME];

	*text = '\0';
	if (!object)
		return;
	snprintf(name, sizeof(name), "%.*s", FM_RESULT_NAME - 1, object->name);
	if (!symbols || !fm_symbols_field(symbols, name, address - object->begin, text, size))
		snprintf(text, size, "%s+%lu", name, (unsigned long)(address - object->begin));
}

static void name_sharing(const struct fm_results *results, struct fm_symbols *symbols, unsigned index,
                         unsigned bytes_per_bit, struct fm_stat_sharing *ret)
{
	const struct fm_shared_line *line = &results->lines[index];
	const struct fm_line_users *users = &results->line_users[index];

	*ret = (struct fm_stat_sharing){.line = line->line,
	                                .modified = line->modified,
	                                .clean = line->clean,
	                                .invalidations = line->invalidations,
	                                .true_transfers = users->true_transfers,
	                                .false_transfers = users->false_transfers};
	for (unsigned i = 0; i < FM_LINE_USERS; i++) {
		const struct fm_line_user *user = &users->users[i];
		struct fm_stat_sharer *sharer = &ret->users[ret->user_count];
		uint64_t touched = user->written ? user->written : user->read;
		struct fm_location_names names;

		if (!user->core || !touched)
			continue;
		ret->user_count++;
		*sharer = (struct fm_stat_sharer){
		    .thread = thread_on(results, user->core - 1), .read = user->read, .written = user->written};
		name_data(results, symbols, line->line + (uint64_t)__builtin_ctzll(touched) * bytes_per_bit,
		          sharer->field, sizeof(sharer->field));
		if (!*ret->object && *sharer->field)
			snprintf(ret->object, sizeof(ret->object), "%.*s", (int)strcspn(sharer->field, ".[+"),
			         sharer->field);
		if (!symbols || !user->site)
			continue;
		fm_symbols_find(symbols, user->site, &names);
		snprintf(sharer->function, sizeof(sharer->function), "%s", names.function);
		snprintf(sharer->file, sizeof(sharer->file), "%s", names.file);
		sharer->source_line = names.line;
	}
}

static int list_sharing(struct fm_stat *stat, const struct fm_engine_run *run, struct fm_error *error)
{
	const struct fm_results *results = run->results;
	struct naming namings[NAMINGS_MAX] = {{0}};
	unsigned count = results->line_count < FM_RESULT_LINES_MAX ? results->line_count : FM_RESULT_LINES_MAX;
	struct fm_symbols *symbols;

	stat->sharing = calloc(count + 1, sizeof(*stat->sharing));
	if (!stat->sharing)
		return fm_error_set(error, ENOMEM, "out of memory");
	if (!count)
		return 0;
	symbols = symbols_for(results, namings);
	for (unsigned i = 0; i < count; i++)
		name_sharing(results, i < 32 ? symbols : NULL, i,
		             stat->machine->line_bytes > 64 ? stat->machine->line_bytes / 64 : 1, &stat->sharing[i]);
	stat->sharing_count = count;
	fm_symbols_destroy(symbols);
	return 0;
}

static void add_region_work(struct fm_stat *stat, const struct fm_results *results, const char *region)
{
	for (unsigned i = 0; i < results->region_count && i < FM_RESULT_REGIONS_MAX; i++)
		if (!strncmp(results->regions[i].name, region, FM_RESULT_NAME))
			fm_work_add(&stat->work, &results->regions[i].work);
}

int fm_stat_build(const struct fm_machine_description *machine, const struct fm_engine_options *options,
                  const struct fm_engine_run *run, const char *program, struct fm_stat *ret_stat,
                  struct fm_error *error)
{
	struct fm_stat stat = {.machine = machine, .options = options, .run = run, .program = program};
	int status;

	fm_stat_add_process(&stat, run->results);
	for (unsigned i = 0; i < run->forked_count; i++)
		fm_stat_add_process(&stat, run->forked[i]);
	if (options->region && !options->last_instance) {
		/* accesses were counted inside only: so shall instructions be */
		stat.work = (struct fm_work){0};
		add_region_work(&stat, run->results, options->region);
		for (unsigned i = 0; i < run->forked_count; i++)
			add_region_work(&stat, run->forked[i], options->region);
	}
	status = name_sites(&stat, run, error);
	if (!status)
		status = list_objects(&stat, run, error);
	if (!status)
		status = list_sharing(&stat, run, error);
	if (status) {
		fm_stat_free(&stat);
		return status;
	}
	*ret_stat = stat;
	return 0;
}

void fm_stat_free(struct fm_stat *stat)
{
	free(stat->functions);
	free(stat->lines);
	free(stat->objects);
	free(stat->sharing);
	memset(stat, 0, sizeof(*stat));
}
