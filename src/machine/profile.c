/* The machine profile as JSON, and where it is kept. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "json/figure.h"
#include "machine/machine.h"

/* Writing */

static json_t *topology_to_json(const struct fm_machine *machine)
{
	const struct fm_topology *topology = &machine->topology;
	char cpus[6 * FM_CPUS_MAX]; /* they need not be in sequence */
	json_t *caches = json_array(), *kept = json_array();
	json_t *object;

	for (unsigned i = 0; i < topology->cache_count; i++) {
		const struct fm_cache *cache = &topology->caches[i];

		json_array_append_new(caches,
		                      json_pack("{s:i, s:I, s:i, s:i, s:i}", "level", (int)cache->level, "bytes",
		                                (json_int_t)cache->bytes, "line_bytes", (int)cache->line_bytes, "ways",
		                                (int)cache->ways, "shared_by", (int)cache->shared_by));
	}
	object = json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:s, s:i, s:i, s:i, s:i, s:I, s:o}", "host", topology->host,
	                   "processor", topology->processor, "vendor", topology->vendor, "family",
	                   (int)topology->family, "model", (int)topology->model, "stepping", (int)topology->stepping,
	                   "hypervisor", topology->hypervisor, "packages", (int)topology->packages, "cores",
	                   (int)topology->cores, "cpus", (int)topology->cpus, "numa_nodes", (int)topology->nodes,
	                   "memory_bytes", (json_int_t)topology->memory_bytes, "caches", caches);
	if (topology->cpu_nodes)
		json_object_set_new(object, "numa_cpu_nodes", json_integer(topology->cpu_nodes));
	json_object_set_new(object, "measured_cpus", json_string(fm_cpu_list_text(cpus, sizeof(cpus), &machine->cpus)));
	json_object_set_new(object, "taken", json_string(machine->taken));
	json_object_set_new(object, "effort", json_string(fm_effort_name(machine->effort)));
	json_object_set_new(object, "seed", json_integer((json_int_t)machine->seed));
	for (int part = 0; part < FM_KEPT_PARTS; part++)
		if (machine->kept[part].taken[0])
			json_array_append_new(kept,
			                      json_pack("{s:s, s:s}", "what", fm_kept_words((enum fm_kept_part)part),
			                                "taken", machine->kept[part].taken));
	if (json_array_size(kept))
		json_object_set(object, "kept", kept);
	json_decref(kept);
	return object;
}

static json_t *level_to_json(const struct fm_machine *machine, unsigned index)
{
	const struct fm_level *level = &machine->levels[index];
	json_t *object = json_pack("{s:s, s:i, s:I}", "name", level->name, "shared_by", (int)level->shared_by,
	                           "measured_bytes", (json_int_t)level->measured_bytes);
	json_t *bandwidths = json_array();

	if (level->advertised_bytes) {
		json_object_set_new(object, "advertised_bytes", json_integer((json_int_t)level->advertised_bytes));
	} else {
		json_object_set_new(object, "advertised_bytes", json_null());
		json_object_set_new(object, "advertised_bytes_why", json_string("not a cache"));
	}
	if (level->no_plateau)
		json_object_set_new(object, "plateau", json_false());
	fm_json_set_figure(object, "effective_bytes", &level->effective_bytes);
	fm_json_set_figure(object, "latency_ns", &level->latency_ns);
	fm_json_set_figure(object, "latency_cycles", &level->latency_cycles);
	fm_json_set_figure(object, "latency_4k_ns", &level->latency_small_pages_ns);
	for (unsigned i = 0; i < machine->bandwidth_count; i++) {
		const struct fm_bandwidth *point = &machine->bandwidths[i];
		json_t *entry;

		if (point->level != index)
			continue;
		entry = json_pack("{s:s, s:s, s:i, s:I}", "kernel", fm_stream_kernels[point->kernel].name, "isa",
		                  fm_isa_name(point->isa), "threads", (int)point->threads, "bytes_per_thread",
		                  (json_int_t)point->bytes);
		fm_json_set_figure(entry, "gbs", &point->gbs);
		json_array_append_new(bandwidths, entry);
	}
	json_object_set_new(object, "bandwidth", bandwidths);
	return object;
}

static json_t *curve_to_json(const struct fm_latency_curve *curve, enum fm_pages pages)
{
	json_t *object = json_pack("{s:s}", "pages", fm_pages_name(pages));
	json_t *points;

	if (!curve->count) {
		json_object_set_new(object, "points", json_null());
		json_object_set_new(object, "points_why", json_string(curve->why.why));
		return object;
	}
	points = json_array();
	for (unsigned i = 0; i < curve->count; i++) {
		json_t *point = json_pack("{s:I}", "bytes", (json_int_t)curve->points[i].bytes);

		fm_json_set_figure(point, "ns", &curve->points[i].ns);
		json_array_append_new(points, point);
	}
	json_object_set_new(object, "points", points);
	return object;
}

