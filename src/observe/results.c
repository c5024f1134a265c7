/* The engine's counts, as rows of a recording: names for addresses, and sums over processes by name. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "observe/line_curves.h"
#include "observe/parts.h"
#include "replay/call_tree.h"
#include "simulator/numbers.h"
#include "symbols/symbols.h"

static const char unnamed_name[] = "(data without a name)", rest_name[] = "(heap, stack and other memory)";

static int by_line(const void *left, const void *right)
{
	const struct fm_recorded_place *a = left, *b = right;
	int order = strcmp(a->file, b->file);

	if (!order)
		order = (a->line > b->line) - (a->line < b->line);
	if (!order)
		order = strcmp(a->function, b->function);
	if (!order)
		order = strcmp(a->module, b->module);
	return order ? order : strcmp(a->inlined, b->inlined);
}

static void add_levels(uint64_t *target, const uint64_t *other)
{
	for (unsigned i = 0; i < FM_SIMULATED_CACHES_MAX; i++)
		target[i] += other[i];
}

/* Places of the same line, sorted and made one. Returns how many are left. */
static size_t merge_places(struct fm_recorded_place *places, size_t count)
{
	size_t used = 0;

	qsort(places, count, sizeof(*places), by_line);
	for (size_t i = 0; i < count; i++) {
		struct fm_recorded_place *last = used ? &places[used - 1] : NULL;

		if (!last || by_line(last, &places[i])) {
			places[used++] = places[i];
			continue;
		}
		last->loads += places[i].loads;
		last->stores += places[i].stores;
		last->regular += places[i].regular;
		last->irregular += places[i].irregular;
		add_levels(last->misses, places[i].misses);
		add_levels(last->moved, places[i].moved);
	}
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

/* A forked process has the numbers of its parent; the parent has their names. */
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
                      struct fm_recording *recording)
{
	struct fm_symbols *symbols = symbols_for(results, namings);

	for (size_t i = 0; i < results->site_count; i++) {
		const struct fm_result_place *site = &results->places[i];
		const struct fm_result_slot *slots = results->sites[i].slots;
		struct fm_location_names names = {.function = "?"};
		struct fm_recorded_place *place;

		if (!is_used(results, i))
			continue;
		place = fm_recording_add(recording, lines);
		if (!place)
			return -ENOMEM;
		if (symbols)
			fm_symbols_find(symbols, address_of(run, results, i), &names);
		snprintf(place->function, sizeof(place->function), "%s", names.function);
		snprintf(place->inlined, sizeof(place->inlined), "%s", names.inlined);
		if (names.frame_count)
			fm_symbols_chain(&names, place->chain, sizeof(place->chain));
		snprintf(place->file, sizeof(place->file), "%s", names.file);
		place->line = names.line;
		snprintf(place->module, sizeof(place->module), "%s", names.module);
		place->loads = site->loads + slots[0].loads + slots[1].loads;
		place->stores = site->stores + slots[0].stores + slots[1].stores;
		place->regular = site->regular;
		place->irregular = site->irregular;
		memcpy(place->misses, site->misses, sizeof(place->misses));
		memcpy(place->moved, site->moved, sizeof(place->moved));
	}
	return 0;
}

static int record_places(const struct fm_engine_run *run, struct naming *namings, struct fm_recording *recording)
{
	int r = add_places(run, run->results, namings, recording);

	for (unsigned i = 0; i < run->forked_count && !r; i++)
		r = add_places(run, run->forked[i], namings, recording);
	if (!r)
		recording->lines_count = merge_places(recording->lines, recording->lines_count);
	return r;
}

/* Objects */

static int by_name(const void *left, const void *right)
{
	const struct fm_recorded_object *a = left, *b = right;
	int order = strcmp(a->module, b->module);

	return order ? order : strcmp(a->name, b->name);
}

static void add_object(struct fm_recorded_object *target, const struct fm_recorded_object *other)
{
	if (other->bytes > target->bytes)
		target->bytes = other->bytes;
	target->loads += other->loads;
	target->stores += other->stores;
	add_levels(target->misses, other->misses);
	add_levels(target->moved, other->moved);
}

