/* For scripts: one JSON object (docs/schemas/stat.schema.json). */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "json/figure.h"
#include "model/counted.h"
#include "profile/profile.h"
#include "windows/totals.h"
#include "report/laboratory.h"
#include "report/verdict.h"
#include "report/coverage.h"
#include "report/numbers.h"
#include "report/parts.h"
#include "report/scale.h"
#include "report/squeeze.h"

/* Counts of a part, and estimates of the whole run. NULL for pictures from hardware counters. */
struct counted {
	const struct fm_work *work;
	const struct fm_core_counts *counts;
	const struct fm_timing_counts *timing;
	const struct fm_estimates *estimates;
};

static void set_named(json_t *object, const struct fm_recording *recording, const struct counted *counted,
                      const struct fm_named_number *list, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		struct fm_figure figure = fm_coverage_figure(recording, counted->estimates, &list[i]);
		json_t *entry = fm_json_figure(&figure);

		/* counts are whole and exact, however large */
		if (figure.origin == FM_ORIGIN_simulated && figure.available) {
			json_object_set_new(entry, "value", json_integer((json_int_t)list[i].value));
			json_object_set_new(entry, "low", json_integer((json_int_t)list[i].value));
			json_object_set_new(entry, "high", json_integer((json_int_t)list[i].value));
		}
		json_object_set_new(object, list[i].name, entry);
	}
}

static void set_level(json_t *entry, const struct fm_picture_level *level)
{
	fm_json_set_figure(entry, "read_bytes", &level->read_bytes);
	fm_json_set_figure(entry, "allocate_bytes", &level->allocate_bytes);
	fm_json_set_figure(entry, "write_bytes", &level->write_bytes);
	fm_json_set_figure(entry, "gbs", &level->gbs);
	fm_json_set_figure(entry, "peak_gbs", &level->peak_gbs);
	if (level->peak_threads)
		json_object_set_new(entry, "peak_threads", json_integer(level->peak_threads));
	fm_json_set_figure(entry, "peak_write_share", &level->peak_share);
	if (!strcmp(level->name, "memory"))
		fm_json_set_figure(entry, "loaded_latency_ns", &level->loaded_latency);
	fm_json_set_figure(entry, "utilisation", &level->utilisation);
	if (level->latency_share.available)
		fm_json_set_figure(entry, "latency_waiting", &level->latency_share);
	if (level->bandwidth_share.available)
		fm_json_set_figure(entry, "bandwidth_waiting", &level->bandwidth_share);
	if (*level->source)
		json_object_set_new(entry, "source", json_string(level->source));
}

static json_t *levels_json(const struct fm_recording *recording, const struct counted *counted,
                           const struct fm_picture *picture)
{
	json_t *levels = json_array();
	unsigned count = picture ? picture->level_count : recording->machine.cache_count;

	for (unsigned i = 0; i < count; i++) {
		const char *name = picture ? picture->levels[i].name : recording->machine.caches[i].name;
		json_t *level = json_pack("{s:s}", "name", name);
		struct fm_named_number list[FM_NAMED_MAX];

		if (counted && i < recording->machine.cache_count)
			set_named(level, recording, counted, list, fm_named_cache(counted->counts, i, list));
		if (picture)
			set_level(level, &picture->levels[i]);
		json_array_append_new(levels, level);
	}
	return levels;
}

