/* The machine profile as JSON. */
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "json/figure.h"
#include "profile/core_figures.h"
#include "profile/family.h"
#include "profile/peak.h"
#include "profile/profile.h"

static const char *effort_name(unsigned value)
{
	return fm_effort_name((enum fm_effort)value);
}

static const char *kernel_name(unsigned value)
{
	return fm_streams[value].name;
}

static const char *isa_name(unsigned value)
{
	return fm_isa_name((enum fm_isa)value);
}

static const char *kind_name(unsigned value)
{
	return fm_contention_kinds[value].name;
}

#define BYTES (UINT64_MAX / 2)
#define NODES (1u << 16)

/* Writing */

static void set_null(json_t *object, const char *name, const char *why)
{
	char key[64];

	json_object_set_new(object, name, json_null());
	snprintf(key, sizeof(key), "%s_why", name);
	json_object_set_new(object, key, json_string(why));
}

/* set_level(object, level) and so on */
#define OBJECT(identifier, type)                                      \
	static void set_##identifier(json_t *object, const void *row) \
	{                                                             \
		const type *from = row;
#define TEXT(name, member) json_object_set_new(object, name, json_string(from->member));
#define WHOLE(name, member, most) json_object_set_new(object, name, json_integer((json_int_t)from->member));
#define WHOLE_OR(name, member, most, why)                                                  \
	if (from->member)                                                                  \
		json_object_set_new(object, name, json_integer((json_int_t)from->member)); \
	else                                                                               \
		set_null(object, name, why);
#define REAL(name, member) json_object_set_new(object, name, json_real(from->member));
#define NAME(name, member, name_of, count) json_object_set_new(object, name, json_string(name_of(from->member)));
#define NOT(name, member) \
	if (from->member) \
		json_object_set_new(object, name, json_false());
#define FIGURE(name, member) fm_json_set_figure(object, name, &from->member);
#define FIGURE_IF(name, member, fits, why) fm_json_set_figure(object, name, &from->member);
#define DERIVED(name, value) json_object_set_new(object, name, json_real(value));
#define END }
#include "profile/members.def"
#undef OBJECT
#undef TEXT
#undef WHOLE
#undef WHOLE_OR
#undef REAL
#undef NAME
#undef NOT
#undef FIGURE
#undef FIGURE_IF
#undef DERIVED
#undef END

/* An array of objects. */
static json_t *rows_to_json(void (*set)(json_t *object, const void *row), const void *rows, size_t size, unsigned count)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < count; i++) {
		json_t *object = json_object();

		set(object, (const char *)rows + i * size);
		json_array_append_new(array, object);
	}
	return array;
}
#define ROWS(identifier, rows) identifier, rows, sizeof(*(rows))

static json_t *topology_to_json(const struct fm_machine *machine)
{
	const struct fm_topology *topology = &machine->topology;
	char cpus[6 * FM_CPUS_MAX]; /* they need not be in sequence */
	json_t *object = json_object(), *kept = json_array();

	set_topology(object, topology);
	json_object_set_new(object, "caches", rows_to_json(ROWS(set_cache, topology->caches), topology->cache_count));
	if (topology->cpu_nodes)
		json_object_set_new(object, "numa_cpu_nodes", json_integer(topology->cpu_nodes));
	json_object_set_new(object, "measured_cpus", json_string(fm_cpu_list_text(cpus, sizeof(cpus), &machine->cpus)));
	set_machine(object, machine);
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
	json_t *object = json_object(), *bandwidths = json_array();

	set_level(object, &machine->levels[index]);
	for (unsigned i = 0; i < machine->bandwidth_count; i++) {
		json_t *entry;

		if (machine->bandwidths[i].level != index)
			continue;
		entry = json_object();
		set_bandwidth(entry, &machine->bandwidths[i]);
		json_array_append_new(bandwidths, entry);
	}
	json_object_set_new(object, "bandwidth", bandwidths);
	return object;
}