/* Shares of lines read first, by member of struct fm_string_stores. */
static const struct {
	const char *name;
	size_t offset;
} string_shares[] = {
    {"clear_allocates", offsetof(struct fm_string_stores, clear_allocates)},
    {"copy_allocates", offsetof(struct fm_string_stores, copy_allocates)},
    {"clear_long_allocates", offsetof(struct fm_string_stores, clear_long_allocates)},
    {"copy_long_allocates", offsetof(struct fm_string_stores, copy_long_allocates)},
};
enum { STRING_SHARES = sizeof(string_shares) / sizeof(string_shares[0]) };

/* "tlb1_entries_2m" */
static const char *huge_name(char *buffer, size_t size, unsigned parameter)
{
	snprintf(buffer, size, "%s_2m", fm_translation_parameter_name((enum fm_translation_parameter)parameter));
	return buffer;
}

static json_t *core_to_json(const struct fm_machine *machine)
{
	json_t *object = json_object();

	for (unsigned i = 0; i < FM_CORE_PARAMETERS; i++)
		fm_json_set_figure(object, fm_core_parameter_name((enum fm_core_parameter)i), &machine->core[i]);
	for (unsigned i = 0; i < FM_TRANSLATION_PARAMETERS; i++)
		fm_json_set_figure(object, fm_translation_parameter_name((enum fm_translation_parameter)i),
		                   &machine->translation[i]);
	for (unsigned i = 0; i < FM_WAYS_COUNT; i++)
		fm_json_set_figure(object, fm_ways_name((enum fm_ways)i), &machine->ways[i]);
	for (unsigned i = 0; machine->translation_huge_measured && i < FM_TRANSLATION_PARAMETERS; i++) {
		char name[32];

		fm_json_set_figure(object, huge_name(name, sizeof(name), i), &machine->translation_huge[i]);
	}
	for (unsigned i = 0; machine->prefetch_measured && i < FM_PREFETCH_PARAMETERS; i++)
		fm_json_set_figure(object, fm_prefetch_parameter_name((enum fm_prefetch_parameter)i),
		                   &machine->prefetch[i]);
	return object;
}

static json_t *touch_to_json(const struct fm_machine *machine)
{
	json_t *object = json_object();

	for (unsigned i = 0; i < FM_TOUCH_PARAMETERS; i++)
		fm_json_set_figure(object, fm_touch_parameter_name((enum fm_touch_parameter)i), &machine->touch[i]);
	return object;
}

static json_t *small_pages_to_json(const struct fm_machine *machine)
{
	json_t *object = json_object();

	for (unsigned i = 0; i < FM_SMALL_PAGES_KERNELS; i++)
		fm_json_set_figure(object, fm_stream_kernels[fm_small_pages_kernels[i]].name, &machine->small_pages[i]);
	return object;
}

/* By the table of families, with where it was published. NULL when the table does not have the processor. */
static json_t *published_to_json(const struct fm_machine *machine)
{
	const struct fm_family *family = fm_family_of(&machine->topology);
	json_t *object = family ? json_pack("{s:s}", "family", fm_family_words(family)) : NULL;
	json_t *sources = family ? json_object() : NULL;

	for (unsigned i = 0; family && i < fm_machine_core_figures(machine); i++) {
		struct fm_core_figure core = fm_machine_core_figure(machine, i);

		if (!core.published.available)
			continue;
		fm_json_set_figure(object, core.name, &core.published);
		json_object_set_new(sources, core.name, json_string(fm_family_source(family, core.name)));
	}
	if (family)
		json_object_set_new(object, "sources", sources);
	return object;
}

static json_t *string_stores_to_json(const struct fm_machine *machine)
{
	const struct fm_string_stores *stores = &machine->string_stores;
	json_t *object = json_pack("{s:I, s:I}", "short_bytes", (json_int_t)stores->short_bytes, "long_bytes",
	                           (json_int_t)stores->long_bytes);
	json_t *array = json_array();

	for (unsigned i = 0; i < STRING_SHARES; i++)
		fm_json_set_figure(object, string_shares[i].name,
		                   (const struct fm_figure *)((const char *)stores + string_shares[i].offset));
	for (unsigned i = 0; i < stores->point_count; i++) {
		const struct fm_bandwidth *point = &stores->points[i];
		json_t *entry = json_pack("{s:s, s:s, s:i, s:I}", "level", machine->levels[point->level].name, "kernel",
		                          point->string ? point->string->name : fm_stream_kernels[point->kernel].name,
		                          "threads", (int)point->threads, "bytes_per_thread", (json_int_t)point->bytes);

		if (!point->string)
			json_object_set_new(entry, "isa", json_string(fm_isa_name(point->isa)));
		else if (point->piece)
			json_object_set_new(entry, "bytes_per_instruction", json_integer((json_int_t)point->piece));
		fm_json_set_figure(entry, "gbs", &point->gbs);
		json_array_append_new(array, entry);
	}
	json_object_set_new(object, "bandwidth", array);
	return object;
}

