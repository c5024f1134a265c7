/* The machine profile: a round trip, hostile files, symbolic links. */
#include "measure/core.h"
#include "check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile/profile.h"
#include "profile/simulated_host.h"
#include "json/figure.h"
#include "report/machine_text.h"

static struct fm_figure figure(double value, const char *unit)
{
	return fm_figure_make(value, value * 0.9, value * 1.1, unit, FM_ORIGIN_measured, "kernels", 12);
}

static struct fm_machine *invent(void)
{
	struct fm_machine *machine = calloc(1, sizeof(*machine));

	strcpy(machine->taken, "2026-01-02T03:04:05Z");
	strcpy(machine->topology.host, "example");
	strcpy(machine->topology.processor, "Some Processor");
	machine->topology.cpus = machine->topology.cores = 4;
	machine->topology.packages = machine->topology.nodes = 1;
	machine->topology.cache_count = 1;
	machine->topology.caches[0] = (struct fm_cache){1, 32768, 64, 8, 1};
	machine->cpus = (struct fm_cpu_list){3, {0, 1, 3}};
	machine->effort = FM_EFFORT_FULL;
	machine->seed = 7;
	machine->disturbance = (struct fm_disturbance){.trials = 100, .disturbed = 3, .cause = {1, 2, 0}};
	machine->frequency_ghz = figure(3, "GHz");
	machine->level_count = 2;
	strcpy(machine->levels[0].name, "L1");
	machine->levels[0].advertised_bytes = 32768;
	machine->levels[0].effective_bytes = figure(30000, "B");
	machine->levels[0].latency_ns = figure(1.25, "ns");
	machine->levels[0].latency_cycles = figure(4, "cycles");
	machine->levels[0].latency_small_pages_ns = fm_figure_unavailable("not asked for");
	strcpy(machine->levels[1].name, "memory");
	machine->levels[1].effective_bytes = fm_figure_unavailable("endless");
	machine->levels[1].latency_ns = figure(100, "ns");
	machine->levels[1].latency_cycles = figure(300, "cycles");
	machine->bandwidths = calloc(2, sizeof(*machine->bandwidths));
	machine->bandwidth_count = 2;
	machine->bandwidths[0] = (struct fm_bandwidth){.level = 1,
	                                               .kernel = FM_STREAM_copy,
	                                               .isa = FM_ISA_sse,
	                                               .threads = 3,
	                                               .bytes = 4096,
	                                               .gbs = figure(11, "GB/s")};
	machine->bandwidths[1] = (struct fm_bandwidth){.level = 0,
	                                               .kernel = FM_STREAM_load,
	                                               .isa = FM_ISA_sse,
	                                               .threads = 1,
	                                               .bytes = 4096,
	                                               .gbs = figure(99, "GB/s")};
	machine->curves[FM_PAGES_SMALL].points = calloc(2, sizeof(struct fm_latency_point));
	machine->curves[FM_PAGES_SMALL].count = 2;
	machine->curves[FM_PAGES_SMALL].points[0] = (struct fm_latency_point){16384, figure(1.2, "ns")};
	machine->curves[FM_PAGES_SMALL].points[1] = (struct fm_latency_point){1 << 26, figure(100, "ns")};
	machine->curves[FM_PAGES_HUGE].why = fm_figure_unavailable("no huge pages");
	machine->outstanding_misses = figure(12, "misses");
	machine->transfers = calloc(1, sizeof(*machine->transfers));
	machine->transfers[0] = (struct fm_transfer){0, 3, figure(40, "ns")};
	machine->transfer_count = 1;
	machine->loaded_why = fm_figure_unavailable("one CPU");
	machine->string_stores = (struct fm_string_stores){
	    .clear_allocates = fm_figure_make(0.96, 0.85, 1, "", FM_ORIGIN_modelled, "kernels", 8),
	    .copy_allocates = fm_figure_unavailable("unsteady"),
	    .clear_long_allocates = fm_figure_make(0, 0, 0.1, "", FM_ORIGIN_modelled, "kernels", 8),
	    .copy_long_allocates = fm_figure_make(0.1, 0, 0.2, "", FM_ORIGIN_modelled, "kernels", 8),
	    .short_bytes = 65536,
	    .long_bytes = 1 << 26,
	    .points = {{.level = 1,
	                .kernel = FM_STREAM_store,
	                .isa = FM_ISA_sse,
	                .threads = 1,
	                .bytes = 1 << 27,
	                .gbs = figure(14, "GB/s")},
	               {.level = 1,
	                .string = &fm_strings[FM_STRING_rep_stos],
	                .piece = 65536,
	                .threads = 1,
	                .bytes = 1 << 27,
	                .gbs = figure(15, "GB/s")},
	               {.level = 0,
	                .string = &fm_strings[FM_STRING_rep_movs],
	                .threads = 1,
	                .bytes = 1 << 14,
	                .gbs = figure(90, "GB/s")}},
	    .point_count = 3};
	machine->bandwidth_curve.points = calloc(2, sizeof(*machine->bandwidth_curve.points));
	machine->bandwidth_curve.count = 2;
	machine->bandwidth_curve.points[0] = (struct fm_bandwidth_curve_point){
	    .threads = 1, .traffic_gbs = figure(0.6, "GB/s"), .latency_ns = figure(100, "ns")};
	machine->bandwidth_curve.points[1] =
	    (struct fm_bandwidth_curve_point){.threads = 3,
	                                      .kernel = FM_STREAM_update,
	                                      .rate = 0.125,
	                                      .traffic_gbs = fm_figure_unavailable("disturbed"),
	                                      .latency_ns = figure(140, "ns")};
	machine->core_measured = true;
	for (unsigned i = 0; i < FM_CORE_PARAMETERS; i++)
		machine->core[i] = figure(i + 1.5, "cycles");
	for (unsigned i = 0; i < FM_TRANSLATION_PARAMETERS; i++)
		machine->translation[i] = figure(100 * i + 64, "pages");
	machine->translation_huge_measured = true;
	for (unsigned i = 0; i < FM_TRANSLATION_PARAMETERS; i++)
		machine->translation_huge[i] = i ? fm_figure_unavailable("not seen") : figure(32, "pages");
	machine->touch_measured = true;
	for (unsigned i = 0; i < FM_TOUCH_PARAMETERS; i++)
		machine->touch[i] = figure(100 * i + 500, "ns");
	machine->contentions[0] = (struct fm_contention_point){1, FM_CONTENTION_ATOMIC, figure(5, "ns")};
	machine->contentions[1] = (struct fm_contention_point){3, FM_CONTENTION_STORE, figure(50, "ns")};
	machine->contention_count = 2;
	machine->prefetch_measured = true;
	for (unsigned i = 0; i < FM_PREFETCH_PARAMETERS; i++)
		machine->prefetch[i] = figure(i + 3, "lines");
	machine->prefetch[FM_PREFETCH_prefetch_adjacent] = fm_figure_unavailable("not conclusive");
	machine->core[FM_CORE_loads_64] = fm_figure_unavailable("no such instructions");
	return machine;
}