static void set_cycles(json_t *object, const struct fm_recording *recording, const struct counted *counted,
                       const struct fm_picture *picture)
{
	bool simulated = counted && counted->timing->cycles, told = picture && picture->active.available;
	json_t *cycles = json_object(), *causes;
	struct fm_named_number list[FM_NAMED_MAX];

	if (simulated) {
		set_named(cycles, recording, counted, list, fm_named_cycles(counted->timing, list));
		causes = json_object();
		set_named(causes, recording, counted, list,
		          fm_named_stalls(&recording->machine, counted->timing, list));
		json_object_set_new(cycles, "stalls", causes);
	}
	/* with windows, the picture has more precise cycles */
	if (told && (!simulated || fm_windows_used(recording))) {
		fm_json_set_figure(cycles, "active", &picture->active);
		fm_json_set_figure(cycles, "productive", &picture->productive);
		fm_json_set_figure(cycles, "stall", &picture->stall);
	}
	if (told) {
		fm_json_set_figure(cycles, "memory_bound", &picture->memory_bound);
		fm_json_set_figure(cycles, "bandwidth_bound", &picture->bandwidth_bound);
		fm_json_set_figure(cycles, "latency_bound", &picture->latency_bound);
		fm_json_set_figure(cycles, "other_stall", &picture->other_stall);
	}
	if (simulated || told) {
		json_object_set_new(object, "cycles", cycles);
		return;
	}
	json_decref(cycles);
	json_object_set_new(object, "cycles", json_null());
	json_object_set_new(object, "cycles_why",
	                    json_string(!counted && picture       ? picture->active.why
	                                : recording->asked.timing ? "core timing decodes x86-64 only"
	                                                          : "core timing needs --timing"));
}

static json_t *patterns_json(const struct fm_judged *judged, const struct fm_where *where)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < judged->finding_count; i++) {
		const struct fm_finding *finding = &judged->findings[i];
		json_t *entry =
		    json_pack("{s:s, s:s, s:s, s:f, s:b, s:s, s:s}", "name", finding->name, "group", finding->group,
		              "verdict", fm_verdict_name(finding->verdict), "confidence", finding->confidence,
		              "doubtful", finding->doubtful, "evidence", finding->evidence, "advice", finding->advice);

		fm_json_set_figure(entry, "metric", &finding->metric);
		if (where) {
			json_t *threads = json_array(), *regions = json_array(), *lines = json_array();

			for (unsigned k = 0; k < where[i].thread_count; k++)
				json_array_append_new(threads, json_integer(where[i].threads[k]));
			for (unsigned k = 0; k < where[i].region_count; k++)
				json_array_append_new(regions, json_string(where[i].regions[k]));
			for (unsigned k = 0; k < where[i].line_count; k++)
				json_array_append_new(
				    lines, json_pack("{s:s, s:I, s:s, s:f}", "file", where[i].lines[k].file, "line",
				                     (json_int_t)where[i].lines[k].line, "function",
				                     where[i].lines[k].function, "share", where[i].lines[k].share));
			json_object_set_new(entry, "threads", threads);
			json_object_set_new(entry, "regions", regions);
			json_object_set_new(entry, "lines", lines);
		}
		json_array_append_new(array, entry);
	}
	return array;
}

/* Counts, levels, cycles, time and patterns of the whole or of a part. */
static void set_part(json_t *object, const struct fm_recording *recording, const struct counted *counted,
                     const struct fm_judged *judged, const struct fm_where *where)
{
	const struct fm_picture *picture = judged ? &judged->picture : NULL;
	struct fm_named_number list[FM_NAMED_MAX];

	if (counted) {
		json_t *counts = json_object();

		set_named(counts, recording, counted, list, fm_named_work(counted->work, list));
		set_named(counts, recording, counted, list, fm_named_counts(counted->counts, list));
		json_object_set_new(object, "counts", counts);
	}
	if (!counted && !picture)
		return;
	json_object_set_new(object, "levels", levels_json(recording, counted, picture));
	set_cycles(object, recording, counted, picture);
	if (picture)
		json_object_set_new(object, "laboratory", fm_laboratory_json(picture));
	if (!picture)
		return;
	fm_json_set_figure(object, "elapsed", &picture->seconds);
	fm_json_set_figure(object, "predicted", &picture->predicted_seconds);
	json_object_set_new(object, "patterns", patterns_json(judged, where));
}

/* Places, objects, shared lines */

static json_t *per_cache(const struct fm_recording *recording, const uint64_t *values)
{
	json_t *object = json_object();

	for (unsigned i = 0; i < recording->machine.cache_count; i++)
		json_object_set_new(object, recording->machine.caches[i].name, json_integer((json_int_t)values[i]));
	return object;
}