static json_t *bandwidth_curve_to_json(const struct fm_bandwidth_curve *curve)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < curve->count; i++) {
		const struct fm_bandwidth_curve_point *point = &curve->points[i];
		json_t *entry = json_pack("{s:i, s:s, s:f, s:f}", "threads", (int)point->threads, "kernel",
		                          fm_stream_kernels[point->kernel].name, "write_share",
		                          fm_kernel_write_share(point->kernel, false), "rate", point->rate);

		fm_json_set_figure(entry, "traffic_gbs", &point->traffic_gbs);
		fm_json_set_figure(entry, "latency_ns", &point->latency_ns);
		json_array_append_new(array, entry);
	}
	return array;
}

/* An array, or null with the reason when it is empty. */
static void set_list(json_t *root, const char *name, json_t *array, const char *why)
{
	char key[64];

	if (json_array_size(array)) {
		json_object_set_new(root, name, array);
		return;
	}
	json_decref(array);
	json_object_set_new(root, name, json_null());
	snprintf(key, sizeof(key), "%s_why", name);
	json_object_set_new(root, key, json_string(why));
}

/* Profiles of earlier versions say nothing, not even why. */
static void set_contention(json_t *root, const struct fm_machine *machine)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < machine->contention_count; i++) {
		const struct fm_contention_point *point = &machine->contentions[i];
		json_t *object = json_pack("{s:i, s:s}", "threads", (int)point->threads, "kind",
		                           fm_contention_kind_name(point->kind));

		fm_json_set_figure(object, "ns", &point->ns);
		json_array_append_new(array, object);
	}
	if (machine->contention_count || *machine->contention_why.why)
		set_list(root, "contention", array, machine->contention_why.why);
	else
		json_decref(array);
}

json_t *fm_machine_to_json(const struct fm_machine *machine)
{
	json_t *root = fm_json_document("machine");
	json_t *array = json_array();

	json_object_set_new(root, "machine", topology_to_json(machine));
	json_object_set_new(root, "disturbance", fm_json_disturbance(&machine->disturbance));
	fm_json_set_figure(root, "frequency_ghz", &machine->frequency_ghz);
	for (unsigned i = 0; i < machine->level_count; i++)
		json_array_append_new(array, level_to_json(machine, i));
	json_object_set_new(root, "levels", array);
	array = json_array();
	for (int pages = 0; pages < FM_PAGES_COUNT; pages++)
		json_array_append_new(array, curve_to_json(&machine->curves[pages], (enum fm_pages)pages));
	json_object_set_new(root, "latency_curves", array);
	fm_json_set_figure(root, "outstanding_misses", &machine->outstanding_misses);
	if (machine->string_stores.point_count)
		json_object_set_new(root, "string_stores", string_stores_to_json(machine));
	if (machine->core_measured)
		json_object_set_new(root, "core", core_to_json(machine));
	if (machine->touch_measured)
		json_object_set_new(root, "first_touch", touch_to_json(machine));
	if (machine->small_pages[FM_SMALL_PAGES_LOAD].available || machine->small_pages[FM_SMALL_PAGES_STORE].available)
		json_object_set_new(root, "memory_4k", small_pages_to_json(machine));
	if (machine->huge_always)
		json_object_set_new(root, "huge_pages_always", json_true());
	if (fm_family_of(&machine->topology))
		json_object_set_new(root, "published", published_to_json(machine));
	array = json_array();
	for (unsigned i = 0; i < machine->parallel_count; i++) {
		json_t *point = json_pack("{s:i}", "chains", (int)machine->parallel[i].chains);

		fm_json_set_figure(point, "ns_per_load", &machine->parallel[i].ns_per_load);
		json_array_append_new(array, point);
	}
	set_list(root, "parallel_chases", array, "not measured");
	array = json_array();
	for (unsigned i = 0; i < machine->loaded_count; i++) {
		json_t *point = json_object();

		fm_json_set_figure(point, "traffic_gbs", &machine->loaded[i].traffic_gbs);
		fm_json_set_figure(point, "latency_ns", &machine->loaded[i].latency_ns);
		json_array_append_new(array, point);
	}
	set_list(root, "loaded_latency", array, machine->loaded_why.why);
	if (machine->bandwidth_curve.count || *machine->bandwidth_curve.why.why)
		set_list(root, "bandwidth_curve", bandwidth_curve_to_json(&machine->bandwidth_curve),
		         machine->bandwidth_curve.why.why);
	array = json_array();
	for (unsigned i = 0; i < machine->transfer_count; i++) {
		json_t *pair = json_pack("{s:i, s:i}", "from_cpu", (int)machine->transfers[i].from_cpu, "to_cpu",
		                         (int)machine->transfers[i].to_cpu);

		fm_json_set_figure(pair, "ns", &machine->transfers[i].ns);
		json_array_append_new(array, pair);
	}
	set_list(root, "core_to_core", array, machine->transfers_why.why);
	set_contention(root, machine);
	if (machine->combination.cases)
		json_object_set_new(root, "combination",
		                    json_pack("{s:i, s:f, s:f, s:f, s:f}", "cases", (int)machine->combination.cases,
		                              "count_error_median", machine->combination.count_median,
		                              "count_error_nine_tenths", machine->combination.count_most,
		                              "time_error_median", machine->combination.time_median,
		                              "time_error_nine_tenths", machine->combination.time_most));
	array = json_array();
	for (unsigned i = 0; i < machine->numa_count; i++) {
		const struct fm_numa_pair *pair = &machine->numa[i];
		json_t *object = json_pack("{s:i, s:i, s:i}", "cpu_node", (int)pair->cpu_node, "memory_node",
		                           (int)pair->memory_node, "threads", (int)pair->threads);

		fm_json_set_figure(object, "gbs", &pair->gbs);
		fm_json_set_figure(object, "latency_ns", &pair->latency_ns);
		json_array_append_new(array, object);
	}
	set_list(root, "numa", array, "one NUMA node");
	return root;
}

