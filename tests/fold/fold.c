/* Folding recordings whose truth is known: phases, modes, streams, bandwidths, rates, findings, iterations that nobody
   marked, and comparisons. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "fold/compare.h"
#include "fold/findings.h"
#include "fold/parts.h"
#include "fold/synthetic.h"

static const struct folded_recipe usual = {
    .instances = 400, .samples = 5, .length = 0.02, .jitter = 0.01, .seed = 1, .copy_down = true};

struct folded {
	struct fm_recording *recording;
	struct fm_samples *samples;
	struct fm_fold *fold;
};

static struct folded fold_of(struct fm_recording *recording)
{
	struct folded folded = {.recording = recording};
	struct fm_error error = {0};

	assert_non_null(recording);
	if (fm_samples_analyse(recording, NULL, &folded.samples, &error) ||
	    fm_fold_make(folded.samples, &folded.fold, &error) || fm_fold_add_rates(folded.fold, &error))
		fail_msg("%s", error.message);
	return folded;
}

static struct folded make(const struct folded_recipe *recipe)
{
	return fold_of(folded_recording(recipe));
}

static void drop(struct folded *folded)
{
	fm_fold_free(folded->fold);
	fm_samples_free(folded->samples);
	fm_recording_free(folded->recording);
}

static const struct fm_stream *find(const struct folded *folded, const char *object, const char *function)
{
	for (size_t i = 0; i < folded->fold->stream_count; i++) {
		const struct fm_stream *stream = &folded->fold->streams[i];

		if (stream->mode == 0 && !strcmp(folded->samples->objects[stream->object].name, object) &&
		    !strcmp(folded->samples->lines[stream->line].function, function))
			return stream;
	}
	fail_msg("no stream of %s in %s", object, function);
	return NULL;
}

static void check_phases(const struct folded *folded, const struct folded_recipe *recipe, double tolerance)
{
	static const char *const functions[] = {"copy", "scale", "add", "triad"};
	const struct fm_fold_mode *mode = &folded->fold->regions[0].modes[0];
	double ends[4];

	folded_phases(recipe, ends);
	assert_int_equal(mode->phase_count, 4);
	for (unsigned i = 0; i < 4; i++) {
		assert_near(mode->phases[i].end, ends[i], tolerance);
		assert_string_equal(folded->samples->lines[mode->phases[i].line].function, functions[i]);
		assert_true(mode->phases[i].line_share > 0.9);
	}
}

static void check_streams(const struct folded *folded, const struct folded_recipe *recipe)
{
	static const struct {
		const char *object, *function;
		enum fm_direction direction;
	} truth[] = {
	    {"a", "copy", FM_DIRECTION_DOWN},
	    {"c", "copy", FM_DIRECTION_DOWN},
	    {"c", "scale", FM_DIRECTION_RANDOM},
	    {"stream.c:54 (main)", "scale", FM_DIRECTION_UP},
	    {"a", "add", FM_DIRECTION_UP},
	    {"stream.c:54 (main)", "add", FM_DIRECTION_UP},
	    {"c", "add", FM_DIRECTION_UP},
	    {"a", "triad", FM_DIRECTION_UP},
	    {"stream.c:54 (main)", "triad", FM_DIRECTION_UP},
	    {"c", "triad", FM_DIRECTION_UP},
	};
	double ends[4];

	folded_phases(recipe, ends);
	for (unsigned i = 0; i < sizeof(truth) / sizeof(truth[0]); i++) {
		const struct fm_stream *stream = find(folded, truth[i].object, truth[i].function);
		enum fm_direction direction = truth[i].direction;

		if (direction == FM_DIRECTION_DOWN && !recipe->copy_down)
			direction = FM_DIRECTION_UP;
		if (stream->direction != direction)
			fail_msg("%s in %s: %s, %s", truth[i].object, truth[i].function,
			         fm_direction_name(stream->direction), stream->reason);
		assert_near(stream->stride_bytes.value, 8, 0);
		assert_int_equal(stream->field_count, 0);
	}
	/* those of a kernel advance together, but for what is random */
	assert_true(find(folded, "a", "add")->together &&
	            find(folded, "a", "add")->together == find(folded, "c", "add")->together);
	assert_int_not_equal(find(folded, "a", "add")->together, find(folded, "a", "triad")->together);
	assert_int_equal(find(folded, "c", "scale")->together, 0);
	assert_near(find(folded, "stream.c:54 (main)", "scale")->coverage.value, 0.125, 0.01);
	assert_near(find(folded, "c", "scale")->coverage.value, 1, 0.02);
}

