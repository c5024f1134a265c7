/* What the exact engine counted, for scripts: JSON, and values between separators. */
#include <string.h>

#include "json/figure.h"
#include "report/stat_text.h"

/* Numbers by name, in one place for JSON and for spreadsheets. */

struct named {
	const char *name;
	const char *unit;
	uint64_t value;
};

enum { NAMED_MAX = 64 };

static unsigned list_work(const struct fm_work *work, struct named *ret)
{
	const struct named list[] = {
	    {"instructions", "instructions", work->instructions},
	    {"vector_calculations", "instructions", work->vector_calculations},
	    {"vector_inserts", "instructions", work->vector_inserts},
	    {"divisions", "instructions", work->divisions},
	    {"flops", "operations", work->flops},
	};

	memcpy(ret, list, sizeof(list));
	return sizeof(list) / sizeof(list[0]);
}

static unsigned list_counts(const struct fm_core_counts *counts, struct named *ret)
{
	const struct named list[] = {
	    {"loads", "accesses", counts->loads},
	    {"stores", "accesses", counts->stores},
	    {"nontemporal_stores", "accesses", counts->nontemporal_stores},
	    {"load_bytes", "B", counts->load_bytes},
	    {"store_bytes", "B", counts->store_bytes},
	    {"splits", "accesses", counts->splits},
	    {"memory_reads", "lines", counts->memory_reads},
	    {"memory_reads_remote", "lines", counts->memory_reads_remote},
	    {"memory_writes", "lines", counts->memory_writes},
	    {"memory_writes_remote", "lines", counts->memory_writes_remote},
	    {"nontemporal_lines", "lines", counts->nontemporal_lines},
	    {"transfers_modified", "lines", counts->transfers_modified},
	    {"transfers_modified_remote", "lines", counts->transfers_modified_remote},
	    {"transfers_clean", "lines", counts->transfers_clean},
	    {"upgrades", "lines", counts->upgrades},
	    {"invalidations", "lines", counts->invalidations},
	    {"tlb_misses_1", "misses", counts->tlb_misses[0]},
	    {"tlb_misses_2", "misses", counts->tlb_misses[1]},
	};

	memcpy(ret, list, sizeof(list));
	return sizeof(list) / sizeof(list[0]);
}

static unsigned list_cache(const struct fm_cache_counts *cache, struct named *ret)
{
	const struct named list[] = {
	    {"load_hits", "accesses", cache->load_hits},        {"load_misses", "accesses", cache->load_misses},
	    {"store_hits", "accesses", cache->store_hits},      {"store_misses", "accesses", cache->store_misses},
	    {"lines_demand", "lines", cache->lines_demand},     {"lines_ownership", "lines", cache->lines_ownership},
	    {"lines_prefetch", "lines", cache->lines_prefetch}, {"prefetch_hits", "lines", cache->prefetch_hits},
	    {"lines_written", "lines", cache->lines_written},
	};

	memcpy(ret, list, sizeof(list));
	return sizeof(list) / sizeof(list[0]);
}

static unsigned list_timing(const struct fm_timing_counts *timing, struct named *ret)
{
	const struct named list[] = {
	    {"active", "cycles", timing->cycles},
	    {"productive", "cycles", timing->cycles - timing->no_execute},
	    {"stall", "cycles", timing->no_execute},
	    {"miss_pending", "cycles", timing->miss_pending},
	    {"miss_pending_stall", "cycles", timing->miss_pending_stall},
	    {"load_pending_stall", "cycles", timing->load_pending_stall},
	    {"fill_buffers_full", "cycles", timing->fill_buffers_full},
	    {"super_queue_full", "cycles", timing->super_queue_full},
	    {"store_buffer_full", "cycles", timing->store_buffer_full},
	};

	memcpy(ret, list, sizeof(list));
	return sizeof(list) / sizeof(list[0]);
}

static void set_named(json_t *object, const struct named *list, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		struct fm_figure figure =
		    fm_figure_make((double)list[i].value, (double)list[i].value, (double)list[i].value, list[i].unit,
		                   FM_ORIGIN_simulated, "exact", 1);
		json_t *entry = fm_json_figure(&figure);

		/* counts are whole and exact, however large */
		json_object_set_new(entry, "value", json_integer((json_int_t)list[i].value));
		json_object_set_new(entry, "low", json_integer((json_int_t)list[i].value));
		json_object_set_new(entry, "high", json_integer((json_int_t)list[i].value));
		json_object_set_new(object, list[i].name, entry);
	}
}