/* Reading: nothing in the file is trusted. */

static uint64_t whole(const json_t *object, const char *name, uint64_t most)
{
	json_int_t value = json_integer_value(json_object_get(object, name));

	return value < 0 || (uint64_t)value > most ? 0 : (uint64_t)value;
}

static void text(const json_t *object, const char *name, char *buffer, size_t size)
{
	const char *value = json_string_value(json_object_get(object, name));

	snprintf(buffer, size, "%s", value ? value : "");
	fm_text_complete(buffer);
}

/* A CPU list of some machine, perhaps not of this one: numbers and ranges only. */
static void parse_foreign_cpus(const char *position, struct fm_cpu_list *ret_list)
{
	ret_list->count = 0;
	while (*position >= '0' && *position <= '9') {
		char *end;
		unsigned long first = strtoul(position, &end, 10), last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		for (; first <= last && ret_list->count < FM_CPUS_MAX; first++)
			ret_list->cpu[ret_list->count++] = (unsigned)first;
		position = end + (*end == ',');
	}
}

static void topology_from_json(const json_t *object, struct fm_machine *machine)
{
	struct fm_topology *topology = &machine->topology;
	const json_t *caches = json_object_get(object, "caches"), *entry;
	char word[6 * FM_CPUS_MAX];
	size_t index;

	text(object, "host", topology->host, sizeof(topology->host));
	text(object, "processor", topology->processor, sizeof(topology->processor));
	text(object, "vendor", topology->vendor, sizeof(topology->vendor));
	text(object, "hypervisor", topology->hypervisor, sizeof(topology->hypervisor));
	topology->family = (unsigned)whole(object, "family", 1u << 16);
	topology->model = (unsigned)whole(object, "model", 1u << 16);
	topology->stepping = (unsigned)whole(object, "stepping", 1u << 16);
	topology->packages = (unsigned)whole(object, "packages", 1u << 16);
	topology->cores = (unsigned)whole(object, "cores", 1u << 20);
	topology->cpus = (unsigned)whole(object, "cpus", 1u << 20);
	topology->nodes = (unsigned)whole(object, "numa_nodes", 1u << 16);
	topology->cpu_nodes = (unsigned)whole(object, "numa_cpu_nodes", 1u << 16);
	topology->memory_bytes = whole(object, "memory_bytes", UINT64_MAX / 2);
	for (size_t i = 0; i < json_array_size(caches) && i < FM_CACHES_MAX; i++) {
		entry = json_array_get(caches, i);

		topology->caches[topology->cache_count++] =
		    (struct fm_cache){.level = (unsigned)whole(entry, "level", 16),
		                      .bytes = whole(entry, "bytes", UINT64_MAX / 2),
		                      .line_bytes = (unsigned)whole(entry, "line_bytes", 1u << 20),
		                      .ways = (unsigned)whole(entry, "ways", 1u << 20),
		                      .shared_by = (unsigned)whole(entry, "shared_by", 1u << 20)};
	}
	text(object, "measured_cpus", word, sizeof(word));
	parse_foreign_cpus(word, &machine->cpus);
	text(object, "taken", machine->taken, sizeof(machine->taken));
	text(object, "effort", word, sizeof(word));
	for (int effort = 0; effort <= FM_EFFORT_FULL; effort++)
		if (!strcmp(word, fm_effort_name((enum fm_effort)effort)))
			machine->effort = (enum fm_effort)effort;
	machine->seed = whole(object, "seed", UINT64_MAX / 2);
	json_array_foreach(json_object_get(object, "kept"), index, entry)
	{
		text(entry, "what", word, sizeof(word));
		for (int part = 0; part < FM_KEPT_PARTS; part++)
			if (!strcmp(word, fm_kept_words((enum fm_kept_part)part)))
				text(entry, "taken", machine->kept[part].taken, sizeof(machine->kept[part].taken));
	}
}