static char path[] = "/tmp/fathom-test-XXXXXX";
static char file[64];

static int set_up(void **state)
{
	(void)state;
	strcpy(path, "/tmp/fathom-test-XXXXXX");
	if (!mkdtemp(path))
		return -1;
	snprintf(file, sizeof(file), "%s/deep/er/profile.json", path);
	return 0;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", path);
	return system(command);
}

static void round_trip(void **state)
{
	struct fm_machine *machine = invent(), *read = NULL;
	struct fm_error error;
	json_t *first, *second;

	(void)state;
	assert_int_equal(fm_profile_save(file, machine, &error), 0);
	assert_int_equal(fm_profile_load(file, &read, &error), 0);
	first = fm_machine_to_json(machine);
	second = fm_machine_to_json(read);
	assert_true(json_equal(first, second));
	assert_string_equal(read->levels[0].latency_small_pages_ns.why, "not asked for");
	assert_int_equal(read->bandwidths[1].threads, 3); /* sorted by level in the file */
	assert_int_equal(read->string_stores.point_count, 3);
	assert_true(read->core_measured && read->core[FM_CORE_window].value == FM_CORE_window + 1.5);
	assert_true(read->translation[FM_TRANSLATION_walk].value == 100 * FM_TRANSLATION_walk + 64);
	assert_true(read->translation_huge_measured && read->translation_huge[0].value == 32);
	assert_true(read->touch_measured && read->touch[FM_TOUCH_touch_write_2m].available);
	assert_int_equal(read->contention_count, 2);
	assert_int_equal(read->contentions[1].threads, 3);
	assert_int_equal(read->contentions[1].kind, FM_CONTENTION_STORE);
	assert_true(read->contentions[1].ns.value == 50);
	assert_true(read->prefetch_measured && read->prefetch[FM_PREFETCH_queue].value == FM_PREFETCH_queue + 3);
	assert_string_equal(read->prefetch[FM_PREFETCH_prefetch_adjacent].why, "not conclusive");
	assert_string_equal(read->core[FM_CORE_loads_64].why, "no such instructions");
	assert_string_equal(read->string_stores.points[1].string->name, "rep_stos");
	assert_int_equal(read->string_stores.points[1].piece, 65536);
	assert_true(read->string_stores.clear_allocates.available && read->string_stores.clear_allocates.value > 0.5);
	assert_string_equal(read->string_stores.copy_allocates.why, "unsteady");
	assert_non_null(fm_machine_level(read, "memory"));
	assert_null(fm_machine_level(read, "L9"));
	fm_machine_free(read);
	/* a row with an unknown name is left out */
	json_object_set_new(json_array_get(json_object_get(second, "contention"), 0), "kind", json_string("what"));
	assert_int_equal(fm_machine_from_json(second, &read, &error), 0);
	assert_int_equal(read->contention_count, 1);
	assert_int_equal(read->contentions[0].kind, FM_CONTENTION_STORE);
	json_decref(first);
	json_decref(second);
	fm_machine_free(machine);
	fm_machine_free(read);
}

