/* The picture that counters give against the one the engine knows, on the simulated Haswell-EP: with formulas that were
   validated, and with the vendor's; and the vendor's files against libpfm4. */
#include "check.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counters/library.h"
#include "model/counted.h"
#include "observe/machines.h"
#include "observed.h"
#include "patterns/patterns.h"
#include "trust/metrics.h"
#include "trust/validated.h"

static struct fm_machine_description machine;
static struct fm_simulated_events *events;
/* `fallback`: where loads that missed L1 cannot be told from all pending ones */
static struct fm_recipe *validated, *vendor, *fallback;

static bool is_simulated(void *context, const char *name)
{
	struct fm_error ignored;
	unsigned index;

	(void)context;
	return !fm_simulated_find(events, name, &index, &ignored);
}

static bool is_simulated_but_for_misses(void *context, const char *name)
{
	return !strstr(name, "STALLS_L1D_PENDING") && is_simulated(context, name);
}

static int set_up(void **state)
{
	struct fm_recipe_wishes wishes = {.exists = is_simulated};
	struct fm_machine_description smaller;
	struct fm_validation *validation;
	struct fm_matrix *matrix;
	struct fm_error error;
	json_t *metrics;
	char *text = NULL;
	int r;

	(void)state;
	if (validate_haswell(&smaller, &matrix, &validation))
		return -1;
	metrics = fm_metrics_to_json(validation);
	fm_validation_free(validation);
	fm_matrix_free(matrix);
	wishes.metrics = metrics;
	r = fm_description_read(MACHINES "/haswell-ep.machine", &machine, &error);
	if (!r)
		r = fm_simulated_load(MACHINES "/haswell-ep.machine", &events, &error);
	if (!r)
		r = fm_recipe_create(&wishes, &validated, &error);
	json_decref(metrics);
	if (!r)
		r = fm_file_text(VENDOR_GROUPS "/haswell-ep/UTILISATION.txt", &text, &error);
	wishes = (struct fm_recipe_wishes){.vendor_text = text, .exists = is_simulated};
	if (!r)
		r = fm_recipe_create(&wishes, &vendor, &error);
	wishes.exists = is_simulated_but_for_misses;
	if (!r)
		r = fm_recipe_create(&wishes, &fallback, &error);
	free(text);
	if (r)
		print_error("%s\n", error.message);
	/* the examples' data shall not fit */
	machine.caches[2].bytes /= 4;
	return r;
}

static int tear_down(void **state)
{
	(void)state;
	fm_recipe_free(validated);
	fm_recipe_free(vendor);
	fm_recipe_free(fallback);
	fm_simulated_free(events);
	return 0;
}

static struct fm_recording *execute_with(char *const *arguments, const char *cores)
{
	return observed(&machine, &(struct fm_observation){.program = arguments, .cores = cores, .timing = true});
}

static struct fm_recording *execute(const char *path)
{
	return execute_with((char *[]){(char *)path, NULL}, "0-23");
}

static void drop(struct fm_picture *picture)
{
	fm_picture_free(picture);
	free(picture);
}

static double share(const struct fm_picture *picture, const struct fm_figure *cycles)
{
	assert_true(cycles->available);
	return 100 * cycles->value / picture->active.value;
}

static enum fm_verdict verdict_of(const struct fm_picture *picture, const char *name)
{
	struct fm_finding findings[FM_FINDINGS_MAX];
	unsigned count = fm_patterns_find(picture, findings);

	for (unsigned i = 0; i < count; i++)
		if (!strcmp(findings[i].name, name))
			return findings[i].verdict;
	fail_msg("there is no pattern %s", name);
	return FM_VERDICT_INCONCLUSIVE;
}

/* Levels within 2 %, parts of the cycles within 10 points, and no pattern judged the other way round. Of regions,
   latency may be told too much of. */