static int bandwidth_from_json(const json_t *entry, unsigned level, struct fm_bandwidth *ret_point)
{
	const char *kernel = json_string_value(json_object_get(entry, "kernel"));
	const char *isa = json_string_value(json_object_get(entry, "isa"));
	const struct fm_stream_kernel *found = kernel ? fm_stream_kernel_find(kernel) : NULL;
	int index;

	for (index = 0; isa && index < FM_ISA_COUNT; index++)
		if (!strcmp(isa, fm_isa_name((enum fm_isa)index)))
			break;
	if (!found || !isa || index == FM_ISA_COUNT)
		return -EBADMSG;
	*ret_point = (struct fm_bandwidth){.level = level,
	                                   .kernel = (enum fm_stream_kernel_index)(found - fm_stream_kernels),
	                                   .isa = (enum fm_isa)index,
	                                   .threads = (unsigned)whole(entry, "threads", FM_CPUS_MAX),
	                                   .bytes = whole(entry, "bytes_per_thread", UINT64_MAX / 2),
	                                   .gbs = fm_json_get_figure(entry, "gbs")};
	return 0;
}

/* Absent in profiles of earlier versions. */
static struct fm_figure core_figure(const json_t *object, const char *name)
{
	struct fm_figure figure = fm_figure_unavailable("the profile does not say: run 'fathom machine' again");

	if (object)
		figure = fm_json_get_figure(object, name);
	if (figure.available && !(figure.value >= 0 && figure.value < 1e6))
		return fm_figure_unavailable("no core has that");
	return figure;
}

static void core_from_json(const json_t *object, struct fm_machine *machine)
{
	machine->core_measured = json_is_object(object);
	for (unsigned i = 0; i < FM_CORE_PARAMETERS; i++)
		machine->core[i] = core_figure(object, fm_core_parameter_name((enum fm_core_parameter)i));
	for (unsigned i = 0; i < FM_TRANSLATION_PARAMETERS; i++)
		machine->translation[i] =
		    core_figure(object, fm_translation_parameter_name((enum fm_translation_parameter)i));
	for (unsigned i = 0; i < FM_WAYS_COUNT; i++)
		machine->ways[i] = core_figure(object, fm_ways_name((enum fm_ways)i));
	for (unsigned i = 0; i < FM_TRANSLATION_PARAMETERS; i++) {
		char name[32];

		huge_name(name, sizeof(name), i);
		machine->translation_huge_measured |= json_object_get(object, name) != NULL;
		machine->translation_huge[i] = core_figure(json_object_get(object, name) ? object : NULL, name);
	}
	machine->prefetch_measured =
	    json_object_get(object, fm_prefetch_parameter_name(FM_PREFETCH_prefetch_adjacent)) != NULL;
	for (unsigned i = 0; i < FM_PREFETCH_PARAMETERS; i++)
		machine->prefetch[i] = core_figure(object, fm_prefetch_parameter_name((enum fm_prefetch_parameter)i));
}

/* Absent in profiles of earlier versions. */
static void small_pages_from_json(const json_t *object, struct fm_machine *machine)
{
	for (unsigned i = 0; i < FM_SMALL_PAGES_KERNELS; i++) {
		struct fm_figure *figure = &machine->small_pages[i];

		*figure = fm_figure_unavailable("the profile does not say: run 'fathom machine' again");
		if (json_is_object(object))
			*figure = fm_json_get_figure(object, fm_stream_kernels[fm_small_pages_kernels[i]].name);
		if (figure->available && !(figure->low > 0 && figure->low <= figure->value &&
		                           figure->value <= figure->high && figure->high < 1e6))
			*figure = fm_figure_unavailable("no memory has that bandwidth");
	}
}

/* Absent in profiles of earlier versions. */
static void touch_from_json(const json_t *object, struct fm_machine *machine)
{
	machine->touch_measured = json_is_object(object);
	for (unsigned i = 0; i < FM_TOUCH_PARAMETERS; i++) {
		struct fm_figure *figure = &machine->touch[i];

		*figure = fm_figure_unavailable("the profile does not say: run 'fathom machine' again");
		if (machine->touch_measured)
			*figure = fm_json_get_figure(object, fm_touch_parameter_name((enum fm_touch_parameter)i));
		if (figure->available && !(figure->low >= 0 && figure->low <= figure->value &&
		                           figure->value <= figure->high && figure->high < 1e10))
			*figure = fm_figure_unavailable("no kernel takes that long");
	}
}