/* "solver.c:40 (make_grid)": the innermost frame in the program's own source, or else in a function with a name, that
   does more than pass the allocation on. */
static void name_allocated(const struct fm_result_object *object, struct fm_symbols *symbols, char *name, size_t size)
{
	struct fm_location_names names;
	bool named = false;

	snprintf(name, size, "(heap without a name)");
	for (unsigned i = 0; symbols && i < FM_RESULT_ALLOCATION_FRAMES && object->allocated[i]; i++) {
		const char *slash, *function;

		fm_symbols_find(symbols, object->allocated[i] - 1, &names);
		function = *names.inlined ? names.inlined : names.function;
		if (fm_call_tree_forwards(function) || fm_call_tree_forwards(names.function))
			continue;
		slash = strrchr(names.file, '/');
		if (*names.file && !fm_symbols_is_foreign(names.file)) {
			snprintf(name, size, "%s:%d (%s)", slash ? slash + 1 : names.file, names.line, function);
			return;
		}
		if (!named && strcmp(function, "?") != 0) {
			snprintf(name, size, "heap of %s [%s]", function, names.module);
			named = true;
		}
	}
}

static int add_objects(const struct fm_engine_run *run, const struct fm_results *results, struct naming *namings,
                       struct fm_recording *recording)
{
	struct fm_symbols *symbols = symbols_for(results, namings);
	size_t first = recording->objects_count;
	struct fm_recorded_object *own;

	for (unsigned i = 0; i < results->object_count; i++) {
		const struct fm_results *owner;
		const struct fm_result_object *object = &results->objects[i],
		                              *named = object_of(run, results, i, &owner);
		const char *path = named->module < owner->module_count ? owner->modules[named->module].path : "";
		const char *slash = strrchr(path, '/');
		char name[FM_RESULT_NAME], written[FM_FUNCTION];

		own = fm_recording_add(recording, objects);
		if (!own)
			return -ENOMEM;
		/* an untrusted process shares the file: end its texts here */
		snprintf(name, sizeof(name), "%.*s", FM_RESULT_NAME - 1, named->name);
		snprintf(own->name, sizeof(own->name), "%s",
		         named->unnamed ? unnamed_name : fm_symbols_demangle(name, written, sizeof(written)));
		if (named->allocated[0])
			name_allocated(named, symbols, own->name, sizeof(own->name));
		else
			snprintf(own->module, sizeof(own->module), "%.63s", slash ? slash + 1 : path);
		own->bytes = named->unnamed ? 0 : named->size;
		own->loads = object->loads;
		own->stores = object->stores;
		memcpy(own->misses, object->misses, sizeof(own->misses));
		memcpy(own->moved, object->moved, sizeof(own->moved));
	}
	/* open counts */
	own = recording->objects + first;
	for (unsigned i = 0; i < results->site_count; i++)
		for (unsigned k = 0; k < 2; k++) {
			uint32_t object = results->places[i].objects[k];

			if (!object || object > results->object_count)
				continue;
			own[object - 1].loads += results->sites[i].slots[k].loads;
			own[object - 1].stores += results->sites[i].slots[k].stores;
		}
	return 0;
}

/* All other memory: the complete counts of the lines, without the objects. */
static int add_rest(struct fm_recording *recording)
{
	struct fm_recorded_object *rest = fm_recording_add(recording, objects);

	if (!rest)
		return -ENOMEM;
	snprintf(rest->name, sizeof(rest->name), "%s", rest_name);
	rest->rest = true;
	for (size_t i = 0; i < recording->lines_count; i++) {
		const struct fm_recorded_place *line = &recording->lines[i];

		rest->loads += line->loads;
		rest->stores += line->stores;
		add_levels(rest->misses, line->misses);
		add_levels(rest->moved, line->moved);
	}
	for (size_t i = 0; i + 1 < recording->objects_count; i++) {
		const struct fm_recorded_object *object = &recording->objects[i];

		rest->loads -= object->loads;
		rest->stores -= object->stores;
		for (unsigned k = 0; k < FM_SIMULATED_CACHES_MAX; k++) {
			rest->misses[k] -= object->misses[k];
			rest->moved[k] -= object->moved[k] < rest->moved[k] ? object->moved[k] : rest->moved[k];
		}
	}
	return 0;
}