static json_t *places_json(const struct fm_recording *recording, const struct fm_recorded_place *places, size_t count,
                           bool lines)
{
	json_t *array = json_array();

	for (size_t i = 0; i < count; i++) {
		json_t *entry = json_pack(
		    "{s:s, s:s, s:I, s:I, s:o, s:o}", "function", places[i].function, "module", places[i].module,
		    "loads", (json_int_t)places[i].loads, "stores", (json_int_t)places[i].stores, "misses",
		    per_cache(recording, places[i].misses), "lines_moved", per_cache(recording, places[i].moved));

		if (lines) {
			json_object_set_new(entry, "file", fm_json_text(places[i].file));
			json_object_set_new(entry, "line", json_integer((json_int_t)places[i].line));
			json_object_set_new(entry, "inlined", fm_json_text(places[i].chain));
		}
		json_array_append_new(array, entry);
	}
	return array;
}

static json_t *objects_json(const struct fm_analysis *analysis, size_t top)
{
	json_t *array = json_array();

	for (size_t i = 0; i < analysis->object_count; i++) {
		const struct fm_recorded_object *object = &analysis->objects[i];

		if (i < top || object->rest)
			json_array_append_new(
			    array, json_pack("{s:s, s:s, s:I, s:I, s:I, s:o, s:o}", "name", object->name, "module",
			                     object->module, "bytes", (json_int_t)object->bytes, "loads",
			                     (json_int_t)object->loads, "stores", (json_int_t)object->stores, "misses",
			                     per_cache(analysis->recording, object->misses), "lines_moved",
			                     per_cache(analysis->recording, object->moved)));
	}
	return array;
}

static json_t *users_json(const struct fm_recording *recording, size_t shared)
{
	json_t *threads = json_array();

	for (size_t i = 0; i < recording->users_count; i++) {
		const struct fm_recorded_user *user = &recording->users[i];

		if (user->shared == shared)
			json_array_append_new(threads,
			                      json_pack("{s:I, s:s, s:s, s:s, s:I, s:i, s:i, s:I, s:I}", "thread",
			                                (json_int_t)user->thread, "field", user->field, "function",
			                                user->function, "file", user->file, "source_line",
			                                (json_int_t)user->source_line, "bytes_read",
			                                __builtin_popcountll(user->read), "bytes_written",
			                                __builtin_popcountll(user->written), "loads",
			                                (json_int_t)user->loads, "stores", (json_int_t)user->stores));
	}
	return threads;
}

static json_t *sharing_json(const struct fm_analysis *analysis, size_t top)
{
	const struct fm_recording *recording = analysis->recording;
	json_t *array = json_array();

	for (size_t i = 0; i < recording->shared_count && i < top; i++) {
		const struct fm_recorded_shared *shared = &recording->shared[i];
		json_t *entry = json_pack(
		    "{s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:o, s:o}", "line", (json_int_t)shared->line, "transfers",
		    (json_int_t)shared->modified, "transfers_clean", (json_int_t)shared->clean, "invalidations",
		    (json_int_t)shared->invalidations, "true_transfers", (json_int_t)shared->true_transfers,
		    "false_transfers", (json_int_t)shared->false_transfers, "kind", fm_sharing_kind(shared), "object",
		    fm_json_text(shared->object), "threads", users_json(recording, i));

		if (analysis->has_picture) {
			struct fm_figure rate = analysis->whole.picture.seconds;

			if (rate.available && rate.low > 0)
				rate = fm_figure_make(
				    (double)shared->modified / rate.value, (double)shared->modified / rate.high,
				    (double)shared->modified / rate.low, "1/s",
				    rate.origin == FM_ORIGIN_measured ? FM_ORIGIN_combined : rate.origin, "exact",
				    rate.trials);
			fm_json_set_figure(entry, "transfers_per_second", &rate);
		}
		json_array_append_new(array, entry);
	}
	return array;
}

/* Parts */