static void few_samples_of_many_instances(void **state)
{
	struct folded folded = make(&usual);
	const struct fm_fold_region *region = &folded.fold->regions[0];
	const struct fm_stream *stream;
	double truth;

	(void)state;
	assert_int_equal(folded.fold->region_count, 1);
	assert_string_equal(region->name, "iteration");
	assert_false(region->found);
	assert_int_equal(region->instance_count, 400);
	assert_int_equal(region->mode_count, 1);
	assert_near(region->modes[0].length.value, 0.02, 0.0002);
	check_phases(&folded, &usual, 0.02);
	check_streams(&folded, &usual);
	/* shares: a half of copy, a third of add and of triad */
	stream = find(&folded, "a", "copy");
	assert_near(stream->served.share.value, 0.1, 0.02);
	assert_true(stream->served.share.low <= 0.1 && stream->served.share.high >= 0.1);
	/* the whole array in a quarter of the time */
	truth = 8.0 * FOLDED_ELEMENTS / (0.25 * 0.02) / 1e9;
	stream = find(&folded, "c", "triad");
	assert_near(stream->gbs.value, truth, 0.05 * truth);
	assert_true(stream->gbs.low <= truth && truth <= stream->gbs.high);
	stream = find(&folded, "a", "copy");
	truth = 8.0 * FOLDED_ELEMENTS / (0.2 * 0.02) / 1e9;
	assert_near(stream->gbs.value, truth, 0.05 * truth);
	assert_false(find(&folded, "c", "scale")->gbs.available);
	drop(&folded);
}

static void references_by_the_engine(void **state)
{
	struct folded_recipe recipe = usual;
	struct folded folded;

	(void)state;
	recipe.simulated = true;
	recipe.samples = 60;
	recipe.instances = 40;
	folded = make(&recipe);
	assert_int_equal(folded.fold->clock, FM_FOLD_REFERENCES);
	assert_near(folded.fold->regions[0].modes[0].length.value, 6000, 300);
	check_phases(&folded, &recipe, 0.02);
	check_streams(&folded, &recipe);
	assert_false(find(&folded, "a", "copy")->gbs.available);
	drop(&folded);
}

static void lengths_have_modes(void **state)
{
	struct folded_recipe recipe = usual;
	struct folded folded;
	const struct fm_fold_region *region;

	(void)state;
	recipe.second = 0.3;
	recipe.outliers = 0.05;
	folded = make(&recipe);
	region = &folded.fold->regions[0];
	assert_int_equal(region->mode_count, 2);
	assert_near(region->modes[0].length.value, 0.02, 0.0003);
	assert_near(region->modes[1].length.value, 0.032, 0.0005);
	assert_near((double)region->modes[0].instances, 0.65 * 400, 30);
	assert_near((double)region->modes[1].instances, 0.3 * 400, 30);
	assert_true(region->set_aside >= 5 && region->set_aside <= 40);
	assert_int_equal(region->modes[0].instances + region->modes[1].instances + region->set_aside, 400);
	drop(&folded);
}