static int record_objects(const struct fm_engine_run *run, struct naming *namings, struct fm_recording *recording)
{
	size_t used = 0;
	int r = add_objects(run, run->results, namings, recording);

	for (unsigned i = 0; i < run->forked_count && !r; i++)
		r = add_objects(run, run->forked[i], namings, recording);
	if (r)
		return r;
	qsort(recording->objects, recording->objects_count, sizeof(*recording->objects), by_name);
	for (size_t i = 0; i < recording->objects_count; i++) {
		if (used && !by_name(&recording->objects[used - 1], &recording->objects[i]))
			add_object(&recording->objects[used - 1], &recording->objects[i]);
		else
			recording->objects[used++] = recording->objects[i];
	}
	recording->objects_count = used;
	return add_rest(recording);
}

/* Lines that moved between cores */

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
		if (address - results->objects[i].begin < results->objects[i].size && !results->objects[i].unnamed &&
		    !results->objects[i].allocated[0])
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

/* Under QEMU only instructions are known to be atomic, not accesses: those of the line are if the one that fetched it
   most often is; half of them where other data of the line is written too, as in a mutex. */
static uint64_t atomics_by_site(const struct fm_results *results, const struct fm_line_user *user)
{
	enum { WORD = 8 };

	if (results->native || !user->site)
		return 0;
	for (unsigned i = 0; i < results->site_count && i < FM_RESULT_SITES_MAX; i++)
		if (results->places[i].address == user->site)
			return !results->places[i].locked                    ? 0
			       : __builtin_popcountll(user->written) <= WORD ? user->stores
			                                                     : user->stores / 2;
	return 0;
}

static int record_user(const struct fm_results *results, struct fm_symbols *symbols, unsigned index,
                       const struct fm_line_user *user, unsigned bytes_per_bit, struct fm_recording *recording)
{
	uint64_t touched = user->written ? user->written : user->read;
	struct fm_recorded_shared *shared = &recording->shared[index];
	struct fm_recorded_user *row;
	struct fm_location_names names;

	if (!user->core || !touched)
		return 0;
	row = fm_recording_add(recording, users);
	if (!row)
		return -ENOMEM;
	row->shared = index;
	row->thread = thread_on(results, user->core - 1);
	row->read = user->read;
	row->written = user->written;
	row->loads = user->loads;
	row->stores = user->stores;
	row->atomics = user->atomics ? user->atomics : atomics_by_site(results, user);
	row->looks = user->looks;
	row->look_cycles = user->look_cycles;
	row->got = user->got;
	row->near = user->near;
	row->span = user->span;
	name_data(results, symbols, shared->line + (uint64_t)__builtin_ctzll(touched) * bytes_per_bit, row->field,
	          sizeof(row->field));
	if (!*shared->object && *row->field)
		snprintf(shared->object, sizeof(shared->object), "%.*s", (int)strcspn(row->field, ".[+"), row->field);
	if (!symbols || !user->site)
		return 0;
	fm_symbols_find(symbols, user->site, &names);
	snprintf(row->function, sizeof(row->function), "%s", *names.inlined ? names.inlined : names.function);
	snprintf(row->file, sizeof(row->file), "%s", names.file);
	row->source_line = names.line;
	return 0;
}

enum { NAMED_LINES = 32 };

static int record_sharing(const struct fm_results *results, const struct fm_machine_description *machine,
                          struct naming *namings, struct fm_recording *recording)
{
	unsigned count = results->line_count < FM_RESULT_LINES_MAX ? results->line_count : FM_RESULT_LINES_MAX;
	struct fm_symbols *symbols = count ? symbols_for(results, namings) : NULL;