static const struct fm_judged *judged_at(const struct fm_judged_list *list, size_t index)
{
	return index < list->count ? &list->parts[index] : NULL;
}

static json_t *exact_threads(const struct fm_analysis *analysis)
{
	const struct fm_recording *recording = analysis->recording;
	json_t *array = json_array();

	for (size_t i = 0; i < recording->threads_count; i++) {
		const struct fm_recorded_thread *thread = &recording->threads[i];
		json_t *entry;

		if (thread->process || thread->others)
			continue;
		entry = json_pack("{s:i, s:i, s:b}", "thread", (int)thread->thread, "core", (int)thread->core,
		                  "shares_core", (int)thread->shares_core);
		set_part(entry, recording,
		         &(struct counted){&thread->work, &thread->counts, &thread->timing, analysis->estimates},
		         judged_at(&analysis->threads, thread->thread), NULL);
		json_array_append_new(array, entry);
	}
	return array;
}

/* A region of several threads, summed; its thread is null. */
static json_t *region_json(const struct fm_recording *recording, const struct fm_judged *judged)
{
	const struct fm_picture *picture = &judged->picture;
	json_t *entry = json_pack("{s:s, s:o, s:i, s:I}", "name", picture->part.region, "thread",
	                          picture->part.thread < 0 ? json_null() : json_integer(picture->part.thread),
	                          "threads", (int)picture->threads, "instances", (json_int_t)picture->instances);

	set_part(entry, recording, NULL, judged, NULL);
	return entry;
}

static json_t *exact_regions(const struct fm_analysis *analysis)
{
	const struct fm_recording *recording = analysis->recording;
	json_t *array = json_array();
	size_t at = 0;

	for (size_t i = 0; i < recording->regions_count; i++) {
		const struct fm_recorded_region *region = &recording->regions[i];
		json_t *entry;

		if (region->process || (*recording->asked.region && strcmp(region->name, recording->asked.region) != 0))
			continue;
		entry = json_pack("{s:s, s:i, s:I}", "name", region->name, "thread", (int)region->thread, "instances",
		                  (json_int_t)region->instances);
		set_part(entry, recording,
		         &(struct counted){&region->work, &region->counts, &region->timing, analysis->estimates},
		         judged_at(&analysis->region_threads, at++), NULL);
		json_array_append_new(array, entry);
	}
	for (size_t i = 0; i < analysis->regions.count; i++)
		if (analysis->regions.parts[i].picture.thread_count > 1)
			json_array_append_new(array, region_json(recording, &analysis->regions.parts[i]));
	return array;
}

static json_t *counted_threads(const struct fm_analysis *analysis)
{
	json_t *array = json_array();

	for (size_t i = 0; i < analysis->threads.count; i++) {
		json_t *entry = json_pack("{s:i}", "thread", analysis->threads.parts[i].picture.part.thread);

		set_part(entry, analysis->recording, NULL, &analysis->threads.parts[i], NULL);
		json_array_append_new(array, entry);
	}
	return array;
}

static json_t *counted_regions(const struct fm_analysis *analysis)
{
	json_t *array = json_array();

	for (size_t i = 0; i < analysis->region_threads.count; i++)
		json_array_append_new(array, region_json(analysis->recording, &analysis->region_threads.parts[i]));
	for (size_t i = 0; i < analysis->regions.count; i++)
		json_array_append_new(array, region_json(analysis->recording, &analysis->regions.parts[i]));
	return array;
}

static json_t *moments_json(const struct fm_analysis *analysis)
{
	json_t *array = json_array();

	for (size_t i = 0; i < analysis->moments.count; i++) {
		const struct fm_picture *picture = &analysis->moments.parts[i].picture;
		json_t *entry = json_pack("{s:f, s:o}", "seconds", analysis->moments.parts[i].at, "levels",
		                          levels_json(analysis->recording, NULL, picture));

		set_cycles(entry, analysis->recording, NULL, picture);
		fm_json_set_figure(entry, "elapsed", &picture->seconds);
		json_array_append_new(array, entry);
	}
	return array;
}