static void grouping(void **state)
{
	double lengths[1000];
	int32_t modes[1000];
	struct fm_random random;

	(void)state;
	fm_random_seed(&random, 7);
	/* one kind, however wide: one mode */
	for (unsigned i = 0; i < 1000; i++)
		lengths[i] = exp(0.3 * fm_random_normal(&random));
	assert_int_equal(fm_fold_group(lengths, 1000, modes), 1);
	for (unsigned i = 0; i < 1000; i++)
		lengths[i] = i % 4 == 0 ? 3 : i % 4 == 1 ? 2 : 1;
	assert_int_equal(fm_fold_group(lengths, 1000, modes), 3);
	assert_int_equal(modes[2], 0);
	for (unsigned i = 0; i < 10; i++)
		lengths[i] = i == 4 ? 7 : 1;
	assert_int_equal(fm_fold_group(lengths, 10, modes), 1);
	assert_int_equal(modes[4], FM_FOLD_NONE);
	assert_int_equal(fm_fold_group(lengths, 1, modes), 1);
}

static void too_few_are_said_to_be(void **state)
{
	struct folded_recipe recipe = usual;
	struct folded folded;

	(void)state;
	recipe.instances = 4;
	folded = make(&recipe);
	assert_non_null(strstr(folded.fold->regions[0].modes[0].why, "are needed"));
	assert_true(*folded.fold->why);
	assert_int_equal(folded.fold->stream_count, 0);
	drop(&folded);
}

static void processes_merge(void **state)
{
	struct folded_recipe recipe = usual;
	struct folded folded;

	(void)state;
	recipe.processes = 5;
	recipe.instances = 80;
	folded = make(&recipe);
	/* each at other addresses: 80 instances alone would not be enough for all streams */
	assert_int_equal(folded.fold->regions[0].modes[0].instances, 400);
	check_phases(&folded, &recipe, 0.02);
	check_streams(&folded, &recipe);
	drop(&folded);
}

static void time_off_the_processor_is_left_out(void **state)
{
	struct folded_recipe recipe = usual;
	struct folded folded;

	(void)state;
	recipe.off = 0.05;
	recipe.samples = 20;
	folded = make(&recipe);
	assert_true(folded.fold->gaps >= 100);
	assert_int_equal(folded.fold->regions[0].mode_count, 1);
	assert_near(folded.fold->regions[0].modes[0].length.value, 0.02, 0.001);
	check_phases(&folded, &recipe, 0.03);
	check_streams(&folded, &recipe);
	drop(&folded);
}

static void iterations_are_found(void **state)
{
	struct folded_recipe recipe = usual;
	struct folded folded;
	const struct fm_fold_region *region;

	(void)state;
	recipe.unmarked = true;
	recipe.samples = 9;
	for (unsigned simulated = 0; simulated < 2; simulated++) {
		recipe.simulated = simulated;
		/* by references the ends of iterations are known to a sample */
		recipe.samples = simulated ? 40 : 9;
		folded = make(&recipe);
		assert_int_equal(folded.fold->region_count, 1);
		region = &folded.fold->regions[0];
		assert_true(region->found && region->confidence > 0.5 && region->confidence < 1);
		assert_near((double)region->instance_count, 400, 8);
		if (!simulated)
			assert_near(region->modes[0].length.value, 0.02, 0.0004);
		assert_int_equal(region->modes[0].phase_count, 4);
		assert_int_equal(find(&folded, "c", "scale")->direction, FM_DIRECTION_RANDOM);
		drop(&folded);
	}
}

/* Iterations go on where they were when the thread comes back to the processor. */
static void iterations_are_found_between_gaps(void **state)
{
	struct folded_recipe recipe = usual;
	struct folded folded;

	(void)state;
	recipe.unmarked = true;
	recipe.off = 0.05;
	recipe.samples = 20;
	folded = make(&recipe);
	assert_true(folded.fold->gaps >= 100);
	assert_int_equal(folded.fold->region_count, 1);
	assert_true(folded.fold->regions[0].found);
	assert_true(folded.fold->regions[0].instance_count > 380 && folded.fold->regions[0].instance_count < 410);
	assert_near(folded.fold->regions[0].modes[0].length.value, 0.02, 0.001);
	drop(&folded);
}