	for (unsigned i = 0; i < count; i++) {
		const struct fm_line_users *users = &results->line_users[i];
		struct fm_recorded_shared *shared = fm_recording_add(recording, shared);

		if (!shared)
			return -ENOMEM;
		*shared = (struct fm_recorded_shared){.line = results->lines[i].line,
		                                      .modified = results->lines[i].modified,
		                                      .clean = results->lines[i].clean,
		                                      .invalidations = results->lines[i].invalidations,
		                                      .true_transfers = users->true_transfers,
		                                      .false_transfers = users->false_transfers};
		for (unsigned k = 0; k < FM_LINE_USERS; k++)
			if (record_user(results, i < NAMED_LINES ? symbols : NULL, i, &users->users[k],
			                machine->line_bytes > 64 ? machine->line_bytes / 64 : 1, recording))
				return -ENOMEM;
	}
	return 0;
}

/* Processes, threads, regions, moments */

static int record_threads(const struct fm_results *results, uint32_t process, struct fm_recording *recording)
{
	for (unsigned i = 0; i < results->thread_count && i < FM_RESULT_THREADS_MAX; i++) {
		struct fm_recorded_thread *thread = fm_recording_add(recording, threads);

		if (!thread)
			return -ENOMEM;
		thread->process = process;
		thread->thread = i;
		thread->core = results->threads[i].core;
		thread->shares_core = results->threads[i].shares_core;
		thread->clock = results->threads[i].clock;
		thread->work = results->threads[i].work;
		thread->entries = results->threads[i].entries;
		thread->spins = results->threads[i].looking.references;
		if (results->threads[i].ticks > 0)
			thread->spinning = fmin(1, results->threads[i].looking.ticks / results->threads[i].ticks);
		fm_result_thread_counts(results, i, &thread->counts, &thread->timing);
	}
	if (results->others.threads) {
		struct fm_recorded_thread *others = fm_recording_add(recording, threads);

		if (!others)
			return -ENOMEM;
		*others = (struct fm_recorded_thread){.process = process,
		                                      .thread = results->thread_count,
		                                      .others = results->others.threads,
		                                      .clock = results->others.clock,
		                                      .work = results->others.work,
		                                      .counts = results->others.counts,
		                                      .timing = results->others.timing};
	}
	return 0;
}

static int record_regions(const struct fm_results *results, uint32_t process, struct fm_recording *recording)
{
	for (unsigned i = 0; i < results->region_count && i < FM_RESULT_REGIONS_MAX; i++) {
		const struct fm_result_region *region = &results->regions[i];
		struct fm_recorded_region *row = fm_recording_add(recording, regions);

		if (!row)
			return -ENOMEM;
		*row = (struct fm_recorded_region){.process = process,
		                                   .thread = region->thread,
		                                   .instances = region->instances,
		                                   .counted = region->counted,
		                                   .elapsed = region->elapsed,
		                                   .work = region->work,
		                                   .counts = region->counts,
		                                   .timing = region->timing};
		if (results->timing_sampled)
			fm_region_scale_timing(row);
		/* an untrusted process shares the file: end its texts here */
		snprintf(row->name, sizeof(row->name), "%.*s", FM_RESULT_NAME - 1, region->name);
	}
	return 0;
}