/* The document */

/* The share of the machine that neighbours left to the program. */
static void set_neighbours(json_t *object, const struct fm_machine_description *machine)
{
	unsigned life = machine->cache_count ? machine->caches[machine->cache_count - 1].life : 0;

	if (machine->core.share)
		json_object_set_new(object, "core_share", json_real(machine->core.share / 100.0));
	if (life)
		json_object_set_new(object, "last_cache_life_ms", json_real(life / 1e3));
}

static void set_machine(json_t *root, const struct fm_recording *recording)
{
	bool counted = recording->asked.question == FM_QUESTION_COUNTED_EVENTS ||
	               recording->asked.question == FM_QUESTION_COUNTED_LEVELS;

	if (counted) {
		fm_json_set_null(root, "machine", "the host");
	} else {
		json_object_set_new(root, "machine",
		                    json_pack("{s:s, s:s, s:b, s:f}", "name", recording->machine.name, "title",
		                              recording->machine.title, "simulated", 1, "frequency_ghz",
		                              recording->machine.frequency_ghz));
		set_neighbours(json_object_get(root, "machine"), &recording->machine);
	}
	json_object_set_new(root, "disturbance", json_null());
	json_object_set_new(root, "disturbance_why",
	                    json_string(counted ? "counts of the program, not times"
	                                        : "simulated counts do not depend on the load of the host"));
	json_object_set_new(root, "program", fm_json_text(recording->run.program));
	json_object_set_new(root, "exit_status", json_integer((json_int_t)recording->run.exit_status));
}

/* Parts of the predicted time of several threads; waiting is measured. */
static json_t *times_json(const struct fm_picture *picture)
{
	const struct fm_picture_times *times = &picture->times;
	json_t *object = json_object();

	fm_json_set_figure(object, "user", &times->user);
	fm_json_set_figure(object, "work", &times->work);
	fm_json_set_figure(object, "sharing", &times->sharing);
	fm_json_set_figure(object, "spinning", &times->spinning);
	fm_json_set_figure(object, "waiting", &times->waiting);
	fm_json_set_figure(object, "wall", &times->wall);
	if (times->wall.available)
		json_object_set_new(object, "wall_measured_seconds",
		                    json_real(fmin(times->wall.value, times->waiting_longest)));
	fm_json_set_figure(object, "processor_available", &times->available);
	fm_json_set_figure(object, "sharing_share", &picture->signs.handing_over);
	fm_json_set_figure(object, "spinning_share", &picture->signs.spinning);
	fm_json_set_figure(object, "waiting_share", &picture->signs.blocked);
	return object;
}

static void set_native(json_t *root, const struct fm_analysis *analysis)
{
	const struct fm_recorded_native *native = &analysis->recording->native;
	const struct fm_picture *picture = &analysis->whole.picture;
	const struct fm_combination *error =
	    analysis->recording->profile ? &analysis->recording->profile->combination : NULL;
	json_t *object = json_null();

	if (native->runs) {
		object = json_pack("{s:i, s:f, s:f, s:I, s:b}", "runs", (int)native->runs, "cpu_seconds",
		                   native->cpu_seconds, "kernel_seconds", native->kernel_seconds, "exit_status",
		                   (json_int_t)native->exit_status, "differs", *picture->differs != '\0');
		if (*picture->differs)
			json_object_set_new(object, "difference", json_string(picture->differs));
		fm_json_set_figure(object, "user_seconds", &picture->user_seconds);
		if (native->faults)
			json_object_set_new(object, "page_faults",
			                    json_pack("{s:I, s:I, s:I}", "minor", (json_int_t)native->faults, "major",
			                              (json_int_t)native->major_faults, "huge_at_most",
			                              (json_int_t)native->huge_faults));
		fm_json_set_figure(object, "predicted_page_fault_seconds", &picture->fault_seconds);
		if (picture->times.user.available)
			json_object_set_new(object, "threads_time", times_json(picture));
	}
	json_object_set_new(root, "native", object);
	if (native->runs) {
		fm_json_set_figure(root, "prediction_error", &picture->off);
		json_object_set_new(root, "doubtful", json_boolean(picture->doubtful));
	}
	if (error && error->cases) {
		json_object_set_new(root, "combination",
		                    json_pack("{s:i, s:f, s:f, s:f, s:f}", "cases", (int)error->cases,
		                              "count_error_median", error->count_median, "count_error_nine_tenths",
		                              error->count_most, "time_error_median", error->time_median,
		                              "time_error_nine_tenths", error->time_most));
	} else {
		fm_json_set_null(root, "combination", "not checked: run 'fathom machine --check'");
	}
}