/* Absent in profiles of earlier versions: then there are no points, and the shares say why. */
static void string_stores_from_json(const json_t *object, struct fm_machine *machine)
{
	struct fm_string_stores *stores = &machine->string_stores;
	const json_t *array = json_object_get(object, "bandwidth");

	for (unsigned i = 0; i < STRING_SHARES; i++) {
		struct fm_figure *share = (struct fm_figure *)((char *)stores + string_shares[i].offset);

		*share = fm_figure_unavailable("the profile does not say: run 'fathom machine' again");
		if (object)
			*share = fm_json_get_figure(object, string_shares[i].name);
		if (share->available &&
		    !(share->low >= 0 && share->low <= share->value && share->value <= share->high && share->high <= 1))
			*share = fm_figure_unavailable("not a share");
	}
	stores->short_bytes = whole(object, "short_bytes", UINT64_MAX / 2);
	stores->long_bytes = whole(object, "long_bytes", UINT64_MAX / 2);
	for (size_t i = 0; i < json_array_size(array) && stores->point_count < FM_STRING_POINTS_MAX; i++) {
		const json_t *entry = json_array_get(array, i);
		const char *name = json_string_value(json_object_get(entry, "level"));
		const char *kernel = json_string_value(json_object_get(entry, "kernel"));
		const struct fm_level *level = name ? fm_machine_level(machine, name) : NULL;
		const struct fm_string_kernel *string = kernel ? fm_string_kernel_find(kernel) : NULL;
		struct fm_bandwidth *point = &stores->points[stores->point_count];
		unsigned index = level ? (unsigned)(level - machine->levels) : 0;

		if (!level || (!string && bandwidth_from_json(entry, index, point)))
			continue;
		if (string)
			*point = (struct fm_bandwidth){.level = index,
			                               .string = string,
			                               .piece = whole(entry, "bytes_per_instruction", UINT64_MAX / 2),
			                               .threads = (unsigned)whole(entry, "threads", FM_CPUS_MAX),
			                               .bytes = whole(entry, "bytes_per_thread", UINT64_MAX / 2),
			                               .gbs = fm_json_get_figure(entry, "gbs")};
		stores->point_count++;
	}
}

static int levels_from_json(const json_t *array, struct fm_machine *machine)
{
	size_t total = 0;

	if (!json_is_array(array) || !json_array_size(array) || json_array_size(array) > FM_LEVELS_MAX)
		return -EBADMSG;
	for (size_t i = 0; i < json_array_size(array); i++)
		total += json_array_size(json_object_get(json_array_get(array, i), "bandwidth"));
	machine->bandwidths = calloc(total ? total : 1, sizeof(*machine->bandwidths));
	if (!machine->bandwidths)
		return -ENOMEM;
	for (size_t i = 0; i < json_array_size(array); i++) {
		const json_t *entry = json_array_get(array, i);
		const json_t *bandwidths = json_object_get(entry, "bandwidth");
		struct fm_level *level = &machine->levels[machine->level_count++];

		text(entry, "name", level->name, sizeof(level->name));
		if (!*level->name)
			return -EBADMSG;
		level->advertised_bytes = whole(entry, "advertised_bytes", UINT64_MAX / 2);
		level->shared_by = (unsigned)whole(entry, "shared_by", 1u << 20);
		level->measured_bytes = whole(entry, "measured_bytes", UINT64_MAX / 2);
		level->no_plateau = json_is_false(json_object_get(entry, "plateau"));
		level->effective_bytes = fm_json_get_figure(entry, "effective_bytes");
		level->latency_ns = fm_json_get_figure(entry, "latency_ns");
		level->latency_cycles = fm_json_get_figure(entry, "latency_cycles");
		level->latency_small_pages_ns = fm_json_get_figure(entry, "latency_4k_ns");
		for (size_t j = 0; j < json_array_size(bandwidths); j++)
			if (!bandwidth_from_json(json_array_get(bandwidths, j), (unsigned)i,
			                         &machine->bandwidths[machine->bandwidth_count]))
				machine->bandwidth_count++;
	}
	return 0;
}

static int curves_from_json(const json_t *array, struct fm_machine *machine)
{
	for (size_t i = 0; i < json_array_size(array) && i < FM_PAGES_COUNT; i++) {
		const json_t *entry = json_array_get(array, i);
		const json_t *points = json_object_get(entry, "points");
		struct fm_latency_curve *curve = &machine->curves[i];

		curve->pages = (enum fm_pages)i;
		text(entry, "points_why", curve->why.why, sizeof(curve->why.why));
		if (!json_array_size(points))
			continue;
		curve->points = calloc(json_array_size(points), sizeof(*curve->points));
		if (!curve->points)
			return -ENOMEM;
		for (size_t j = 0; j < json_array_size(points); j++) {
			struct fm_latency_point point = {.bytes =
			                                     whole(json_array_get(points, j), "bytes", UINT64_MAX / 2),
			                                 .ns = fm_json_get_figure(json_array_get(points, j), "ns")};

			if (point.bytes && point.ns.available && point.ns.value > 0)
				curve->points[curve->count++] = point;
		}
	}
	return 0;
}