static void set_counts(json_t *object, const struct fm_stat *stat, const struct fm_work *work,
                       const struct fm_core_counts *counts, const struct fm_timing_counts *timing)
{
	struct named list[NAMED_MAX];
	json_t *levels = json_array(), *accesses = json_object();

	set_named(accesses, list, list_work(work, list));
	set_named(accesses, list, list_counts(counts, list));
	json_object_set_new(object, "counts", accesses);
	for (unsigned i = 0; i < stat->machine->cache_count; i++) {
		json_t *level = json_pack("{s:s}", "name", stat->machine->caches[i].name);

		set_named(level, list, list_cache(&counts->caches[i], list));
		json_array_append_new(levels, level);
	}
	json_object_set_new(object, "levels", levels);
	if (timing->cycles) {
		json_t *cycles = json_object(), *causes = json_object();

		set_named(cycles, list, list_timing(timing, list));
		for (int i = 0; i < FM_STALL_COUNT; i++) {
			struct named cause = {fm_stall_name((enum fm_stall)i), "cycles", timing->stalls[i]};

			set_named(causes, &cause, 1);
		}
		json_object_set_new(cycles, "stalls", causes);
		json_object_set_new(object, "cycles", cycles);
	} else {
		json_object_set_new(object, "cycles", json_null());
		json_object_set_new(object, "cycles_why",
		                    json_string(stat->options->timing ? "core timing decodes x86-64 only"
		                                                      : "no core timing was asked for (--timing)"));
	}
}

static json_t *places_to_json(const struct fm_stat *stat, const struct fm_stat_place *places, size_t count, bool lines)
{
	json_t *array = json_array();

	for (size_t i = 0; i < count; i++) {
		json_t *misses = json_object();
		json_t *entry =
		    json_pack("{s:s, s:s, s:I, s:I}", "function", places[i].function, "module", places[i].module,
		              "loads", (json_int_t)places[i].loads, "stores", (json_int_t)places[i].stores);

		for (unsigned k = 0; k < stat->machine->cache_count; k++)
			json_object_set_new(misses, stat->machine->caches[k].name,
			                    json_integer((json_int_t)places[i].misses[k]));
		json_object_set_new(entry, "misses", misses);
		if (lines) {
			json_object_set_new(entry, "file", *places[i].file ? json_string(places[i].file) : json_null());
			json_object_set_new(entry, "line", json_integer(places[i].line));
		}
		json_array_append_new(array, entry);
	}
	return array;
}

static json_t *sharing_to_json(const struct fm_stat_sharing *sharing)
{
	json_t *entry = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:s}", "line", (json_int_t)sharing->line, "transfers",
	                          (json_int_t)sharing->modified, "transfers_clean", (json_int_t)sharing->clean,
	                          "invalidations", (json_int_t)sharing->invalidations, "true_transfers",
	                          (json_int_t)sharing->true_transfers, "false_transfers",
	                          (json_int_t)sharing->false_transfers, "kind", fm_sharing_kind(sharing)),
	       *threads = json_array();

	json_object_set_new(entry, "object", *sharing->object ? json_string(sharing->object) : json_null());
	for (unsigned i = 0; i < sharing->user_count; i++) {
		const struct fm_stat_sharer *user = &sharing->users[i];

		json_array_append_new(threads, json_pack("{s:i, s:s, s:s, s:s, s:i, s:i, s:i}", "thread", user->thread,
		                                         "field", user->field, "function", user->function, "file",
		                                         user->file, "source_line", user->source_line, "bytes_read",
		                                         __builtin_popcountll(user->read), "bytes_written",
		                                         __builtin_popcountll(user->written)));
	}
	json_object_set_new(entry, "threads", threads);
	return entry;
}