/* An array, or null with the reason when it is empty. */
static void set_list(json_t *root, const char *name, json_t *array, const char *why)
{
	if (json_array_size(array)) {
		json_object_set_new(root, name, array);
		return;
	}
	json_decref(array);
	set_null(root, name, why);
}

static json_t *curve_to_json(const struct fm_latency_curve *curve, enum fm_pages pages)
{
	json_t *object = json_pack("{s:s}", "pages", fm_pages_name(pages));

	set_list(object, "points", rows_to_json(ROWS(set_latency, curve->points), curve->count), curve->why.why);
	return object;
}

static json_t *core_to_json(const struct fm_machine *machine)
{
	json_t *object = json_object();

	for (unsigned i = 0; i < FM_CORE_GROUPS; i++)
		for (unsigned k = 0; fm_core_group_measured(machine, i) && k < fm_core_groups[i].count; k++)
			fm_json_set_figure(object, fm_core_groups[i].rows[k].name,
			                   fm_core_group_figures(machine, i) + k);
	return object;
}

static json_t *touch_to_json(const struct fm_machine *machine)
{
	json_t *object = json_object();

	for (unsigned i = 0; i < FM_TOUCH_PARAMETERS; i++)
		fm_json_set_figure(object, fm_touch_parameters[(enum fm_touch_parameter)i].name, &machine->touch[i]);
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
	json_t *object = json_object(), *array = json_array();

	set_string_stores(object, stores);
	for (unsigned i = 0; i < stores->point_count; i++) {
		const struct fm_bandwidth *point = &stores->points[i];
		json_t *entry = json_pack("{s:s, s:s, s:i, s:I}", "level", machine->levels[point->level].name, "kernel",
		                          point->string ? point->string->name : fm_streams[point->kernel].name,
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

static void set_object(json_t *root, const char *name, void (*set)(json_t *object, const void *row), const void *row)
{
	json_t *object = json_object();

	set(object, row);
	json_object_set_new(root, name, object);
}

json_t *fm_machine_to_json(const struct fm_machine *machine)
{
	const struct fm_bandwidth_curve *curve = &machine->bandwidth_curve;
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
		set_object(root, "memory_4k", set_small_pages, machine);
	if (machine->huge_always)
		json_object_set_new(root, "huge_pages_always", json_true());
	if (fm_family_of(&machine->topology))
		json_object_set_new(root, "published", published_to_json(machine));
	set_list(root, "parallel_chases", rows_to_json(ROWS(set_parallel, machine->parallel), machine->parallel_count),
	         "not measured");
	set_list(root, "loaded_latency", rows_to_json(ROWS(set_loaded, machine->loaded), machine->loaded_count),
	         machine->loaded_why.why);
	/* profiles of earlier versions have neither this curve nor a reason, and so with contention */
	if (curve->count || *curve->why.why)
		set_list(root, "bandwidth_curve", rows_to_json(ROWS(set_bandwidth_curve, curve->points), curve->count),
		         curve->why.why);
	set_list(root, "core_to_core", rows_to_json(ROWS(set_transfer, machine->transfers), machine->transfer_count),
	         machine->transfers_why.why);
	if (machine->contention_count || *machine->contention_why.why)
		set_list(root, "contention",
		         rows_to_json(ROWS(set_contention, machine->contentions), machine->contention_count),
		         machine->contention_why.why);
	if (machine->combination.cases)
		set_object(root, "combination", set_combination, &machine->combination);
	set_list(root, "numa", rows_to_json(ROWS(set_numa, machine->numa), machine->numa_count), "one NUMA node");
	return root;
}

/* Reading: nothing in the file is trusted. */

static uint64_t get_whole(const json_t *object, const char *name, uint64_t most)
{
	json_int_t value = json_integer_value(json_object_get(object, name));

	return value < 0 || (uint64_t)value > most ? 0 : (uint64_t)value;
}

static void get_text(const json_t *object, const char *name, char *buffer, size_t size)
{
	const char *value = json_string_value(json_object_get(object, name));

	snprintf(buffer, size, "%s", value ? value : "");
	fm_text_complete(buffer);
}

/* 0 and false if the name is unknown. */
static bool get_name(const json_t *object, const char *name, const char *(*name_of)(unsigned value), unsigned count,
                     unsigned *ret_value)
{
	const char *value = json_string_value(json_object_get(object, name));
	unsigned i = 0;

	while (value && i < count && strcmp(value, name_of(i)) != 0)
		i++;
	*ret_value = value && i < count ? i : 0;
	return value && i < count;
}

static bool fits_core(const struct fm_figure *figure)
{
	return figure->value >= 0 && figure->value < 1e6;
}

static bool fits_kernel(const struct fm_figure *figure)
{
	return figure->low >= 0 && figure->high < 1e10;
}

static bool fits_memory(const struct fm_figure *figure)
{
	return figure->low > 0 && figure->high < 1e6;
}

static bool is_share(const struct fm_figure *figure)
{
	return figure->low >= 0 && figure->high <= 1;
}

/* Profiles of earlier versions may lack the object. */
static struct fm_figure get_figure(const json_t *object, const char *name, bool (*fits)(const struct fm_figure *figure),
                                   const char *why)
{
	struct fm_figure figure = object ? fm_json_get_figure(object, name)
	                                 : fm_figure_unavailable("missing in the profile: run 'fathom machine' again");

	return figure.available && !fits(&figure) ? fm_figure_unavailable("%s", why) : figure;
}

/* get_level(object, level) and so on: true if the object has all names and numbers that its row needs */
#define OBJECT(identifier, type)                                      \
	static bool get_##identifier(const json_t *object, void *row) \
	{                                                             \
		type *to = row;                                       \
		unsigned value = 0;                                   \
		bool whole = true;                                    \
		(void)value;
#define TEXT(name, member) get_text(object, name, to->member, sizeof(to->member));
#define WHOLE(name, member, most) to->member = get_whole(object, name, most);
#define WHOLE_OR(name, member, most, why) to->member = get_whole(object, name, most);
#define REAL(name, member)                                      \
	whole &= json_is_number(json_object_get(object, name)); \
	to->member = json_number_value(json_object_get(object, name));
#define NAME(name, member, name_of, count)                       \
	whole &= get_name(object, name, name_of, count, &value); \
	to->member = value;
#define NOT(name, member) to->member = json_is_false(json_object_get(object, name));
#define FIGURE(name, member) to->member = fm_json_get_figure(object, name);
#define FIGURE_IF(name, member, fits, why) to->member = get_figure(object, name, fits, why);
#define DERIVED(name, value)
#define END           \
	return whole; \
	}
#include "profile/members.def"

/* Rows that are not whole or do not fit (NULL: all do) are left out. Returns the number of rows. */
static unsigned rows_from_json(const json_t *array, bool (*get)(const json_t *object, void *row), void *rows,
                               size_t size, size_t most, bool (*fits)(const void *row))
{
	unsigned count = 0;

	for (size_t i = 0; i < json_array_size(array) && count < most; i++) {
		void *row = (char *)rows + count * size;

		memset(row, 0, size);
		count += get(json_array_get(array, i), row) && (!fits || fits(row));
	}
	return count;
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
	char word[6 * FM_CPUS_MAX];
	const json_t *entry;
	size_t index;

	get_topology(object, topology);
	topology->cpu_nodes = (unsigned)get_whole(object, "numa_cpu_nodes", NODES);
	topology->cache_count =
	    rows_from_json(json_object_get(object, "caches"), ROWS(get_cache, topology->caches), FM_CACHES_MAX, NULL);
	get_text(object, "measured_cpus", word, sizeof(word));
	parse_foreign_cpus(word, &machine->cpus);
	get_machine(object, machine);
	json_array_foreach(json_object_get(object, "kept"), index, entry)
	{
		get_text(entry, "what", word, sizeof(word));
		for (int part = 0; part < FM_KEPT_PARTS; part++)
			if (!strcmp(word, fm_kept_words((enum fm_kept_part)part)))
				get_text(entry, "taken", machine->kept[part].taken, sizeof(machine->kept[part].taken));
	}
}

static void core_from_json(const json_t *object, struct fm_machine *machine)
{
	for (unsigned i = 0; i < FM_CORE_GROUPS; i++) {
		const struct fm_core_group *group = &fm_core_groups[i];
		bool *measured = (bool *)((char *)machine + group->measured);
		struct fm_figure *figures = (struct fm_figure *)((char *)machine + group->figures);

		for (unsigned k = 0; k < group->count; k++)
			*measured |= json_object_get(object, group->rows[k].name) != NULL;
		for (unsigned k = 0; k < group->count; k++)
			figures[k] = get_figure(*measured ? object : NULL, group->rows[k].name, fits_core,
			                        "not plausible for a core");
	}
}

static void touch_from_json(const json_t *object, struct fm_machine *machine)
{
	machine->touch_measured = json_is_object(object);
	for (unsigned i = 0; i < FM_TOUCH_PARAMETERS; i++)
		machine->touch[i] = get_figure(object, fm_touch_parameters[(enum fm_touch_parameter)i].name,
		                               fits_kernel, "not plausible for a kernel");
}

/* Profiles of earlier versions have no points. */
static void string_stores_from_json(const json_t *object, struct fm_machine *machine)
{
	struct fm_string_stores *stores = &machine->string_stores;
	const json_t *array = json_object_get(object, "bandwidth");

	get_string_stores(object, stores);
	for (size_t i = 0; i < json_array_size(array) && stores->point_count < FM_STRING_POINTS_MAX; i++) {
		const json_t *entry = json_array_get(array, i);
		const char *name = json_string_value(json_object_get(entry, "level"));
		const char *kernel = json_string_value(json_object_get(entry, "kernel"));
		const struct fm_level *level = name ? fm_machine_level(machine, name) : NULL;
		struct fm_bandwidth point = {.level = level ? (unsigned)(level - machine->levels) : 0,
		                             .string = kernel ? fm_string_find(kernel) : NULL};
		bool whole = get_bandwidth(entry, &point);

		if (!level || (!point.string && !whole))
			continue;
		if (point.string)
			point.piece = get_whole(entry, "bytes_per_instruction", BYTES);
		stores->points[stores->point_count++] = point;
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
		struct fm_bandwidth *points = machine->bandwidths + machine->bandwidth_count;
		unsigned count = rows_from_json(json_object_get(entry, "bandwidth"), ROWS(get_bandwidth, points),
		                                total - machine->bandwidth_count, NULL);

		get_level(entry, &machine->levels[machine->level_count++]);
		if (!*machine->levels[i].name)
			return -EBADMSG;
		for (unsigned k = 0; k < count; k++)
			points[k].level = (unsigned)i;
		machine->bandwidth_count += count;
	}
	return 0;
}

/* An array in new memory; NULL if there is none left. */
static void *new_rows(const json_t *array, bool (*get)(const json_t *object, void *row), size_t size, size_t most,
                      bool (*fits)(const void *row), unsigned *ret_count)
{
	void *rows = calloc(json_array_size(array) + 1, size);

	*ret_count = rows ? rows_from_json(array, get, rows, size, most, fits) : 0;
	return rows;
}

static bool fits_latency(const void *row)
{
	const struct fm_latency_point *point = row;

	return point->bytes && point->ns.available && point->ns.value > 0;
}

static bool fits_bandwidth_curve(const void *row)
{
	const struct fm_bandwidth_curve_point *point = row;

	return point->threads && point->rate >= 0 && point->rate <= 1;
}

static bool fits_contention(const void *row)
{
	return ((const struct fm_contention_point *)row)->threads > 0;
}

static int arrays_from_json(const json_t *root, struct fm_machine *machine)
{
	const json_t *curves = json_object_get(root, "latency_curves");
	struct fm_bandwidth_curve *traffic = &machine->bandwidth_curve;

	for (size_t i = 0; i < json_array_size(curves) && i < FM_PAGES_COUNT; i++) {
		const json_t *entry = json_array_get(curves, i);
		struct fm_latency_curve *curve = &machine->curves[i];

		curve->pages = (enum fm_pages)i;
		get_text(entry, "points_why", curve->why.why, sizeof(curve->why.why));
		curve->points = new_rows(json_object_get(entry, "points"), get_latency, sizeof(*curve->points),
		                         UINT_MAX, fits_latency, &curve->count);
		if (!curve->points)
			return -ENOMEM;
	}
	machine->transfers = new_rows(json_object_get(root, "core_to_core"), get_transfer, sizeof(*machine->transfers),
	                              UINT_MAX, NULL, &machine->transfer_count);
	machine->numa = new_rows(json_object_get(root, "numa"), get_numa, sizeof(*machine->numa), UINT_MAX, NULL,
	                         &machine->numa_count);
	traffic->points =
	    new_rows(json_object_get(root, "bandwidth_curve"), get_bandwidth_curve, sizeof(*traffic->points),
	             FM_BANDWIDTH_CURVE_MAX, fits_bandwidth_curve, &traffic->count);
	machine->parallel_count = rows_from_json(json_object_get(root, "parallel_chases"),
	                                         ROWS(get_parallel, machine->parallel), FM_PARALLEL_POINTS_MAX, NULL);
	machine->loaded_count = rows_from_json(json_object_get(root, "loaded_latency"),
	                                       ROWS(get_loaded, machine->loaded), FM_LOAD_POINTS_MAX, NULL);
	machine->contention_count =
	    rows_from_json(json_object_get(root, "contention"), ROWS(get_contention, machine->contentions),
	                   FM_CONTENTION_POINTS_MAX, fits_contention);
	get_text(root, "bandwidth_curve_why", traffic->why.why, sizeof(traffic->why.why));
	get_text(root, "loaded_latency_why", machine->loaded_why.why, sizeof(machine->loaded_why.why));
	get_text(root, "contention_why", machine->contention_why.why, sizeof(machine->contention_why.why));
	get_text(root, "core_to_core_why", machine->transfers_why.why, sizeof(machine->transfers_why.why));
	return machine->transfers && machine->numa && traffic->points ? 0 : -ENOMEM;
}

static void combination_from_json(const json_t *object, struct fm_combination *ret)
{
	if (!get_combination(object, ret) || !(ret->count_median >= 0) || !(ret->count_most >= 0) ||
	    !(ret->time_median >= 0) || !(ret->time_most >= 0))
		ret->cases = 0;
}

int fm_machine_from_json(const json_t *root, struct fm_machine **ret_machine, struct fm_error *error)
{
	const char *verb = json_string_value(json_object_get(root, "verb"));
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
		status = arrays_from_json(root, machine);
	if (status) {
		fm_machine_free(machine);
		return fm_error_set(error, -status, "%s",
		                    status == -ENOMEM ? "out of memory" : "the levels are missing or damaged");
	}
	string_stores_from_json(json_object_get(root, "string_stores"), machine);
	core_from_json(json_object_get(root, "core"), machine);
	touch_from_json(json_object_get(root, "first_touch"), machine);
	get_small_pages(json_object_get(root, "memory_4k"), machine);
	machine->huge_always = json_is_true(json_object_get(root, "huge_pages_always"));
	combination_from_json(json_object_get(root, "combination"), &machine->combination);
	*ret_machine = machine;
	return 0;
}