/* Absent in profiles of earlier versions: then there are no points and no reason. What cannot be a point is left out.
 */
static int bandwidth_curve_from_json(const json_t *root, struct fm_bandwidth_curve *curve)
{
	const json_t *array = json_object_get(root, "bandwidth_curve");
	size_t count = json_array_size(array);

	text(root, "bandwidth_curve_why", curve->why.why, sizeof(curve->why.why));
	if (count > FM_BANDWIDTH_CURVE_MAX)
		count = FM_BANDWIDTH_CURVE_MAX;
	curve->points = calloc(count + 1, sizeof(*curve->points));
	if (!curve->points)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const json_t *entry = json_array_get(array, i);
		const char *name = json_string_value(json_object_get(entry, "kernel"));
		const struct fm_stream_kernel *kernel = name ? fm_stream_kernel_find(name) : NULL;
		struct fm_bandwidth_curve_point point = {.threads = (unsigned)whole(entry, "threads", FM_CPUS_MAX),
		                                         .rate = json_number_value(json_object_get(entry, "rate")),
		                                         .traffic_gbs = fm_json_get_figure(entry, "traffic_gbs"),
		                                         .latency_ns = fm_json_get_figure(entry, "latency_ns")};

		if (!kernel || !point.threads || !(point.rate >= 0 && point.rate <= 1))
			continue;
		point.kernel = (enum fm_stream_kernel_index)(kernel - fm_stream_kernels);
		curve->points[curve->count++] = point;
	}
	return 0;
}

static int pairs_from_json(const json_t *root, struct fm_machine *machine)
{
	const json_t *array = json_object_get(root, "core_to_core");

	machine->transfers = calloc(json_array_size(array) + 1, sizeof(*machine->transfers));
	if (!machine->transfers)
		return -ENOMEM;
	for (size_t i = 0; i < json_array_size(array); i++) {
		const json_t *entry = json_array_get(array, i);

		machine->transfers[machine->transfer_count++] =
		    (struct fm_transfer){.from_cpu = (unsigned)whole(entry, "from_cpu", FM_CPUS_MAX),
		                         .to_cpu = (unsigned)whole(entry, "to_cpu", FM_CPUS_MAX),
		                         .ns = fm_json_get_figure(entry, "ns")};
	}
	array = json_object_get(root, "numa");
	machine->numa = calloc(json_array_size(array) + 1, sizeof(*machine->numa));
	if (!machine->numa)
		return -ENOMEM;
	for (size_t i = 0; i < json_array_size(array); i++) {
		const json_t *entry = json_array_get(array, i);

		machine->numa[machine->numa_count++] =
		    (struct fm_numa_pair){.cpu_node = (unsigned)whole(entry, "cpu_node", FM_NODES_MAX),
		                          .memory_node = (unsigned)whole(entry, "memory_node", FM_NODES_MAX),
		                          .threads = (unsigned)whole(entry, "threads", FM_CPUS_MAX),
		                          .gbs = fm_json_get_figure(entry, "gbs"),
		                          .latency_ns = fm_json_get_figure(entry, "latency_ns")};
	}
	return 0;
}

/* Absent in profiles of earlier versions. */
static void contention_from_json(const json_t *root, struct fm_machine *machine)
{
	const json_t *array = json_object_get(root, "contention");

	text(root, "contention_why", machine->contention_why.why, sizeof(machine->contention_why.why));
	for (size_t i = 0; i < json_array_size(array) && machine->contention_count < FM_CONTENTION_POINTS_MAX; i++) {
		const json_t *entry = json_array_get(array, i);
		const char *name = json_string_value(json_object_get(entry, "kind"));
		struct fm_contention_point point = {.threads = (unsigned)whole(entry, "threads", FM_CPUS_MAX),
		                                    .kind = fm_contention_kind_find(name ? name : ""),
		                                    .ns = fm_json_get_figure(entry, "ns")};

		if (point.threads && point.kind < FM_CONTENTION_KINDS)
			machine->contentions[machine->contention_count++] = point;
	}
}

static void get_combination(const json_t *object, struct fm_combination *ret)
{
	static const char *const names[] = {"count_error_median", "count_error_nine_tenths", "time_error_median",
	                                    "time_error_nine_tenths"};
	double *values[] = {&ret->count_median, &ret->count_most, &ret->time_median, &ret->time_most};
	json_int_t cases = json_integer_value(json_object_get(object, "cases"));

	for (unsigned i = 0; i < 4; i++) {
		const json_t *value = json_object_get(object, names[i]);

		if (!json_is_number(value) || !(json_number_value(value) >= 0) || cases < 1 || cases > 10000)
			return;
		*values[i] = json_number_value(value);
	}
	ret->cases = (unsigned)cases;
}

