/* The analysis of a recording whose truth is known: shares, levels, sharing, order, filters, and damaged recordings. */
#include "check.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"
#include "recording/store.h"
#include "samples/samples.h"
#include "samples/synthetic.h"

enum { SAMPLES = 20000 };

static struct fm_samples *analyse(const struct fm_recording *recording, const struct fm_samples_filter *filter)
{
	struct fm_samples *samples = NULL;
	struct fm_error error = {0};

	if (fm_samples_analyse(recording, filter, &samples, &error))
		fail_msg("%s", error.message);
	return samples;
}

static struct fm_recording *settled(unsigned count, uint64_t seed, enum synthetic_kind kind)
{
	struct fm_recording *recording = synthetic_recording(count, seed, kind);
	struct fm_error error;

	assert_int_equal(fm_recording_settle(recording, &error), 0);
	return recording;
}

static const struct fm_sampled_object *find(const struct fm_samples *samples, const char *name)
{
	for (size_t i = 0; i < samples->object_count; i++)
		if (!strcmp(samples->objects[i].name, name))
			return &samples->objects[i];
	fail_msg("there is no object %s", name);
	return NULL;
}

static void check_holds(const struct fm_figure *figure, double truth, double tolerance)
{
	assert_true(figure->available);
	assert_near(figure->value, truth, tolerance);
	/* an interval misses now and then: a little more than it */
	assert_true(figure->low - 0.01 <= truth && truth <= figure->high + 0.01);
}

static void objects_have_their_shares(void **state)
{
	struct fm_recording *recording = settled(SAMPLES, 1, SYNTHETIC_TIMED);
	struct fm_samples *samples = analyse(recording, NULL);
	const struct fm_sampled_object *table = find(samples, "table"),
	                               *grid = find(samples, "solver.c:40 (make_grid)"),
	                               *nodes = find(samples, "tree.c:9 (new_node)"),
	                               *rest = find(samples, "heap that was not tracked"),
	                               *counter = find(samples, "counter");
	double sum = 0;

	(void)state;
	assert_int_equal(samples->object_count, SYNTHETIC_OBJECTS);
	assert_int_equal(samples->model->classes, 5);
	check_holds(&table->served.share, 0.30, 0.01);
	check_holds(&table->served.levels[2], 0.2, 0.05);
	check_holds(&table->served.levels[3], 0.8, 0.05);
	check_holds(&table->served.translation_misses, 0.5, 0.05);
	check_holds(&grid->served.levels[0], 0.85, 0.05);
	check_holds(&grid->served.levels[1], 0.15, 0.06);
	check_holds(&grid->served.stores, 0.5, 0.02);
	check_holds(&grid->served.translation_misses, 0, 0.03);
	check_holds(&samples->whole.translation_misses, 0.15, 0.03);
	/* the pool has what its tracked blocks stand for; the rest stays */
	check_holds(&nodes->served.share, 0.16, 0.03);
	check_holds(&rest->served.share, 0.06, 0.03);
	assert_true(nodes->assigned.available && !rest->assigned.available);
	for (size_t i = 0; i < samples->object_count; i++)
		sum += samples->objects[i].served.share.value;
	assert_near(sum, 1, 1e-9);
	/* costs: (0.2 × 60 + 0.8 × 240 and 20 % of the former one level on) / 2 ticks a ns, less a hit's, plus 5 ticks
	 */
	assert_true(table->served.mean_cost_ns.value > 80 && table->served.mean_cost_ns.value < 130);
	assert_near(table->served.mean_cost_cycles.value, 2 * table->served.mean_cost_ns.value, 1e-6);
	assert_near(grid->served.local.value, 1, 1e-9);
	assert_near(table->served.local.value, 0, 1e-9);
	assert_int_equal(table->pattern.pattern, FM_PATTERN_RANDOM);
	assert_int_equal(grid->pattern.pattern, FM_PATTERN_ADVANCES);
	assert_int_equal(table->read_only, FM_ANSWER_YES);
	assert_int_equal(grid->read_only, FM_ANSWER_NO);
	assert_int_equal(table->use, FM_USE_PRIVATE);
	assert_int_equal(counter->use, FM_USE_SHARED_WRITTEN);
	assert_int_equal(counter->threads, 2);
	find(samples, "work.c:7 (make_buffer) #1");
	find(samples, "work.c:7 (make_buffer) #2");
	fm_samples_free(samples);
	fm_recording_free(recording);
}