static int record_process(const struct fm_results *results, uint32_t index, struct fm_recording *recording)
{
	struct fm_recorded_process *process = fm_recording_add(recording, processes);

	if (!process)
		return -ENOMEM;
	*process = (struct fm_recorded_process){.process = results->process,
	                                        .parent = results->parent,
	                                        .executed = results->executed,
	                                        .timing = results->timing,
	                                        .turns = results->turns,
	                                        .forced_turns = results->forced_turns,
	                                        .lost_sites = results->lost_sites,
	                                        .unlogged = results->unlogged,
	                                        .lost_threads = results->lost_threads,
	                                        .lost_regions = results->lost_regions,
	                                        .lost_objects = results->lost_objects,
	                                        .lost_processes = results->lost_processes,
	                                        .kernel_bytes = results->kernel_bytes,
	                                        .simulator_bytes = results->simulator_bytes,
	                                        .region_calls = results->region_calls,
	                                        .region_marked = results->region_marked,
	                                        .accesses_lost = results->queue.written > results->queue.read
	                                                             ? results->queue.written - results->queue.read
	                                                             : 0};
	snprintf(process->program, sizeof(process->program), "%.*s", (int)sizeof(results->program) - 1,
	         results->program);
	fm_native_record(results, process);
	for (unsigned i = 0; i < results->exec_count && i < FM_RESULT_EXECS_MAX; i++) {
		struct fm_recorded_execution *execution = fm_recording_add(recording, executions);

		if (!execution)
			return -ENOMEM;
		execution->process = index;
		snprintf(execution->program, sizeof(execution->program), "%.*s", (int)sizeof(results->execs[0]) - 1,
		         results->execs[i]);
	}
	return record_threads(results, index, recording) || record_regions(results, index, recording) ? -ENOMEM : 0;
}

/* Moments of the first process, and its end as the last of them. */
static int record_moments(const struct fm_results *results, struct fm_recording *recording)
{
	unsigned count = results->moment_count < FM_RESULT_MOMENTS_MAX ? results->moment_count : FM_RESULT_MOMENTS_MAX;
	struct fm_recorded_moment *end;

	for (unsigned i = 0; i < count; i++) {
		const struct fm_result_moment *moment = &results->moments[i];
		struct fm_recorded_moment *row = fm_recording_add(recording, moments);

		if (!row)
			return -ENOMEM;
		*row = (struct fm_recorded_moment){.cycle = moment->cycle,
		                                   .running = moment->running,
		                                   .counts = moment->counts,
		                                   .timing = moment->timing};
	}
	if (!count)
		return 0;
	end = fm_recording_add(recording, moments);
	if (!end)
		return -ENOMEM;
	end->running = 1;
	for (unsigned i = 0; i < results->thread_count && i < FM_RESULT_THREADS_MAX; i++)
		if (results->threads[i].clock > end->cycle)
			end->cycle = results->threads[i].clock;
	for (unsigned i = 0; i < results->core_count && i < FM_SIMULATED_CORES_MAX; i++) {
		fm_core_counts_add(&end->counts, &results->cores[i].counts);
		fm_numbers_add(&end->timing, &results->timings[i], sizeof(end->timing));
	}
	return 0;
}

static double distances_at(const struct fm_results *results, int bin)
{
	const struct fm_result_distances *distances = &results->distances;

	return bin == -2 ? distances->references : bin == -1 ? distances->cold : distances->bins[bin];
}

/* Of all processes together, each with its own lines. */
static int record_distances(const struct fm_engine_run *run, struct fm_recording *recording)
{
	for (int bin = -2; bin < FM_DISTANCE_BINS; bin++) {
		double accesses = distances_at(run->results, bin);
		struct fm_recorded_distance *row;

		for (unsigned i = 0; i < run->forked_count; i++)
			accesses += distances_at(run->forked[i], bin);

		if (!(accesses > 0))
			continue;
		row = fm_recording_add(recording, distances);
		if (!row)
			return -ENOMEM;
		*row = (struct fm_recorded_distance){.bin = bin, .accesses = accesses};
	}
	return 0;
}