/* Lines at random are no iterations. */
static void nothing_is_found_in_chance(void **state)
{
	struct folded_recipe recipe = usual;
	struct fm_recording *recording;
	struct folded folded;
	struct fm_random random;

	(void)state;
	recipe.unmarked = true;
	for (uint64_t seed = 1; seed <= 5; seed++) {
		recipe.seed = seed;
		recording = folded_recording(&recipe);
		fm_random_seed(&random, seed);
		for (size_t i = 0; i < recording->samples_count; i++)
			recording->samples[i].code = (uint32_t)fm_random_below(&random, 4);
		folded = fold_of(recording);
		assert_int_equal(folded.fold->region_count, 0);
		assert_non_null(strstr(folded.fold->why, "no region is marked"));
		drop(&folded);
	}
}

static void rates_hold_the_truth(void **state)
{
	struct folded_recipe recipe = usual;
	struct folded folded;
	const struct fm_fold_mode *mode;
	unsigned held = 0, all = 0;
	double ends[4];

	(void)state;
	recipe.instances = 1000;
	recipe.samples = 20;
	folded = make(&recipe);
	mode = &folded.fold->regions[0].modes[0];
	folded_phases(&recipe, ends);
	assert_int_equal(mode->rate_count, 7);
	for (size_t r = 0; r < mode->rate_count; r++)
		for (unsigned i = 0; i < FM_FOLD_POINTS; i++) {
			double place = (i + 0.5) / FM_FOLD_POINTS, truth = -1;
			bool scale = place > ends[0] && place < ends[1];
			const struct fm_figure *point = &mode->rates[r].points[i];

			if (!strcmp(mode->rates[r].name, "stores"))
				truth = place < ends[1] ? 0.5 : 1.0 / 3;
			if (!strcmp(mode->rates[r].name, "memory"))
				truth = scale ? 0.375 : 0;
			if (truth < 0 || fabs(place - ends[0]) < 0.02 || fabs(place - ends[1]) < 0.02)
				continue;
			assert_true(point->available);
			all++;
			held += point->low - 1e-9 <= truth && truth <= point->high + 1e-9;
			assert_near(point->value, truth, 0.12);
		}
	assert_true(all > 100 && held >= 0.88 * all);
	drop(&folded);
}

static const struct fm_fold_finding *find_finding(const struct folded *folded, const char *name)
{
	for (size_t i = 0; i < folded->fold->finding_count; i++)
		if (!strcmp(fm_fold_finding_name(folded->fold->findings[i].kind), name))
			return &folded->fold->findings[i];
	return NULL;
}

static void findings_name_object_and_line(void **state)
{
	struct folded folded = make(&usual);
	const struct fm_fold_finding *finding = find_finding(&folded, "random-access");
	unsigned random = 0;

	(void)state;
	assert_non_null(finding);
	assert_string_equal(folded.samples->objects[finding->object].name, "c");
	assert_string_equal(folded.samples->lines[finding->line].function, "scale");
	/* c at random is half of the references of a kernel that takes 30 % of the time, nearly all of it waiting for c
	 */
	assert_true(finding->worth.available && finding->worth.low > 0.20 && finding->worth.high < 0.32 &&
	            finding->worth.value > 0.27);
	for (size_t i = 0; i < folded.fold->finding_count; i++)
		random += folded.fold->findings[i].kind == FM_FINDING_RANDOM;
	assert_int_equal(random, 1);
	finding = find_finding(&folded, "copy-backwards");
	assert_non_null(finding);
	assert_string_equal(folded.samples->lines[finding->line].function, "copy");
	assert_null(find_finding(&folded, "hot-cold-fields"));
	assert_null(find_finding(&folded, "fields-apart"));
	assert_null(find_finding(&folded, "scattered-allocations"));
	drop(&folded);
}

static void no_copy_backwards_that_goes_up(void **state)
{
	struct folded_recipe recipe = usual;
	struct folded folded;

	(void)state;
	recipe.copy_down = false;
	folded = make(&recipe);
	check_streams(&folded, &recipe);
	assert_null(find_finding(&folded, "copy-backwards"));
	drop(&folded);
}