static void code_regions_and_threads(void **state)
{
	struct fm_recording *recording = settled(SAMPLES, 2, SYNTHETIC_TIMED);
	struct fm_samples *samples = analyse(recording, NULL);

	(void)state;
	assert_int_equal(samples->routine_count, 4);
	for (size_t i = 0; i < samples->routine_count; i++) {
		const struct fm_sampled_routine *routine = &samples->routines[i];

		if (!strcmp(routine->function, "main"))
			check_holds(&routine->inclusive.share, 1, 0.01);
		if (!strcmp(routine->function, "step"))
			check_holds(&routine->inclusive.share, 0.66, 0.01);
		if (!strcmp(routine->function, "lookup"))
			check_holds(&routine->self.share, 0.30, 0.01);
	}
	assert_int_equal(samples->line_count, 5);
	for (size_t i = 0; i < samples->line_count; i++)
		if (samples->lines[i].line == 12 && !strcmp(samples->lines[i].file, "kernel.h"))
			assert_string_equal(samples->lines[i].inlined, "relax");
	for (size_t i = 0; i < samples->line_count; i++) {
		if (!strcmp(samples->lines[i].function, "lookup"))
			assert_int_equal(samples->lines[i].pattern.pattern, FM_PATTERN_RANDOM);
		if (!strcmp(samples->lines[i].function, "solve"))
			assert_int_equal(samples->lines[i].pattern.pattern, FM_PATTERN_ADVANCES);
	}
	assert_int_equal(samples->region_count, 2);
	assert_string_equal(samples->regions[0].name, "step");
	assert_int_equal(samples->regions[0].instances, 10);
	check_holds(&samples->regions[0].served.share, 0.9, 0.01);
	check_holds(&samples->regions[1].served.share, 0.27, 0.01);
	assert_int_equal(samples->thread_count, 2);
	assert_near(samples->missed_share, 0.42, 1e-6);
	assert_int_equal(samples->warning_count, 1);
	assert_non_null(strstr(samples->warnings[0], "42 % of the processor time was not sampled: code that"));
	fm_samples_free(samples);
	fm_recording_free(recording);
}

static void single_samples_have_likely_levels(void **state)
{
	struct fm_recording *recording = settled(SAMPLES, 3, SYNTHETIC_TIMED);
	struct fm_samples *samples = analyse(recording, NULL);
	unsigned memory = 0, all = 0;

	(void)state;
	for (size_t i = 0; i < recording->samples_count; i++)
		if (recording->samples[i].memory == SYNTHETIC_TABLE) {
			all++;
			memory += samples->levels[i] == 4;
		}
	assert_near((double)memory / all, 0.8, 0.1);
	fm_samples_free(samples);
	fm_recording_free(recording);
}

static void filters_leave_what_they_say(void **state)
{
	struct fm_recording *recording = settled(SAMPLES, 4, SYNTHETIC_TIMED);
	const struct {
		struct fm_samples_filter filter;
		double left;
	} cases[] = {
	    {{.object = "tab"}, 0.30},
	    {{.object = "*make_*"}, 0.34},
	    {{.thread = "101"}, 0.10},
	    {{.thread = "worker"}, 0.10},
	    {{.region = "step"}, 0.90}, /* the mark, not the function */
	    {{.region = "search"}, 0.27},
	    {{.region = "lookup"}, 0.30}, /* a function */
	    {{.region = "relax"}, 0.15},  /* an inlined one */
	    {{.timed = true, .begin = 2, .end = 4.5}, 0.25},
	    {{.object = "table", .timed = true, .begin = 5, .end = INFINITY}, 0.15},
	};
	struct fm_samples *samples;
	struct fm_error error;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		samples = analyse(recording, &cases[i].filter);
		assert_near(samples->filtered, cases[i].left, 0.02);
		assert_near(samples->whole.share.value, 1, 1e-9);
		assert_true(*samples->filter);
		fm_samples_free(samples);
	}
	assert_int_equal(
	    fm_samples_analyse(recording, &(struct fm_samples_filter){.object = "nobody"}, &samples, &error), -EINVAL);
	assert_int_equal(fm_samples_analyse(recording, &(struct fm_samples_filter){.thread = "7"}, &samples, &error),
	                 -EINVAL);
	assert_int_equal(
	    fm_samples_analyse(recording, &(struct fm_samples_filter){.region = "nobody"}, &samples, &error), -EINVAL);
	assert_int_equal(fm_samples_analyse(recording,
	                                    &(struct fm_samples_filter){.timed = true, .begin = 50, .end = 60},
	                                    &samples, &error),
	                 -EINVAL);
	fm_recording_free(recording);
}