static json_t *names_json(const struct fm_recording *recording)
{
	json_t *array = json_array();

	for (size_t i = 0; i < recording->executions_count; i++)
		json_array_append_new(array, json_string(recording->executions[i].program));
	return array;
}

/* Shared lines and memory traffic of the programs beside. */
static json_t *beside_json(const struct fm_recording *recording)
{
	json_t *array = json_array();

	for (size_t i = 0; i < recording->beside_count; i++) {
		const struct fm_recorded_beside *beside = &recording->beside[i];
		uint64_t lines = 0;
		bool shared = fm_lines_from_shared(&recording->machine, &beside->counts, &lines);
		json_t *entry = json_pack(
		    "{s:s, s:i, s:i, s:i, s:i, s:b, s:I, s:I, s:I, s:I, s:I}", "command", beside->command, "core",
		    (int)beside->core, "runs", (int)beside->runs, "processes", (int)beside->processes, "threads",
		    (int)beside->threads, "ended_early", beside->ended, "instructions",
		    (json_int_t)beside->instructions, "loads", (json_int_t)beside->counts.loads, "stores",
		    (json_int_t)beside->counts.stores, "lines_from_memory", (json_int_t)beside->counts.memory_reads,
		    "lines_to_memory", (json_int_t)beside->counts.memory_writes);

		json_object_set_new(entry, "exit_status",
		                    beside->ended ? json_integer((json_int_t)beside->exit_status) : json_null());
		if (!beside->ended)
			json_object_set_new(entry, "exit_status_why",
			                    json_string("Fathom ended this program when the observed program ended"));
		json_object_set_new(entry, "lines_from_shared_cache",
		                    shared ? json_integer((json_int_t)lines) : json_null());
		if (!shared)
			json_object_set_new(entry, "lines_from_shared_cache_why",
			                    json_string("the machine has no cache that cores share"));
		json_array_append_new(array, entry);
	}
	return array;
}

static void set_exact(json_t *root, const struct fm_analysis *analysis, size_t top)
{
	const struct fm_recording *recording = analysis->recording;
	const struct fm_recorded_process *first = &recording->processes[0];
	json_t *coverage;

	json_object_set_new(root, "deterministic", json_boolean(!recording->asked.free_running));
	json_object_set_new(root, "engine_seconds", json_real(recording->run.engine_seconds));
	if ((coverage = fm_coverage_json(recording)))
		json_object_set_new(root, "coverage", coverage);
	if ((coverage = fm_coverage_curve_json(recording)))
		json_object_set_new(root, "curve", coverage);
	set_part(root, recording,
	         &(struct counted){&analysis->work, &analysis->total, &analysis->timing, analysis->estimates},
	         &analysis->whole, analysis->where);
	set_native(root, analysis);
	json_object_set_new(root, "threads", exact_threads(analysis));
	json_object_set_new(root, "regions", exact_regions(analysis));
	json_object_set_new(root, "functions",
	                    places_json(recording, analysis->functions,
	                                analysis->function_count < top ? analysis->function_count : top, false));
	json_object_set_new(
	    root, "lines",
	    places_json(recording, analysis->lines, analysis->line_count < top ? analysis->line_count : top, true));
	json_object_set_new(root, "objects", objects_json(analysis, top));
	json_object_set_new(root, "sharing", sharing_json(analysis, top));
	json_object_set_new(root, "not_followed", names_json(recording));
	if (recording->beside_count)
		json_object_set_new(root, "beside", beside_json(recording));
	json_object_set_new(root, "forked_processes", json_integer((json_int_t)recording->processes_count - 1));
	json_object_set_new(root, "accesses_not_simulated", json_integer((json_int_t)first->accesses_lost));
	json_object_set_new(root, "kernel_bytes_not_seen", json_integer((json_int_t)first->kernel_bytes));
	json_object_set_new(root, "simulator_bytes", json_integer((json_int_t)first->simulator_bytes));
	if (recording->asked.interval_ms)
		json_object_set_new(root, "intervals", moments_json(analysis));
}