/* Elements of 64 bytes of which triad uses two fields. */
static void fields_of_elements(void **state)
{
	struct fm_recording *recording = folded_recording(&usual);
	struct folded folded;
	const struct fm_stream *stream;
	const struct fm_fold_finding *finding;

	(void)state;
	for (size_t i = 0; i < recording->samples_count; i++) {
		struct fm_recorded_sample *sample = &recording->samples[i];
		uint64_t base = recording->memories[sample->memory].address;

		if (sample->code != 3 || sample->memory != FOLDED_B)
			continue;
		sample->address = base + (sample->address - base) / 64 * 64 + (i % 2 ? 16 : 40);
		sample->code += i % 2;
		sample->cost += 200;
	}
	folded = fold_of(recording);
	stream = find(&folded, "stream.c:54 (main)", "triad");
	assert_int_equal(stream->direction, FM_DIRECTION_STRIDED);
	assert_false(stream->falling);
	assert_int_equal(stream->field_count, 2);
	assert_int_equal(stream->fields[1].offset - stream->fields[0].offset, 24);
	finding = find_finding(&folded, "hot-cold-fields");
	assert_non_null(finding);
	assert_string_equal(folded.samples->lines[finding->line].function, "triad");
	drop(&folded);
}

/* A program that does everything once has nothing to fold; its streams are those of the whole run. */
static void a_run_without_iterations_has_streams(void **state)
{
	struct folded_recipe recipe = usual;
	struct folded folded;
	const struct fm_fold_finding *finding;

	(void)state;
	recipe.instances = 1;
	recipe.samples = 4000;
	recipe.length = 2;
	recipe.unmarked = true;
	for (int simulated = 0; simulated < 2; simulated++) {
		recipe.simulated = simulated;
		folded = make(&recipe);
		assert_int_equal(folded.fold->region_count, 0);
		assert_non_null(strstr(folded.fold->why, "no region is marked"));
		assert_true(folded.fold->rest.sample_count > 3500);
		assert_int_equal(folded.fold->stream_count, 10);
		for (size_t i = 0; i < folded.fold->stream_count; i++)
			assert_int_equal(folded.fold->streams[i].region, FM_FOLD_NONE);
		assert_int_equal(find(&folded, "c", "scale")->direction, FM_DIRECTION_RANDOM);
		assert_int_equal(find(&folded, "a", "copy")->direction, FM_DIRECTION_DOWN);
		assert_int_equal(find(&folded, "a", "triad")->direction, FM_DIRECTION_UP);
		finding = find_finding(&folded, "random-access");
		assert_non_null(finding);
		assert_int_equal(finding->region, FM_FOLD_NONE);
		assert_string_equal(folded.samples->objects[finding->object].name, "c");
		assert_string_equal(folded.samples->lines[finding->line].function, "scale");
		assert_true(finding->worth.available && finding->worth.low > 0.2);
		assert_int_equal(folded.fold->working_set_count, FOLDED_OBJECTS + 1);
		drop(&folded);
	}
}

/* The second half of the run is not marked: it is looked at too, and what is found in both is told once. */
static void what_regions_leave_out_is_looked_at(void **state)
{
	struct fm_recording *recording = folded_recording(&usual);
	struct folded folded;
	unsigned random = 0, outside = 0;

	(void)state;
	recording->instances_count /= 2;
	for (size_t i = 0; i < recording->samples_count; i++)
		if (recording->samples[i].at > recording->instances[recording->instances_count - 1].ended)
			recording->samples[i].instance = -1;
	folded = fold_of(recording);
	assert_string_equal(folded.fold->why, "");
	assert_true(folded.fold->rest.sample_count > 800 && folded.fold->rest.sample_count < 1200);
	for (size_t i = 0; i < folded.fold->stream_count; i++)
		outside += folded.fold->streams[i].region == FM_FOLD_NONE;
	assert_int_equal(outside, 10);
	for (size_t i = 0; i < folded.fold->finding_count; i++)
		random += folded.fold->findings[i].kind == FM_FINDING_RANDOM;
	assert_int_equal(random, 1);
	drop(&folded);
}