static void compare(const struct fm_recording *recording, const struct fm_part *part)
{
	static const char *const patterns[] = {"bandwidth:L2", "bandwidth:L3", "bandwidth:memory",
	                                       "latency:L2",   "latency:L3",   "latency:memory",
	                                       "imbalance",    "numa",         "instruction-throughput"};
	struct fm_picture *truth = malloc(sizeof(*truth)), *counted = malloc(sizeof(*counted));
	struct fm_figure counts[FM_EVENTS_MAX];

	fm_picture_build(recording, part, truth);
	fm_picture_from_simulated(validated, events, recording, part, counts, counted);
	for (unsigned i = 1; i < truth->level_count; i++) {
		const struct fm_picture_level *known = &truth->levels[i], *told = &counted->levels[i];

		print_message("  %-6s %7.3f GB/s, counted %7.3f [%.3f, %.3f], %s\n", known->name, known->gbs.value,
		              told->gbs.value, told->gbs.low, told->gbs.high, told->source);
		/* a part of a socket has no counters of the socket */
		if (!told->gbs.available && part->region)
			continue;
		assert_true(told->gbs.available);
		assert_near(told->gbs.value, known->gbs.value, 0.02 * known->gbs.value + 0.01);
		/* and the interval holds it */
		assert_true(told->gbs.low <= known->gbs.value * 1.0001 && told->gbs.high >= known->gbs.value * 0.9999);
		assert_near(told->utilisation.value, known->utilisation.value, 0.02);
	}
	print_message("  bandwidth %.0f, counted %.0f; latency %.0f, counted %.0f; productive %.0f, counted %.0f %%\n",
	              share(truth, &truth->bandwidth_bound), share(counted, &counted->bandwidth_bound),
	              share(truth, &truth->latency_bound), share(counted, &counted->latency_bound),
	              share(truth, &truth->productive), share(counted, &counted->productive));
	assert_near(share(counted, &counted->productive), share(truth, &truth->productive), 1);
	assert_near(share(counted, &counted->bandwidth_bound), share(truth, &truth->bandwidth_bound), 10);
	/* while lines are on their way, waiting for arithmetic is counted as waiting for them: so at least */
	assert_true(share(counted, &counted->latency_bound) > share(truth, &truth->latency_bound) - 10);
	if (!part->region)
		assert_near(share(counted, &counted->latency_bound), share(truth, &truth->latency_bound), 10);
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		enum fm_verdict known = verdict_of(truth, patterns[i]), told = verdict_of(counted, patterns[i]);

		if ((known == FM_VERDICT_PRESENT && told == FM_VERDICT_ABSENT) ||
		    (known == FM_VERDICT_ABSENT && told == FM_VERDICT_PRESENT &&
		     !(part->region && !strncmp(patterns[i], "latency", 7))))
			fail_msg("%s is %s, and by counters %s", patterns[i], fm_verdict_name(known),
			         fm_verdict_name(told));
	}
	drop(truth);
	drop(counted);
}

static void counters_tell_what_the_engine_knows(void **state)
{
	static char *const programs[][3] = {{EXAMPLES "stream", "6"},
	                                    {EXAMPLES "chase"},
	                                    {EXAMPLES "compute"},
	                                    {PROGRAMS "triangle"},
	                                    {PROGRAMS "phases"}};

	(void)state;
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		struct fm_recording *recording = execute_with(programs[i], "0-23");
		const char *name;

		print_message("%s\n", strrchr(programs[i][0], '/') + 1);
		compare(recording, &(struct fm_part){.thread = -1});
		for (unsigned k = 0; (name = fm_part_region_name(recording, k)); k++) {
			print_message(" region %s\n", name);
			compare(recording, &(struct fm_part){.region = name, .thread = -1});
		}
		fm_recording_free(recording);
	}
}

/* Only sockets count memory: then nothing is said of a region's waiting for it, nor laid at another level's door. */
static void what_is_not_known_stays_open(void **state)
{
	static const char *const verdicts[] = {"latency:L3", "latency:memory", "bandwidth:memory"};
	char *arguments[] = {KERNEL, "chase", "0", "33554432", "30000", NULL};
	struct fm_picture *picture = malloc(sizeof(*picture));
	struct fm_figure counts[FM_EVENTS_MAX];
	struct fm_recording *recording;

	(void)state;
	recording = execute_with(arguments, "0");
	fm_picture_from_simulated(validated, events, recording, &(struct fm_part){.region = "work", .thread = -1},
	                          counts, picture);
	assert_true(share(picture, &picture->latency_bound) > 80);
	for (size_t i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++)
		assert_int_equal(verdict_of(picture, verdicts[i]), FM_VERDICT_INCONCLUSIVE);
	fm_recording_free(recording);
	drop(picture);
}

/* A thread that reads the other socket's memory. */
static void remote_reads_are_not_guessed(void **state)
{
	char *arguments[] = {PROGRAMS "troubles", "numa", NULL};
	const struct fm_part part = {.thread = -1};
	struct fm_picture *truth = malloc(sizeof(*truth)), *counted = malloc(sizeof(*counted));
	struct fm_figure counts[FM_EVENTS_MAX];
	struct fm_recording *recording;

	(void)state;
	recording = execute_with(arguments, "0+12");
	fm_picture_build(recording, &part, truth);
	fm_picture_from_simulated(validated, events, recording, &part, counts, counted);
	print_message("remote: %.3f, counted %.3f [%.3f, %.3f]\n", truth->signs.remote.value,
	              counted->signs.remote.value, counted->signs.remote.low, counted->signs.remote.high);
	assert_true(truth->signs.remote.value > 0.5);
	/* a core's event for it is off by 70 % where nobody prefetches: that is no metric, and nothing is told */
	assert_false(counted->signs.remote.available);
	assert_non_null(strstr(counted->signs.remote.why, "no event"));
	assert_int_equal(verdict_of(counted, "numa"), FM_VERDICT_INCONCLUSIVE);
	fm_recording_free(recording);
	drop(truth);
	drop(counted);
}