static void simulated_levels_are_counted(void **state)
{
	struct fm_recording *recording = settled(SAMPLES, 5, SYNTHETIC_SIMULATED);
	struct fm_samples *samples = analyse(recording, NULL);
	const struct fm_sampled_object *table = find(samples, "table");

	(void)state;
	assert_near(table->served.levels[3].value, 0.8, 0.02);
	assert_int_equal(table->served.levels[3].origin, FM_ORIGIN_simulated);
	/* every reference: exactly */
	assert_true(table->served.levels[3].low == table->served.levels[3].high);
	assert_near(table->served.mean_cost_cycles.value, 0.2 * 50 + 0.8 * 200, 3);
	assert_false(table->served.translation_misses.available);
	fm_samples_free(samples);
	/* one in a hundred: with an interval */
	recording->sampling.rate = fm_figure_make(0.01, 0.01, 0.01, "", FM_ORIGIN_simulated, "exact", 1);
	samples = analyse(recording, NULL);
	table = find(samples, "table");
	assert_true(table->served.levels[3].low < table->served.levels[3].value &&
	            table->served.levels[3].value < table->served.levels[3].high);
	fm_samples_free(samples);
	fm_recording_free(recording);
}

static void what_is_not_known_is_said(void **state)
{
	struct fm_recording *recording = settled(SAMPLES, 6, SYNTHETIC_UNCALIBRATED);
	struct fm_samples *samples = analyse(recording, NULL);

	(void)state;
	assert_false(samples->whole.levels[0].available);
	assert_non_null(strstr(samples->whole.levels[0].why, "calibrated"));
	assert_false(samples->whole.mean_cost_cycles.available);
	assert_true(samples->whole.stores.available);
	fm_samples_free(samples);
	fm_recording_free(recording);
	/* no samples, and three */
	for (unsigned count = 0; count < 4; count += 3) {
		recording = settled(count, 7, SYNTHETIC_TIMED);
		samples = analyse(recording, NULL);
		assert_int_equal(samples->whole.samples, count);
		assert_false(samples->whole.levels[0].available);
		fm_samples_free(samples);
		fm_recording_free(recording);
	}
	recording = fm_recording_create();
	assert_int_equal(fm_samples_analyse(recording, NULL, &samples, NULL), -EINVAL);
	fm_recording_free(recording);
}

static void threads_may_divide_an_object(void **state)
{
	struct fm_recording *recording = settled(4000, 8, SYNTHETIC_TIMED);
	struct fm_samples *samples;

	(void)state;
	for (size_t i = 0; i < recording->samples_count; i++)
		if (recording->samples[i].memory == SYNTHETIC_TABLE)
			recording->samples[i].thread = recording->samples[i].address >= 0x10000000 + (32 << 20);
	samples = analyse(recording, NULL);
	assert_int_equal(find(samples, "table")->use, FM_USE_SHARED_READ);
	assert_true(find(samples, "table")->divided);
	fm_samples_free(samples);
	for (size_t i = 0; i < recording->samples_count; i++)
		if (recording->samples[i].memory == SYNTHETIC_TABLE)
			recording->samples[i].thread = i % 2;
	samples = analyse(recording, NULL);
	assert_false(find(samples, "table")->divided);
	fm_samples_free(samples);
	fm_recording_free(recording);
}

/* Many allocations of one site are one object. */
static void allocations_of_a_site_are_one(void **state)
{
	struct fm_recording *recording = settled(4000, 9, SYNTHETIC_TIMED);
	struct fm_samples *samples;

	(void)state;
	for (unsigned i = 0; i < 50; i++) {
		struct fm_recorded_memory *memory = fm_recording_add(recording, memories);

		*memory = recording->memories[SYNTHETIC_FIRST];
		memory->address += i * 0x10000000ull;
		memory->began = 0.1 * i;
		memory->ended = 0.1 * i + 0.05;
	}
	for (size_t i = 0; i < recording->samples_count; i++)
		if (recording->samples[i].memory == SYNTHETIC_FIRST)
			recording->samples[i].memory = SYNTHETIC_OBJECTS + (int64_t)(i % 50);
	samples = analyse(recording, NULL);
	assert_near(find(samples, "work.c:7 (make_buffer)")->count, 52, 1e-9);
	fm_samples_free(samples);
	fm_recording_free(recording);
}