/* Elements of 64 bytes of which 8 are used at random: other fields beside them cost nothing, the order does. */
static void fields_at_random_are_random(void **state)
{
	struct fm_recording *recording = folded_recording(&usual);
	struct folded folded;
	const struct fm_fold_finding *finding;

	(void)state;
	for (size_t i = 0; i < recording->samples_count; i++) {
		struct fm_recorded_sample *sample = &recording->samples[i];
		uint64_t base = recording->memories[sample->memory].address;

		if (sample->code == 1 && sample->memory == FOLDED_C)
			sample->address = base + (sample->address - base) / 64 * 64;
	}
	folded = fold_of(recording);
	assert_true(find(&folded, "c", "scale")->field_count > 0);
	assert_null(find_finding(&folded, "hot-cold-fields"));
	finding = find_finding(&folded, "random-access");
	assert_non_null(finding);
	assert_string_equal(folded.samples->objects[finding->object].name, "c");
	drop(&folded);
}

static void arrays_that_are_used_together(void **state)
{
	struct fm_recording *recording = folded_recording(&usual);
	struct folded folded;
	const struct fm_fold_finding *finding;
	struct fm_random random;

	(void)state;
	fm_random_seed(&random, 3);
	for (size_t i = 0; i < recording->samples_count; i++) {
		struct fm_recorded_sample *sample = &recording->samples[i];

		if (sample->code != 3)
			continue;
		sample->kind = FM_SAMPLE_LOAD;
		sample->address =
		    recording->memories[sample->memory].address + 8 * fm_random_below(&random, FOLDED_ELEMENTS);
		sample->cost = 60 + 300;
	}
	folded = fold_of(recording);
	finding = find_finding(&folded, "fields-apart");
	assert_non_null(finding);
	assert_string_equal(folded.samples->lines[finding->line].function, "triad");
	assert_non_null(strstr(finding->advice, "one cache line per element instead of 3"));
	/* a quarter of the time, of which two thirds */
	assert_true(finding->worth.low < 0.167 && finding->worth.high > 0.15);
	drop(&folded);
}

static void many_small_allocations(void **state)
{
	struct fm_recording *recording = folded_recording(&usual);
	struct folded folded;
	const struct fm_fold_finding *finding;
	struct fm_random random;

	(void)state;
	fm_random_seed(&random, 3);
	recording->memories[FOLDED_B].kind = FM_MEMORY_POOL;
	recording->memories[FOLDED_B].address = 0;
	recording->memories[FOLDED_B].allocations = 100000;
	for (size_t i = 0; i < recording->samples_count; i++)
		if (recording->samples[i].memory == FOLDED_B) {
			recording->samples[i].address = 0x560000000000 + fm_random_below(&random, 1 << 26) / 8 * 8;
			recording->samples[i].cost = 60 + 100;
		}
	folded = fold_of(recording);
	finding = find_finding(&folded, "scattered-allocations");
	assert_non_null(finding);
	assert_string_equal(folded.samples->objects[finding->object].name, "stream.c:54 (main)");
	assert_true(finding->confidence >= 0.8 && finding->worth.available && finding->worth.low > 0.1);
	drop(&folded);
}

static void working_sets(void **state)
{
	struct folded folded = make(&usual);
	unsigned seen = 0;

	(void)state;
	for (size_t i = 0; i < folded.fold->working_set_count; i++) {
		const struct fm_working_set *set = &folded.fold->working_sets[i];
		double truth = 8.0 * FOLDED_ELEMENTS;

		seen++;
		if (set->object < 0)
			truth *= 3;
		assert_true(set->bytes.low <= truth * 1.01 && set->bytes.high >= truth * 0.99);
		assert_true(set->bytes.low > 0.9 * truth);
		/* c is read at random as well, which no bandwidth is known of; a is gone through three times, b twice
		   and an eighth */
		if (set->object < 0 || !strcmp(folded.samples->objects[set->object].name, "c")) {
			assert_false(set->gbs.available);
			continue;
		}
		truth *= !strcmp(folded.samples->objects[set->object].name, "a") ? 3 : 2.125;
		assert_near(set->gbs.value, truth / usual.length / 1e9, 0.1 * set->gbs.value);
		assert_true(set->gbs.low <= truth / usual.length / 1e9 && set->gbs.high >= truth / usual.length / 1e9);
	}
	assert_int_equal(seen, 4);
	drop(&folded);
}