/* L1, L2, an L3 whose latency only climbs, memory. */
static struct fm_machine *invent_climb(void)
{
	struct fm_machine *machine = invent();
	struct fm_level *memory = &machine->levels[3], *third = &machine->levels[2], *second = &machine->levels[1];

	*memory = machine->levels[1];
	*second = *third = machine->levels[0];
	strcpy(second->name, "L2");
	second->advertised_bytes = 524288;
	second->effective_bytes = figure(500000, "B");
	second->latency_ns = figure(4, "ns");
	second->latency_cycles = figure(12, "cycles");
	strcpy(third->name, "L3");
	third->advertised_bytes = 32 << 20;
	third->shared_by = 4;
	third->no_plateau = true;
	third->effective_bytes = fm_figure_make(8e6, 0.6e6, 30e6, "B", FM_ORIGIN_measured, "kernels", 12);
	third->latency_ns = fm_figure_make(15, 7, 90, "ns", FM_ORIGIN_measured, "kernels", 12);
	third->latency_cycles = fm_figure_make(45, 21, 270, "cycles", FM_ORIGIN_measured, "kernels", 12);
	third->measured_bytes = 4 << 20;
	machine->level_count = 4;
	machine->bandwidths[0].level = 3;
	machine->string_stores.point_count = 0;
	return machine;
}