/* Wrong indexes are refused, rings of frames followed only so far; nothing else may happen. */
static void damaged_recordings(void **state)
{
	struct fm_random random;

	(void)state;
	fm_random_seed(&random, 10);
	for (unsigned i = 0; i < 100; i++) {
		struct fm_recording *recording = settled(300, i, (enum synthetic_kind)(i % 3));
		struct fm_samples *samples;
		struct {
			void *rows;
			size_t bytes;
		} tables[] = {
		    {recording->samples, 300 * sizeof(struct fm_recorded_sample)},
		    {recording->frames, recording->frames_count * sizeof(struct fm_recorded_frame)},
		    {recording->calibration, recording->calibration_count * sizeof(struct fm_recorded_calibration)},
		    {recording->instances, recording->instances_count * sizeof(struct fm_recorded_instance)},
		    {&recording->sampling.ticks_per_second, 16},
		};
		unsigned table = (unsigned)fm_random_below(&random, 5),
		         errors = 1 + (unsigned)fm_random_below(&random, 8);
		struct fm_error error;

		for (unsigned k = 0; k < errors && tables[table].bytes >= 8; k++) {
			size_t at = fm_random_below(&random, tables[table].bytes / 4) * 4;
			uint32_t value = fm_random_below(&random, 2) ? (uint32_t)fm_random_next(&random)
			                                             : (uint32_t)fm_random_below(&random, 4) - 1;

			memcpy((char *)tables[table].rows + at, &value, sizeof(value));
		}
		if (table == 3) /* texts without an end are settled's */
			for (size_t k = 0; k < recording->instances_count; k++)
				recording->instances[k].name[FM_NAME - 1] = '\0';
		if (!fm_samples_analyse(recording, NULL, &samples, &error))
			fm_samples_free(samples);
		fm_recording_free(recording);
	}
	{
		struct fm_recording *recording = settled(300, 1, SYNTHETIC_TIMED);
		struct fm_samples *samples;

		recording->frames[0].caller = 1;
		samples = analyse(recording, &(struct fm_samples_filter){.region = "lookup"});
		fm_samples_free(samples);
		recording->samples[7].memory = 1000;
		assert_int_equal(fm_samples_analyse(recording, NULL, &samples, NULL), -EBADMSG);
		fm_recording_free(recording);
	}
}

static void a_kept_recording_says_the_same(void **state)
{
	char path[] = "/tmp/fathom-samples-XXXXXX";
	struct fm_recording *recording = settled(3000, 11, SYNTHETIC_TIMED), *again;
	struct fm_samples *first = analyse(recording, NULL), *second;
	struct fm_error error;

	(void)state;
	close(mkstemp(path));
	unlink(path);
	assert_int_equal(fm_store_save(path, recording, &error), 0);
	assert_int_equal(fm_store_load(path, &again, &error), 0);
	unlink(path);
	second = analyse(again, NULL);
	assert_int_equal(first->object_count, second->object_count);
	for (size_t i = 0; i < first->object_count; i++) {
		assert_string_equal(first->objects[i].name, second->objects[i].name);
		assert_true(first->objects[i].served.share.value == second->objects[i].served.share.value);
		assert_true(first->objects[i].served.levels[0].low == second->objects[i].served.levels[0].low);
	}
	assert_memory_equal(first->levels, second->levels, 3000);
	fm_samples_free(first);
	fm_samples_free(second);
	fm_recording_free(recording);
	fm_recording_free(again);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(objects_have_their_shares),
	    cmocka_unit_test(code_regions_and_threads),
	    cmocka_unit_test(single_samples_have_likely_levels),
	    cmocka_unit_test(filters_leave_what_they_say),
	    cmocka_unit_test(simulated_levels_are_counted),
	    cmocka_unit_test(what_is_not_known_is_said),
	    cmocka_unit_test(threads_may_divide_an_object),
	    cmocka_unit_test(allocations_of_a_site_are_one),
	    cmocka_unit_test(damaged_recordings),
	    cmocka_unit_test(a_kept_recording_says_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