int fm_machine_from_json(const json_t *root, struct fm_machine **ret_machine, struct fm_error *error)
{
	const char *verb = json_string_value(json_object_get(root, "verb"));
	const json_t *array;
	struct fm_machine *machine;
	int status;

	if (!verb || strcmp(verb, "machine"))
		return fm_error_set(error, EBADMSG, "not a machine profile");
	machine = calloc(1, sizeof(*machine));
	if (!machine)
		return fm_error_set(error, ENOMEM, "out of memory");
	topology_from_json(json_object_get(root, "machine"), machine);
	fm_json_get_disturbance(json_object_get(root, "disturbance"), &machine->disturbance);
	machine->frequency_ghz = fm_json_get_figure(root, "frequency_ghz");
	machine->outstanding_misses = fm_json_get_figure(root, "outstanding_misses");
	status = levels_from_json(json_object_get(root, "levels"), machine);
	if (!status)
		status = curves_from_json(json_object_get(root, "latency_curves"), machine);
	if (!status)
		status = pairs_from_json(root, machine);
	if (!status)
		status = bandwidth_curve_from_json(root, &machine->bandwidth_curve);
	if (status) {
		fm_machine_free(machine);
		return fm_error_set(error, -status, "%s",
		                    status == -ENOMEM ? "out of memory" : "the levels are missing or damaged");
	}
	string_stores_from_json(json_object_get(root, "string_stores"), machine);
	core_from_json(json_object_get(root, "core"), machine);
	touch_from_json(json_object_get(root, "first_touch"), machine);
	small_pages_from_json(json_object_get(root, "memory_4k"), machine);
	machine->huge_always = json_is_true(json_object_get(root, "huge_pages_always"));
	array = json_object_get(root, "parallel_chases");
	for (size_t i = 0; i < json_array_size(array) && i < FM_PARALLEL_POINTS_MAX; i++)
		machine->parallel[machine->parallel_count++] = (struct fm_parallel_point){
		    .chains = (unsigned)whole(json_array_get(array, i), "chains", FM_CHAINS_MAX),
		    .ns_per_load = fm_json_get_figure(json_array_get(array, i), "ns_per_load")};
	array = json_object_get(root, "loaded_latency");
	for (size_t i = 0; i < json_array_size(array) && i < FM_LOAD_POINTS_MAX; i++)
		machine->loaded[machine->loaded_count++] =
		    (struct fm_loaded_point){.traffic_gbs = fm_json_get_figure(json_array_get(array, i), "traffic_gbs"),
		                             .latency_ns = fm_json_get_figure(json_array_get(array, i), "latency_ns")};
	text(root, "loaded_latency_why", machine->loaded_why.why, sizeof(machine->loaded_why.why));
	contention_from_json(root, machine);
	get_combination(json_object_get(root, "combination"), &machine->combination);
	text(root, "core_to_core_why", machine->transfers_why.why, sizeof(machine->transfers_why.why));
	*ret_machine = machine;
	return 0;
}

/* Keeping */

int fm_profile_default_path(char **ret_path, struct fm_error *error)
{
	const char *data = getenv("XDG_DATA_HOME");
	const char *home = getenv("HOME");
	char host[65] = "localhost";
	int length;

	gethostname(host, sizeof(host) - 1);
	for (char *c = host; *c; c++)
		if (*c == '/')
			*c = '_';
	if (data && *data == '/') /* the standard says to ignore relative ones */
		length = asprintf(ret_path, "%s/fathom/machines/%s.json", data, host);
	else if (home && *home)
		length = asprintf(ret_path, "%s/.local/share/fathom/machines/%s.json", home, host);
	else
		return fm_error_set(
		    error, ENOENT,
		    "neither XDG_DATA_HOME nor HOME is set, so there is no place for a profile: set one of them");
	return length < 0 ? fm_error_set(error, ENOMEM, "out of memory") : 0;
}

int fm_profile_save(const char *path, const struct fm_machine *machine, struct fm_error *error)
{
	json_t *root = fm_machine_to_json(machine), *old = NULL;
	int status;

	/* what validation has found about events stays true when the machine is measured again */
	if (root && !fm_json_read(path, &old, &(struct fm_error){0}) && json_object_get(old, "metrics"))
		json_object_set(root, "metrics", json_object_get(old, "metrics"));
	json_decref(old);
	status = root ? fm_json_replace(path, root, error) : fm_error_set(error, ENOMEM, "out of memory");
	json_decref(root);
	return status;
}

int fm_profile_load(const char *path, struct fm_machine **ret_machine, struct fm_error *error)
{
	json_t *root;
	int status = fm_json_read(path, &root, error);

	if (status)
		return status;
	status = fm_machine_from_json(root, ret_machine, error);
	json_decref(root);
	return status ? fm_error_prefix(error, "%s", path) : 0;
}