/* A cache without a plateau is kept: in the file, in the text, and in the machine that is simulated from it. */
static void levels_without_plateau(void **state)
{
	struct fm_machine *machine = invent_climb(), *read = NULL;
	struct fm_machine_description description;
	json_t *first = fm_machine_to_json(machine), *second, *level;
	struct fm_error error;
	char *text = NULL;
	size_t length;
	FILE *output = open_memstream(&text, &length);

	(void)state;
	assert_int_equal(fm_machine_from_json(first, &read, &error), 0);
	second = fm_machine_to_json(read);
	assert_true(json_equal(first, second));
	assert_true(read->levels[2].no_plateau);
	assert_false(read->levels[1].no_plateau);
	level = json_array_get(json_object_get(first, "levels"), 2);
	assert_true(json_is_false(json_object_get(level, "plateau")));
	assert_null(json_object_get(json_array_get(json_object_get(first, "levels"), 1), "plateau"));

	assert_int_equal(fm_description_from_profile(read, &description, &error), 0);
	assert_int_equal(description.cache_count, 3);
	assert_string_equal(description.caches[2].name, "L3");
	/* where the climb begins, but no less than three times the second cache's: misses are the simulator's own */
	assert_int_equal(description.caches[2].latency, 3 * description.caches[1].latency);
	/* its real sets and ways, and what neighbours leave of them */
	assert_int_equal(description.caches[2].bytes, read->levels[2].advertised_bytes);
	assert_near((double)description.caches[2].available, 8e6, 1024);

	fm_machine_print(read, output, 100, 0);
	fclose(output);
	assert_non_null(strstr(text, "7.00–90.0 ns"));
	assert_non_null(strstr(text, "no plateau"));
	assert_null(strstr(text, "inconclusive"));
	free(text);
	fm_machine_free(read);

	/* a profile of an earlier version does not say so of any level */
	json_object_del(level, "plateau");
	assert_int_equal(fm_machine_from_json(first, &read, &error), 0);
	assert_false(read->levels[2].no_plateau);
	fm_machine_free(read);
	fm_machine_free(machine);
	json_decref(first);
	json_decref(second);
}

static struct fm_machine *read_back(const json_t *root)
{
	struct fm_machine *read = NULL;
	struct fm_error error;

	assert_int_equal(fm_machine_from_json(root, &read, &error), 0);
	return read;
}

/* The bandwidth–latency curve: kept; absent in earlier profiles; with a reason when it was not measured; what cannot be
   a point is left out. */
static void bandwidth_curves(void **state)
{
	static const char *const bad[] = {"{}",
	                                  "[]",
	                                  "{\"kernel\": \"no such\", \"threads\": 2, \"rate\": 1}",
	                                  "{\"kernel\": \"load\", \"threads\": 0, \"rate\": 1}",
	                                  "{\"kernel\": \"load\", \"threads\": -3, \"rate\": 1}",
	                                  "{\"kernel\": \"load\", \"threads\": 2, \"rate\": -1}",
	                                  "{\"kernel\": \"load\", \"threads\": 2, \"rate\": 1e300}",
	                                  "{\"kernel\": 7, \"threads\": \"many\"}"};
	struct fm_machine *machine = invent(), *read;
	json_t *root = fm_machine_to_json(machine), *again, *array = json_object_get(root, "bandwidth_curve");

	(void)state;
	read = read_back(root);
	assert_int_equal(read->bandwidth_curve.count, 2);
	assert_int_equal(read->bandwidth_curve.points[1].kernel, FM_STREAM_update);
	assert_true(read->bandwidth_curve.points[1].threads == 3 && read->bandwidth_curve.points[1].rate == 0.125);
	assert_string_equal(read->bandwidth_curve.points[1].traffic_gbs.why, "disturbed");
	assert_near(json_real_value(json_object_get(json_array_get(array, 1), "write_share")), 0.5, 1e-9);
	fm_machine_free(read);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		json_array_append_new(array, json_loads(bad[i], 0, NULL));
	read = read_back(root);
	assert_int_equal(read->bandwidth_curve.count, 2);
	fm_machine_free(read);
	for (unsigned i = 0; i < 2 * FM_BANDWIDTH_CURVE_MAX; i++)
		json_array_append(array, json_array_get(array, 0));
	read = read_back(root);
	assert_true(read->bandwidth_curve.count <= FM_BANDWIDTH_CURVE_MAX);
	fm_machine_free(read);

	json_object_set_new(root, "bandwidth_curve", json_string("no array"));
	read = read_back(root);
	assert_int_equal(read->bandwidth_curve.count, 0);
	fm_machine_free(read);
	/* with one CPU */
	json_object_set_new(root, "bandwidth_curve", json_null());
	json_object_set_new(root, "bandwidth_curve_why", json_string("needs a second CPU"));
	read = read_back(root);
	assert_string_equal(read->bandwidth_curve.why.why, "needs a second CPU");
	again = fm_machine_to_json(read);
	assert_true(json_equal(root, again));
	json_decref(again);
	fm_machine_free(read);
	/* of an earlier version */
	json_object_del(root, "bandwidth_curve");
	json_object_del(root, "bandwidth_curve_why");
	read = read_back(root);
	again = fm_machine_to_json(read);
	assert_true(json_equal(root, again));
	json_decref(again);
	fm_machine_free(read);
	json_decref(root);
	fm_machine_free(machine);
}