static json_t *event_json(const char *name, const char *pmu, const struct fm_figure *figure)
{
	json_t *entry = json_pack("{s:s, s:s}", "name", name, "pmu", pmu);

	fm_json_set_figure(entry, "count", figure);
	return entry;
}

static json_t *simulated_events(const struct fm_analysis *analysis)
{
	json_t *array = json_array();

	for (size_t i = 0; i < analysis->event_count; i++) {
		json_t *entry = event_json(analysis->events[i].name, analysis->recording->machine.name,
		                           &analysis->events[i].figure);

		if (analysis->events[i].thread >= 0)
			json_object_set_new(entry, "thread", json_integer(analysis->events[i].thread));
		json_array_append_new(array, entry);
	}
	return array;
}

static json_t *counted_events(const struct fm_recording *recording)
{
	json_t *array = json_array();

	for (size_t i = 0; i < recording->event_counts_count; i++) {
		const struct fm_recorded_count *count = &recording->event_counts[i];
		const struct fm_recorded_event *event = &recording->events[count->event];
		json_t *entry = event_json(event->name, event->pmu, &count->figure);

		if (recording->parts[count->owner].thread)
			json_object_set_new(entry, "thread",
			                    json_integer((json_int_t)recording->parts[count->owner].thread));
		json_object_set_new(entry, "user_only", json_boolean(count->user_only));
		json_object_set_new(entry, "enabled_ns", json_integer((json_int_t)count->enabled));
		json_object_set_new(entry, "running_ns", json_integer((json_int_t)count->running));
		json_array_append_new(array, entry);
	}
	return array;
}

static json_t *event_regions(const struct fm_recording *recording)
{
	json_t *regions = json_array();

	for (size_t i = 0; i < recording->marked_count; i++) {
		const struct fm_recorded_marked *marked = &recording->marked[i];
		json_t *events = json_array();

		for (size_t k = 0; k < recording->events_count; k++)
			json_array_append_new(
			    events, event_json(recording->events[k].name, recording->events[k].pmu,
			                       &recording->marked_counts[i * recording->events_count + k].figure));
		json_array_append_new(regions,
		                      json_pack("{s:s, s:i, s:I, s:f, s:o}", "name", marked->name, "thread",
		                                (int)marked->ordinal, "instances", (json_int_t)marked->instances,
		                                "seconds", marked->seconds, "events", events));
	}
	return regions;
}

static json_t *event_intervals(const struct fm_recording *recording)
{
	json_t *array = json_array();

	for (size_t i = 0; i < recording->intervals_count; i++) {
		const struct fm_recorded_interval *interval = &recording->intervals[i];
		json_t *entry =
		    json_pack("{s:f, s:s}", "seconds", interval->at, "name", recording->events[interval->event].name);

		if (recording->parts[interval->part].thread)
			json_object_set_new(entry, "thread",
			                    json_integer((json_int_t)recording->parts[interval->part].thread));
		fm_json_set_figure(entry, "count", &interval->figure);
		json_array_append_new(array, entry);
	}
	return array;
}