static const struct fm_compared_row *find_row(const struct fm_compared_row *rows, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(rows[i].name, name))
			return &rows[i];
	fail_msg("no row %s", name);
	return NULL;
}

static void comparisons(void **state)
{
	struct folded_recipe recipe = usual;
	struct folded first = make(&usual), second, third;
	struct fm_comparison *comparison;
	const struct fm_compared_row *row;
	struct fm_error error;
	unsigned wrong = 0, all = 0;

	(void)state;
	/* the same again: nothing is shown, but for one in twenty */
	for (recipe.seed = 2; recipe.seed < 8; recipe.seed++) {
		second = make(&recipe);
		assert_int_equal(fm_compare(first.fold, second.fold, &comparison, &error), 0);
		for (size_t i = 0; i < comparison->object_count; i++, all++)
			wrong += comparison->objects[i].time.change != FM_CHANGE_NONE;
		for (size_t i = 0; i < comparison->region_count; i++, all++)
			wrong += comparison->regions[i].time.change != FM_CHANGE_NONE;
		assert_int_equal(comparison->whole.time.change, FM_CHANGE_INCOMPARABLE);
		fm_comparison_free(comparison);
		drop(&second);
	}
	assert_true(wrong <= all / 8);
	recipe.slower = 2;
	third = make(&recipe);
	assert_int_equal(fm_compare(third.fold, first.fold, &comparison, &error), 0);
	row = find_row(comparison->regions, comparison->region_count, "iteration");
	assert_int_equal(row->time.change, FM_CHANGE_LESS);
	assert_near(row->time.ratio.value, 1 / 1.3, 0.01);
	assert_true(row->time.ratio.low <= 1 / 1.3 && row->time.ratio.high >= 1 / 1.3);
	row = find_row(comparison->objects, comparison->object_count, "c");
	assert_int_equal(row->time.change, FM_CHANGE_LESS);
	row = find_row(comparison->objects, comparison->object_count, "a");
	assert_int_equal(row->time.change, FM_CHANGE_NONE);
	row = find_row(comparison->routines, comparison->routine_count, "scale");
	assert_int_equal(row->time.change, FM_CHANGE_LESS);
	assert_string_equal(comparison->routines[0].name, "scale");
	fm_comparison_free(comparison);
	drop(&third);
	recipe.simulated = true;
	third = make(&recipe);
	assert_true(fm_compare(third.fold, first.fold, &comparison, &error) < 0);
	drop(&third);
	drop(&first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(few_samples_of_many_instances),
	    cmocka_unit_test(references_by_the_engine),
	    cmocka_unit_test(lengths_have_modes),
	    cmocka_unit_test(grouping),
	    cmocka_unit_test(too_few_are_said_to_be),
	    cmocka_unit_test(processes_merge),
	    cmocka_unit_test(time_off_the_processor_is_left_out),
	    cmocka_unit_test(iterations_are_found),
	    cmocka_unit_test(iterations_are_found_between_gaps),
	    cmocka_unit_test(nothing_is_found_in_chance),
	    cmocka_unit_test(rates_hold_the_truth),
	    cmocka_unit_test(findings_name_object_and_line),
	    cmocka_unit_test(no_copy_backwards_that_goes_up),
	    cmocka_unit_test(fields_of_elements),
	    cmocka_unit_test(a_run_without_iterations_has_streams),
	    cmocka_unit_test(what_regions_leave_out_is_looked_at),
	    cmocka_unit_test(fields_at_random_are_random),
	    cmocka_unit_test(arrays_that_are_used_together),
	    cmocka_unit_test(many_small_allocations),
	    cmocka_unit_test(working_sets),
	    cmocka_unit_test(comparisons),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