/* Profiles made before string stores were measured load, and say that they do not know. */
static void without_string_stores(void **state)
{
	struct fm_machine *machine = invent(), *read = NULL;
	json_t *root = fm_machine_to_json(machine), *again;
	struct fm_error error;

	(void)state;
	json_object_del(root, "string_stores");
	assert_int_equal(fm_machine_from_json(root, &read, &error), 0);
	assert_false(read->string_stores.clear_allocates.available);
	assert_non_null(strstr(read->string_stores.clear_allocates.why, "fathom machine"));
	assert_int_equal(read->string_stores.point_count, 0);
	again = fm_machine_to_json(read);
	assert_true(json_equal(root, again));
	json_decref(again);
	json_decref(root);
	fm_machine_free(read);

	/* a share is between 0 and 1 */
	root = fm_machine_to_json(machine);
	json_object_set_new(json_object_get(json_object_get(root, "string_stores"), "clear_allocates"), "high",
	                    json_real(3));
	assert_int_equal(fm_machine_from_json(root, &read, &error), 0);
	assert_false(read->string_stores.clear_allocates.available);
	json_decref(root);
	fm_machine_free(read);
	fm_machine_free(machine);
}

/* Profiles made before first touches, 2 MiB pages and contention were measured load, and stay as they are. */
static void without_touches(void **state)
{
	struct fm_machine *machine = invent(), *read = NULL;
	json_t *root = fm_machine_to_json(machine), *core = json_object_get(root, "core"), *again;
	struct fm_error error;
	char *text = NULL;
	size_t length;
	FILE *output;

	(void)state;
	json_object_del(root, "first_touch");
	json_object_del(root, "contention");
	for (unsigned i = 0; i < FM_TRANSLATION_PARAMETERS; i++) {
		char name[64];

		snprintf(name, sizeof(name), "%s_2m", fm_translation_parameters[(enum fm_translation_parameter)i].name);
		json_object_del(core, name);
		strcat(name, "_why");
		json_object_del(core, name);
	}
	assert_int_equal(fm_machine_from_json(root, &read, &error), 0);
	assert_false(read->touch_measured || read->translation_huge_measured);
	assert_non_null(strstr(read->touch[FM_TOUCH_touch_write_4k].why, "fathom machine"));
	assert_int_equal(read->contention_count, 0);
	again = fm_machine_to_json(read);
	assert_true(json_equal(root, again));
	json_decref(again);
	output = open_memstream(&text, &length);
	fm_machine_print(read, output, 100, 1);
	fclose(output);
	assert_null(strstr(text, "Contention"));
	assert_null(strstr(text, "First write"));
	free(text);
	fm_machine_free(read);
	/* why there is none is kept; nonsense is not believed */
	json_object_set_new(root, "contention", json_null());
	json_object_set_new(root, "contention_why", json_string("one CPU"));
	json_object_set_new(root, "first_touch",
	                    json_pack("{s:{s:f, s:s, s:f, s:f, s:s, s:s, s:i}}", "touch_write_4k", "value", 1e20,
	                              "unit", "ns", "low", 1e20, "high", 1e20, "origin", "measured", "backend", "x",
	                              "trials", 3));
	assert_int_equal(fm_machine_from_json(root, &read, &error), 0);
	assert_string_equal(read->contention_why.why, "one CPU");
	assert_false(read->touch[FM_TOUCH_touch_write_4k].available);
	fm_machine_free(read);
	json_decref(root);
	fm_machine_free(machine);
}