/* Three formulas of which each is better than another in some way: one is chosen, whatever their order. */
static void one_formula_wins(void **state)
{
	static const struct {
		const char *event, *scope;
		double error;
	} rivals[] = {{"CORE_FAR", "core", 0.12}, {"SOCKET", "socket", 0.05}, {"CORE_NEAR", "core", 0.09}};

	(void)state;
	for (unsigned first = 0; first < 3; first++) {
		json_t *metrics = json_array();
		struct fm_recipe *recipe;
		struct fm_error error;

		for (unsigned i = 0; i < 3; i++) {
			unsigned k = (first + i) % 3;

			json_array_append_new(metrics,
			                      json_pack("{s:s, s:s, s:f, s:[{s:s, s:f}]}", "name", "memory read",
			                                "scope", rivals[k].scope, "error_max", rivals[k].error,
			                                "events", "name", rivals[k].event, "factor", 1.0));
		}
		assert_int_equal(fm_recipe_create(&(struct fm_recipe_wishes){.metrics = metrics}, &recipe, &error), 0);
		assert_int_equal(recipe->item_count, 1);
		assert_string_equal(recipe->events[0], "CORE_NEAR");
		fm_recipe_free(recipe);
		json_decref(metrics);
	}
}

static void the_source_is_named(void **state)
{
	const struct fm_recipe_item *item = fm_recipe_find(validated, FM_RECIPE_read, "L2");
	char text[200];

	(void)state;
	assert_non_null(item);
	assert_true(item->validated && !item->socket);
	assert_non_null(strstr(fm_recipe_describe(validated, item, text, sizeof(text)), "validated"));
	/* of memory a core's event was off by 70 % where nobody prefetches: the controllers' is taken */
	item = fm_recipe_find(validated, FM_RECIPE_read, "memory");
	assert_true(item && item->validated && item->socket && item->error < 0.01);
	item = fm_recipe_find(vendor, FM_RECIPE_read, "L2");
	assert_true(item && !item->validated);
	assert_string_equal(fm_recipe_describe(vendor, item, text, sizeof(text)),
	                    "the vendor's formula: 64.0*L1D:REPLACEMENT");
}

/* Of two formulas for one thing each has limits of its own. */
static void limits_are_of_one_formula(void **state)
{
	const struct fm_recipe_item *misses = fm_recipe_find(vendor, FM_RECIPE_loads_pending, NULL),
	                            *all = fm_recipe_find(fallback, FM_RECIPE_loads_pending, NULL);
	char text[200];

	(void)state;
	assert_true(misses && all);
	assert_string_equal(fm_recipe_describe(vendor, misses, text, sizeof(text)),
	                    "the vendor's formula: CYCLE_ACTIVITY:STALLS_L1D_PENDING");
	assert_string_equal(
	    fm_recipe_describe(fallback, all, text, sizeof(text)),
	    "the vendor's formula: CYCLE_ACTIVITY:STALLS_LDM_PENDING; also counts waiting for arithmetic");
}

/* The vendor's event for all pending loads also counts waiting for arithmetic; the validated one, which the vendor has
   too, does not. The region divides numbers that are in the first cache, each division waiting for the one before. */
static void what_was_validated_is_better(void **state)
{
	const struct fm_recipe *const recipes[] = {fallback, vendor, validated};
	const struct fm_part part = {.region = "divide", .thread = -1};
	struct fm_picture *picture = malloc(sizeof(*picture));
	struct fm_figure counts[FM_EVENTS_MAX];
	struct fm_recording *recording;
	double memory[3];

	(void)state;
	recording = execute(PROGRAMS "phases");
	for (int i = 0; i < 3; i++) {
		fm_picture_from_simulated(recipes[i], events, recording, &part, counts, picture);
		memory[i] = share(picture, &picture->memory_bound);
		fm_picture_free(picture);
	}
	print_message(
	    "bound by memory: %.1f %% by the vendor's event for all loads, %.1f %% by that for misses, %.1f %% by "
	    "the validated formula\n",
	    memory[0], memory[1], memory[2]);
	assert_true(memory[1] < 5 && memory[2] < 5);
	assert_true(memory[0] > memory[2] + 10);
	fm_recording_free(recording);
	free(picture);
}