static void set_metrics(json_t *root, const struct fm_analysis *analysis)
{
	json_t *array;

	if (!analysis->group)
		return;
	array = json_array();
	for (size_t i = 0; i < analysis->metric_count; i++) {
		const struct fm_metric_value *metric = &analysis->metrics[i];
		json_t *entry = json_pack("{s:s, s:s}", "name", metric->name, "formula", metric->formula);

		json_object_set_new(entry, "value", isfinite(metric->value) ? json_real(metric->value) : json_null());
		if (!isfinite(metric->value))
			json_object_set_new(entry, "value_why", json_string(metric->why));
		json_array_append_new(array, entry);
	}
	json_object_set_new(root, "metrics", array);
}

static void set_counted_events(json_t *root, const struct fm_analysis *analysis)
{
	const struct fm_recording *recording = analysis->recording;

	json_object_set_new(root, "seconds", json_real(recording->run.elapsed.value));
	json_object_set_new(root, "events", counted_events(recording));
	set_metrics(root, analysis);
	json_object_set_new(root, "regions", event_regions(recording));
	json_object_set_new(root, "regions_lost", json_integer((json_int_t)recording->run.regions_lost));
	if (recording->asked.interval_ms)
		json_object_set_new(root, "intervals", event_intervals(recording));
}

/* Levels by counters of this machine or a simulated one. */
static void set_counted_levels(json_t *root, const struct fm_analysis *analysis)
{
	const struct fm_recording *recording = analysis->recording;
	bool simulated = recording->asked.question == FM_QUESTION_SIMULATED_LEVELS;
	json_t *events = simulated ? simulated_events(analysis) : json_array();

	for (unsigned i = 0; !simulated && i < recording->events_count; i++) {
		struct fm_figure sum = fm_counted_sum(recording, i);

		json_array_append_new(events, event_json(recording->events[i].name, recording->events[i].pmu, &sum));
	}
	json_object_set_new(root, "events", events);
	set_part(root, recording, NULL, &analysis->whole, analysis->where);
	json_object_set_new(root, "threads", counted_threads(analysis));
	json_object_set_new(root, "regions", counted_regions(analysis));
	json_object_set_new(root, "regions_lost", json_integer((json_int_t)recording->run.regions_lost));
	if (recording->asked.interval_ms)
		json_object_set_new(root, "intervals", moments_json(analysis));
}

json_t *fm_stat_json(const struct fm_analysis *analysis, const struct fm_writer_options *options)
{
	json_t *root = fm_json_document(options->diagnosis ? "diagnose" : "stat");

	set_machine(root, analysis->recording);
	if (*analysis->verdict.cause)
		json_object_set_new(root, "verdict", fm_verdict_json(analysis));
	switch ((enum fm_question)analysis->recording->asked.question) {
	case FM_QUESTION_COUNTED_EVENTS:
		set_counted_events(root, analysis);
		break;
	case FM_QUESTION_SIMULATED_EVENTS:
		json_object_set_new(root, "events", simulated_events(analysis));
		set_metrics(root, analysis);
		break;
	case FM_QUESTION_COUNTED_LEVELS:
	case FM_QUESTION_SIMULATED_LEVELS:
		set_counted_levels(root, analysis);
		break;
	default:
		set_exact(root, analysis, options->top);
	}
	return root;
}

static void print_stat(const struct fm_analysis *analysis, const struct fm_writer_options *options, FILE *output)
{
	json_t *root = fm_stat_json(analysis, options);

	fm_json_print(root, output);
}

static void print_squeeze(const struct fm_squeeze *squeeze, const struct fm_writer_options *options, FILE *output)
{
	(void)options;
	fm_json_print(fm_squeeze_json(squeeze), output);
}

static void print_scale(const struct fm_scale *scale, const struct fm_writer_options *options, FILE *output)
{
	(void)options;
	fm_json_print(fm_scale_json(scale), output);
}

const struct fm_writer fm_writer_json = {.name = "json",
                                         .stat = print_stat,
                                         .samples = fm_samples_print_json,
                                         .rates = true,
                                         .compared = fm_comparison_print_json,
                                         .runs = fm_runs_print_json,
                                         .squeeze = print_squeeze,
                                         .scale = print_scale};