/* Cut the file at every length, and put a wrong byte at every place: never a crash, never half a machine. */
static void damaged_files(void **state)
{
	struct fm_machine *machine = invent();
	json_t *root = fm_machine_to_json(machine);
	char *text = json_dumps(root, JSON_COMPACT);
	size_t length = strlen(text);
	unsigned refused = 0;

	(void)state;
	for (size_t i = 0; i < 2 * length; i++) {
		struct fm_machine *read = NULL;
		struct fm_error error;
		json_t *damaged;
		char *copy = strdup(text);

		if (i < length)
			copy[i] = 0;
		else
			copy[i - length] = "}0-\"x,[e"[i % 8];
		damaged = json_loads(copy, 0, NULL);
		if (!damaged || fm_machine_from_json(damaged, &read, &error))
			refused++;
		if (read) {
			FILE *nowhere = fopen("/dev/null", "w");

			fm_machine_print(read, nowhere, 100, 1);
			fm_machine_print_separated(read, nowhere, ",");
			fclose(nowhere);
		}
		fm_machine_free(read);
		json_decref(damaged);
		free(copy);
	}
	assert_true(refused > length);
	free(text);
	json_decref(root);
	fm_machine_free(machine);
}

static void other_files_are_refused(void **state)
{
	static const char *const texts[] = {"",
	                                    "[]",
	                                    "{}",
	                                    "{\"verb\":\"doctor\"}",
	                                    "{\"verb\":\"machine\"}",
	                                    "{\"verb\":\"machine\",\"levels\":[]}",
	                                    "{\"verb\":\"machine\",\"levels\":[{}]}",
	                                    "{\"verb\":\"machine\",\"levels\":[1,2,3,4,5,6,7,8,9,10]}",
	                                    "\x00\x01\x02"};
	char name[64];

	(void)state;
	snprintf(name, sizeof(name), "%s/other.json", path);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct fm_machine *read = NULL;
		struct fm_error error;
		FILE *other = fopen(name, "w");

		fputs(texts[i], other);
		fclose(other);
		assert_true(fm_profile_load(name, &read, &error) < 0);
		assert_null(read);
		assert_non_null(strstr(error.message, "other.json"));
	}
}

/* Somebody put a symbolic link where the profile goes: it is replaced, its target untouched. */
static void links_are_not_followed(void **state)
{
	struct fm_machine *machine = invent();
	struct fm_error error;
	struct stat information;
	char target[64], link[64], line[32] = "";
	FILE *victim;

	(void)state;
	snprintf(target, sizeof(target), "%s/victim", path);
	snprintf(link, sizeof(link), "%s/profile.json", path);
	victim = fopen(target, "w");
	fputs("precious", victim);
	fclose(victim);
	assert_int_equal(symlink(target, link), 0);
	assert_int_equal(fm_profile_save(link, machine, &error), 0);
	assert_int_equal(lstat(link, &information), 0);
	assert_true(S_ISREG(information.st_mode));
	victim = fopen(target, "r");
	assert_non_null(fgets(line, sizeof(line), victim));
	fclose(victim);
	assert_string_equal(line, "precious");
	fm_machine_free(machine);
}

static void cannot_be_written(void **state)
{
	struct fm_machine *machine = invent();
	struct fm_error error;

	(void)state;
	assert_true(fm_profile_save("/proc/nowhere/profile.json", machine, &error) < 0);
	assert_non_null(strstr(error.message, "/proc/nowhere"));
	fm_machine_free(machine);
}

static void path_follows_the_standard(void **state)
{
	struct fm_error error;
	char *found = NULL;

	(void)state;
	setenv("XDG_DATA_HOME", "/data", 1);
	assert_int_equal(fm_profile_default_path(&found, &error), 0);
	assert_int_equal(strncmp(found, "/data/fathom/machines/", 22), 0);
	free(found);
	setenv("XDG_DATA_HOME", "relative", 1);
	setenv("HOME", "/home/somebody", 1);
	assert_int_equal(fm_profile_default_path(&found, &error), 0);
	assert_int_equal(strncmp(found, "/home/somebody/.local/share/fathom/machines/", 44), 0);
	free(found);
	unsetenv("HOME");
	unsetenv("XDG_DATA_HOME");
	assert_int_equal(fm_profile_default_path(&found, &error), -ENOENT);
}