/* The subjects of distances of followed lines, by name. */
static int name_part(const struct fm_engine_run *run, const struct fm_results *results, struct fm_symbols *symbols,
                     double uncounted, const struct fm_result_reuse_part *part, struct fm_line_parts *parts)
{
	struct fm_location_names names = {.function = "?"};
	const struct fm_results *owner;
	const struct fm_result_object *object;
	char name[FM_FUNCTION], raw[FM_RESULT_NAME];

	switch (part->kind) {
	case FM_REUSE_REGION:
		if (part->number >= FM_RESULT_REGIONS_MAX)
			return 0;
		snprintf(raw, sizeof(raw), "%.*s", FM_RESULT_NAME - 1, results->regions[part->number].name);
		return fm_line_parts_add(parts, FM_CURVE_REGION, raw, uncounted, part);
	case FM_REUSE_OBJECT:
		if (!part->number)
			return fm_line_parts_add(parts, FM_CURVE_OBJECT, rest_name, uncounted, part);
		if (part->number > results->object_count || part->number > FM_RESULT_OBJECTS_MAX)
			return 0;
		object = object_of(run, results, part->number - 1, &owner);
		if (object->allocated[0]) {
			name_allocated(object, symbols, name, sizeof(name));
			return fm_line_parts_add(parts, FM_CURVE_OBJECT, name, uncounted, part);
		}
		snprintf(raw, sizeof(raw), "%.*s", FM_RESULT_NAME - 1, object->name);
		return fm_line_parts_add(parts, FM_CURVE_OBJECT,
		                         object->unnamed ? unnamed_name : fm_symbols_demangle(raw, name, sizeof(name)),
		                         uncounted, part);
	case FM_REUSE_SITE:
		if (part->number >= FM_RESULT_SITES_MAX)
			return 0;
		if (symbols)
			fm_symbols_find(symbols, address_of(run, results, part->number), &names);
		return fm_line_parts_add(parts, FM_CURVE_LINE,
		                         fm_line_name(name, sizeof(name), names.function, names.inlined, names.file,
		                                      names.line, names.module),
		                         uncounted, part);
	default:
		return 0;
	}
}

static int name_parts(const struct fm_engine_run *run, const struct fm_results *results, double uncounted,
                      struct naming *namings, struct fm_line_parts *parts)
{
	const struct fm_result_reuse *reuse = &results->reuse;
	int r = 0;

	for (unsigned i = 0; i < reuse->part_count && i < FM_RESULT_REUSE_PARTS_MAX && !r; i++)
		r = name_part(run, results, symbols_for(results, namings), uncounted, &reuse->parts[i], parts);
	return r;
}

static int record_line_curves(const struct fm_engine_run *run, const struct fm_machine_description *machine,
                              struct naming *namings, struct fm_recording *recording)
{
	struct fm_line_parts parts = {0};
	int r = name_parts(run, run->results, recording->processes[0].uncounted, namings, &parts);

	for (unsigned i = 0; i < run->forked_count && !r; i++)
		r = name_parts(run, run->forked[i], recording->processes[i + 1].uncounted, namings, &parts);
	if (!r)
		r = fm_line_curves_record(run, machine, &parts, recording);
	fm_line_parts_free(&parts);
	return r;
}

static int record_native(const struct fm_engine_run *run, struct naming *namings, struct fm_recording *recording)
{
	int r = 0;

	for (unsigned i = 0; i <= run->forked_count && !r; i++) {
		const struct fm_results *results = i ? run->forked[i - 1] : run->results;
		struct fm_symbols *symbols = symbols_for(results, namings);

		r = fm_positions_record(results, i, symbols, recording);
		if (!r)
			r = fm_timings_record(results, i, symbols, recording);
	}
	return r;
}

int fm_results_record(const struct fm_engine_run *run, const struct fm_machine_description *machine,
                      struct fm_recording *recording, struct fm_error *error)
{
	struct naming namings[NAMINGS_MAX] = {{0}};
	int r = record_process(run->results, 0, recording);

	for (unsigned i = 0; i < run->forked_count && !r; i++)
		r = record_process(run->forked[i], i + 1, recording);
	if (!r)
		r = record_moments(run->results, recording);
	if (!r)
		r = record_distances(run, recording);
	if (!r)
		r = record_line_curves(run, machine, namings, recording);
	if (!r)
		r = record_places(run, namings, recording);
	if (!r)
		r = record_objects(run, namings, recording);
	if (!r)
		r = record_sharing(run->results, machine, namings, recording);
	if (!r)
		r = record_native(run, namings, recording);
	for (unsigned i = 0; i < NAMINGS_MAX; i++)
		if (namings[i].symbols)
			fm_symbols_destroy(namings[i].symbols);
	return r ? fm_error_set(error, ENOMEM, "out of memory") : 0;
}