/* Intervals of events that shared their counters go into what is made of them. */
static void intervals_are_carried_on(void **state)
{
	const struct fm_recipe_item *item = fm_recipe_find(vendor, FM_RECIPE_queues_full, NULL);
	struct fm_figure counts[FM_EVENTS_MAX], sum;

	(void)state;
	assert_non_null(item);
	for (unsigned i = 0; i < vendor->event_count; i++)
		counts[i] = fm_figure_make(1000, 970, 1040, "events", FM_ORIGIN_counted, "perf", 1);
	sum = fm_recipe_value(vendor, item, counts, 1, NAN, "cycles");
	/* the larger of two: each alone can make it larger, none alone smaller */
	assert_near(sum.value, 1000, 1e-6);
	assert_near(sum.low, 1000, 1e-6);
	assert_near(sum.high, 1000 + hypot(40, 40), 1e-6);
	for (unsigned i = 0; i < vendor->event_count; i++)
		if (strstr(vendor->events[i], "SQ_FULL"))
			counts[i] = fm_figure_unavailable("never had a counter");
	sum = fm_recipe_value(vendor, item, counts, 1, NAN, "cycles");
	assert_false(sum.available);
	assert_non_null(strstr(sum.why, "SQ_FULL"));
}

/* Files of other people: no formula, no number, names that are none, and a hundred events. */
static void odd_profiles_are_survived(void **state)
{
	static const char *const texts[] = {
	    "[]",
	    "{}",
	    "[1, null, \"x\"]",
	    "[{\"name\": 5}]",
	    "[{\"name\": \"L2 read\"}]",
	    "[{\"name\": \"L2 read\", \"events\": [{\"name\": \"E\", \"factor\": \"x\"}]}]",
	    "[{\"name\": \"read\", \"events\": [{\"name\": \"E\", \"factor\": 1}]}]",
	    "[{\"name\": \"a level with a very long name read\", \"events\": [{\"name\": \"E\", \"factor\": 1}]}]"};
	struct fm_recipe *recipe;
	struct fm_error error;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		json_t *metrics = json_loads(texts[i], JSON_DECODE_ANY, NULL);

		assert_non_null(metrics);
		assert_int_equal(fm_recipe_create(&(struct fm_recipe_wishes){.metrics = metrics}, &recipe, &error),
		                 -ENOTSUP);
		json_decref(metrics);
	}
	{
		json_t *metrics = json_array(), *list = json_array();

		for (int i = 0; i < 100; i++)
			json_array_append_new(list,
			                      json_pack("{s:o, s:f}", "name", json_sprintf("E%d", i), "factor", 1.0));
		json_array_append_new(metrics, json_pack("{s:s, s:o}", "name", "L2 read", "events", list));
		assert_int_equal(fm_recipe_create(&(struct fm_recipe_wishes){.metrics = metrics}, &recipe, &error),
		                 -ENOTSUP);
		json_decref(metrics);
	}
}

/* Every event that the vendor's files name is one of the library's, for the processor they are for. */
static void vendors_events_exist(void **state)
{
	static const struct {
		const char *folder, *pmu;
	} families[] = {{"core2", "core"},     {"nehalem", "nhm"},    {"haswell-ep", "hsw_ep"},
	                {"skylake-sp", "skx"}, {"icelake-sp", "icx"}, {"zen3", "amd64_fam19h_zen3"}};

	(void)state;
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		struct fm_group group;
		struct fm_recipe *recipe;
		struct fm_error error;
		char path[512], *text = NULL;

		snprintf(path, sizeof(path), VENDOR_GROUPS "/%s/UTILISATION.txt", families[i].folder);
		if (fm_group_read(path, &group, &error) || fm_file_text(path, &text, &error) ||
		    fm_recipe_create(&(struct fm_recipe_wishes){.vendor_text = text, .vendor_name = path}, &recipe,
		                     &error))
			fail_msg("%s", error.message);
		free(text);
		for (unsigned k = 0; k < group.event_count; k++) {
			struct fm_event event = {0};
			char name[200];

			/* names of the kernel are known where the kernel is */
			if (strchr(group.events[k].name, '/') || strstr(group.events[k].name, "UNC_"))
				continue;
			snprintf(name, sizeof(name), "%s::%s", families[i].pmu, group.events[k].name);
			if (fm_library_resolve(name, &event, &error) && !fm_event_alias(group.events[k].name))
				fail_msg("%s: %s is no event of libpfm4", path, name);
		}
		print_message("%s: %u events, %u quantities\n", families[i].folder, group.event_count,
		              recipe->item_count);
		fm_recipe_free(recipe);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(counters_tell_what_the_engine_knows),
	    cmocka_unit_test(the_source_is_named),
	    cmocka_unit_test(what_is_not_known_stays_open),
	    cmocka_unit_test(remote_reads_are_not_guessed),
	    cmocka_unit_test(one_formula_wins),
	    cmocka_unit_test(limits_are_of_one_formula),
	    cmocka_unit_test(what_was_validated_is_better),
	    cmocka_unit_test(intervals_are_carried_on),
	    cmocka_unit_test(odd_profiles_are_survived),
	    cmocka_unit_test(vendors_events_exist),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