/* Costs of two chases with more and more between them, as a Zen 3 showed them, quiet and disturbed. */
static void steps_are_found(void **state)
{
	static const double quiet[] = {153, 143, 139, 151, 142, 146, 144, 153, 154, 151, 153, 157, 163, 168, 164,
	                               282, 275, 276, 296, 296, 283, 280, 283, 293, 287, 285, 290, 278, 298, 306},
	                    flat[] = {153, 143, 139, 151, 142, 146, 144, 153, 154, 151, 153, 157, 163, 168, 164},
	                    spike[] = {153, 143, 139, 151, 142, 296, 144, 153, 154, 151, 153, 157, 163, 168, 164},
	                    slow[] = {100, 112, 125, 137, 150, 162, 175, 187, 200, 212, 225, 237, 250, 262, 275};
	unsigned low, high;

	(void)state;
	assert_true(fm_core_find_step(quiet, 30, &low, &high));
	assert_int_equal(low, 14);
	assert_int_equal(high, 15);
	assert_false(fm_core_find_step(flat, 15, &low, &high));
	assert_false(fm_core_find_step(spike, 15, &low, &high));
	assert_false(fm_core_find_step(slow, 15, &low, &high));
}

/* Parts of an earlier profile are kept with the time they were measured at; what it has not is not touched. */
static void quick_profiles_keep_parts(void **state)
{
	struct fm_machine *quick = calloc(1, sizeof(*quick)), *earlier = calloc(1, sizeof(*earlier));
	unsigned kept = 0;

	(void)state;
	assert_non_null(quick);
	assert_non_null(earlier);
	strcpy(quick->taken, "2026-03-03T00:00:00Z");
	strcpy(earlier->taken, "2026-02-02T00:00:00Z");
	quick->prefetch[FM_PREFETCH_queue] = fm_figure_unavailable("not measured with --quick");
	for (int part = 0; part < FM_KEPT_PARTS; part++)
		assert_false(fm_machine_keep(quick, (enum fm_kept_part)part, earlier));
	assert_string_equal(quick->prefetch[FM_PREFETCH_queue].why, "not measured with --quick");
	earlier->prefetch_measured = earlier->core_measured = earlier->touch_measured = true;
	earlier->prefetch[FM_PREFETCH_queue] = figure(40, "lines");
	earlier->bandwidth_curve.count = 1;
	earlier->bandwidth_curve.points = calloc(1, sizeof(*earlier->bandwidth_curve.points));
	assert_non_null(earlier->bandwidth_curve.points);
	strcpy(earlier->kept[FM_KEPT_core].taken, "2026-01-01T00:00:00Z");
	for (int part = 0; part < FM_KEPT_PARTS; part++)
		kept += fm_machine_keep(quick, (enum fm_kept_part)part, earlier);
	assert_int_equal(kept, 4);
	assert_true(quick->prefetch_measured && quick->prefetch[FM_PREFETCH_queue].value == 40);
	assert_string_equal(quick->kept[FM_KEPT_prefetch].taken, "2026-02-02T00:00:00Z");
	/* it was kept already then */
	assert_string_equal(quick->kept[FM_KEPT_core].taken, "2026-01-01T00:00:00Z");
	assert_string_equal(quick->kept[FM_KEPT_huge_pages].taken, "");
	assert_ptr_not_equal(quick->bandwidth_curve.points, earlier->bandwidth_curve.points);
	fm_machine_free(quick);
	fm_machine_free(earlier);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(steps_are_found),
	    cmocka_unit_test(round_trip),
	    cmocka_unit_test(levels_without_plateau),
	    cmocka_unit_test(without_string_stores),
	    cmocka_unit_test(without_touches),
	    cmocka_unit_test(bandwidth_curves),
	    cmocka_unit_test(damaged_files),
	    cmocka_unit_test(other_files_are_refused),
	    cmocka_unit_test(links_are_not_followed),
	    cmocka_unit_test(cannot_be_written),
	    cmocka_unit_test(path_follows_the_standard),
	    cmocka_unit_test(quick_profiles_keep_parts),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