json_t *fm_stat_to_json(const struct fm_stat *stat, unsigned top)
{
	const struct fm_results *results = stat->run->results;
	json_t *root = fm_json_document("stat");
	json_t *array = json_array();

	json_object_set_new(root, "machine",
	                    json_pack("{s:s, s:s, s:b, s:f}", "name", stat->machine->name, "title",
	                              stat->machine->title, "simulated", 1, "frequency_ghz",
	                              stat->machine->frequency_ghz));
	json_object_set_new(root, "disturbance", json_null());
	json_object_set_new(root, "disturbance_why", json_string("simulated counts do not depend on the moment"));
	json_object_set_new(root, "program", json_string(stat->program));
	json_object_set_new(root, "exit_status", json_integer(stat->run->exit_status));
	json_object_set_new(root, "deterministic", json_boolean(!stat->options->free_running));
	json_object_set_new(root, "engine_seconds", json_real(stat->run->seconds));
	set_counts(root, stat, &stat->work, &stat->total, &stat->timing);
	for (unsigned i = 0; i < results->thread_count; i++) {
		struct fm_core_counts counts;
		struct fm_timing_counts timing;
		json_t *entry = json_pack("{s:i, s:i, s:b}", "thread", (int)i, "core", (int)results->threads[i].core,
		                          "shares_core", (int)results->threads[i].shares_core);

		fm_result_thread_counts(results, i, &counts, &timing);
		set_counts(entry, stat, &results->threads[i].work, &counts, &timing);
		json_array_append_new(array, entry);
	}
	json_object_set_new(root, "threads", array);
	array = json_array();
	for (unsigned i = 0; i < results->region_count; i++) {
		const struct fm_result_region *region = &results->regions[i];
		json_t *entry = json_pack("{s:s, s:i, s:I}", "name", region->name, "thread", (int)region->thread,
		                          "instances", (json_int_t)region->instances);

		set_counts(entry, stat, &region->work, &region->counts, &region->timing);
		json_array_append_new(array, entry);
	}
	json_object_set_new(root, "regions", array);
	json_object_set_new(
	    root, "functions",
	    places_to_json(stat, stat->functions, stat->function_count < top ? stat->function_count : top, false));
	json_object_set_new(root, "lines",
	                    places_to_json(stat, stat->lines, stat->line_count < top ? stat->line_count : top, true));
	array = json_array();
	for (size_t i = 0; i < stat->object_count; i++) {
		const struct fm_stat_object *object = &stat->objects[i];
		json_t *misses = json_object();

		for (unsigned k = 0; k < stat->machine->cache_count; k++)
			json_object_set_new(misses, stat->machine->caches[k].name,
			                    json_integer((json_int_t)object->misses[k]));
		/* the last is all other memory */
		if (i < top || i + 1 == stat->object_count)
			json_array_append_new(array,
			                      json_pack("{s:s, s:s, s:I, s:I, s:I, s:O}", "name", object->name,
			                                "module", object->module, "bytes", (json_int_t)object->bytes,
			                                "loads", (json_int_t)object->loads, "stores",
			                                (json_int_t)object->stores, "misses", misses));
		json_decref(misses);
	}
	json_object_set_new(root, "objects", array);
	array = json_array();
	for (unsigned i = 0; i < stat->sharing_count && i < top; i++)
		json_array_append_new(array, sharing_to_json(&stat->sharing[i]));
	json_object_set_new(root, "sharing", array);
	array = json_array();
	for (unsigned i = 0; i < results->exec_count; i++)
		json_array_append_new(array, json_string(results->execs[i]));
	json_object_set_new(root, "not_followed", array);
	json_object_set_new(root, "forked_processes", json_integer(stat->run->forked_count));
	json_object_set_new(root, "accesses_not_simulated",
	                    json_integer(results->queue.written > results->queue.read
	                                     ? (json_int_t)(results->queue.written - results->queue.read)
	                                     : 0));
	json_object_set_new(root, "kernel_bytes_not_seen", json_integer((json_int_t)results->kernel_bytes));
	json_object_set_new(root, "simulator_bytes", json_integer((json_int_t)results->simulator_bytes));
	return root;
}

static void print_named(FILE *output, const char *separator, const char *place, const struct named *list,
                        unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		fprintf(output, "%s%s%s%s%llu%s%s\n", place, separator, list[i].name, separator,
		        (unsigned long long)list[i].value, separator, list[i].unit);
}

static void print_all(const struct fm_stat *stat, FILE *output, const char *separator, const char *where,
                      const struct fm_work *work, const struct fm_core_counts *counts,
                      const struct fm_timing_counts *timing)
{
	struct named list[NAMED_MAX];
	char place[160];

	print_named(output, separator, where, list, list_work(work, list));
	print_named(output, separator, where, list, list_counts(counts, list));
	for (unsigned i = 0; i < stat->machine->cache_count; i++) {
		snprintf(place, sizeof(place), "%s/%s", where, stat->machine->caches[i].name);
		print_named(output, separator, place, list, list_cache(&counts->caches[i], list));
	}
	if (timing->cycles)
		print_named(output, separator, where, list, list_timing(timing, list));
}

void fm_stat_print_separated(const struct fm_stat *stat, FILE *output, const char *separator)
{
	const struct fm_results *results = stat->run->results;
	char where[160];

	fprintf(output, "place%squantity%svalue%sunit\n", separator, separator, separator);
	print_all(stat, output, separator, "total", &stat->work, &stat->total, &stat->timing);
	for (unsigned i = 0; i < results->thread_count; i++) {
		struct fm_core_counts counts;
		struct fm_timing_counts timing;

		fm_result_thread_counts(results, i, &counts, &timing);
		snprintf(where, sizeof(where), "thread %u", i);
		print_all(stat, output, separator, where, &results->threads[i].work, &counts, &timing);
	}
	for (unsigned i = 0; i < results->region_count; i++) {
		const struct fm_result_region *region = &results->regions[i];

		snprintf(where, sizeof(where), "region %s (%u)", region->name, region->thread);
		print_all(stat, output, separator, where, &region->work, &region->counts, &region->timing);
	}
}
