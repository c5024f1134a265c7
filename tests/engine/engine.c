/* The emulator on real programs: what it counts. */
#include "check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/run.h"
#include "kernels/kernel.h"
#include "observe/parts.h"

/* What `unit` units of work cost: the region with two of them less the one with one. */
static struct fm_core_counts unit_costs(const struct fm_engine_run *run, const char *name, struct fm_work *ret_work)
{
	const struct fm_result_region *one, *two;
	struct fm_core_counts costs;
	char text[80];

	snprintf(text, sizeof(text), "%s/1", name);
	one = region(run, text);
	snprintf(text, sizeof(text), "%s/2", name);
	two = region(run, text);
	if (!one || !two)
		fail_msg("%s did not run", name);
	costs = two->counts;
	*ret_work = two->work;
	fm_work_subtract(ret_work, &one->work);
	for (size_t i = 0; i < sizeof(costs) / 8; i++)
		((uint64_t *)&costs)[i] -= ((const uint64_t *)&one->counts)[i];
	return costs;
}

static void kernels_count_what_they_declare(void **state)
{
	enum { BLOCKS = 4, ELEMENTS = BLOCKS * FM_BLOCK_BYTES / 8, STEPS = 64 };
	struct fm_engine_run result = run("kernels", NULL);
	struct fm_core_counts costs;
	struct fm_work work;
	unsigned variants = 0;
	char name[64];

	(void)state;
	assert_int_equal(result.exit_status, 0);
	for (unsigned kernel = 0; kernel < FM_STREAM_COUNT; kernel++)
		for (int isa = 0; isa < FM_ISA_avx512; isa++) {
			const struct fm_stream_kernel *declared = &fm_streams[kernel];
			unsigned lanes = fm_isa_bytes((enum fm_isa)isa) / 8;

			snprintf(name, sizeof(name), "%s_%s", declared->name, fm_isa_name((enum fm_isa)isa));
			costs = unit_costs(&result, name, &work);
			assert_int_equal(costs.loads, ELEMENTS / lanes * declared->loads);
			assert_int_equal(costs.stores, ELEMENTS / lanes * declared->stores);
			assert_int_equal(costs.load_bytes, ELEMENTS * declared->loaded_bytes);
			assert_int_equal(costs.store_bytes, ELEMENTS * declared->stored_bytes);
			assert_int_equal(work.flops, ELEMENTS * declared->flops);
			assert_int_equal(work.vector_calculations,
			                 isa < FM_ISA_avx2 ? 0 : ELEMENTS / lanes * (declared->flops > 0) /* fused */);
			assert_int_equal(work.vector_inserts + work.divisions, 0);
			variants++;
		}
	for (unsigned i = 0; i < fm_step_kernel_count; i++) {
		const struct fm_step_kernel *declared = &fm_step_kernels[i];

		if (!strcmp(declared->name, "ping_pong"))
			continue; /* it needs a partner: tested as sharing */
		costs = unit_costs(&result, declared->name, &work);
		assert_int_equal(costs.loads, STEPS * declared->loads);
		assert_int_equal(costs.stores, STEPS * declared->stores);
		assert_int_equal(costs.load_bytes, STEPS * declared->loaded_bytes);
		variants++;
	}
	for (unsigned i = 0; i < fm_family_kernel_count; i++) {
		const struct fm_family_kernel *declared = &fm_family_kernels[i];

		costs = unit_costs(&result, declared->name, &work);
		assert_int_equal(costs.loads, STEPS * (declared->loads + (declared->loads_per_unit ? 32 : 0)));
		assert_int_equal(costs.stores, 0);
		variants++;
	}
	print_message("%u kernels and variants counted\n", variants);
	assert_true(variants >= 3 * FM_STREAM_COUNT + 5);
	fm_engine_run_free(&result);
}

/* Accesses and misses of variables: a sweep over one, hits in another. */
static void variables_are_told_apart(void **state)
{
	struct fm_recording *recording = fm_recording_create();
	struct fm_error error;
	const struct fm_engine_options options = {.machine = &machine, .no_prefetch = true};
	struct fm_engine_run result = run_with(&options, "variables", NULL);
	const struct fm_recorded_object *first = NULL, *second = NULL, *other;

	(void)state;
	assert_int_equal(result.exit_status, 0);
	assert_int_equal(fm_results_record(&result, &machine, recording, &error), 0);
	for (size_t i = 0; i < recording->objects_count; i++) {
		if (!strcmp(recording->objects[i].name, "swept"))
			first = &recording->objects[i];
		if (!strcmp(recording->objects[i].name, "hot"))
			second = &recording->objects[i];
	}
	assert_non_null(first);
	assert_non_null(second);
	/* 16 sweeps over 1 MiB, eight bytes at a time, and as many updates of one word each 64 */
	assert_int_equal(first->bytes, 1 << 20);
	assert_int_equal(first->loads, 16 * (1 << 17));
	assert_int_equal(first->stores, 0);
	assert_int_equal(first->misses[0], 16 * (1 << 14));
	assert_int_equal(second->loads, 16 * (1 << 14));
	assert_int_equal(second->stores, 16 * (1 << 14));
	assert_true(second->misses[0] <= 64);
	/* the heap: the same sweep once */
	other = &recording->objects[recording->objects_count - 1];
	assert_true(other->loads >= 1 << 17 && other->loads < (1 << 17) + 100000);
	fm_recording_free(recording);
	fm_engine_run_free(&result);
}

static void regions_nest(void **state)
{
	struct fm_engine_run result = run("regions", NULL);
	const struct fm_result_region *outer = region(&result, "outer"), *inner = region(&result, "inner"),
	                              *nothing = region(&result, "nothing"), *gathers = region(&result, "gathers"),
	                              *strings = region(&result, "strings"), *splits = region(&result, "splits_");

	(void)state;
	assert_int_equal(result.exit_status, 0);
	assert_int_equal(outer->instances, 10);
	assert_int_equal(inner->instances, 10);
	assert_true(outer->counts.loads >= 650 && outer->counts.loads < 900);
	assert_true(inner->counts.loads >= 10 && inner->counts.loads < 150);
	/* four elements, one load each */
	assert_non_null(gathers);
	assert_true(gathers->counts.loads >= nothing->counts.loads + 4 &&
	            gathers->counts.loads <= nothing->counts.loads + 8);
	/* byte by byte, as the instruction says, but by lines */
	assert_true(strings->counts.loads >= 64 && strings->counts.loads < 64 + 32);
	assert_true(strings->counts.stores >= 64 && strings->counts.stores < 64 + 32);
	assert_true(strings->counts.load_bytes >= 4096 && strings->counts.load_bytes < 4096 + 256);
	/* and a few by the marker itself, which looks for the end of its name */
	assert_true(splits->counts.splits >= 100 && splits->counts.splits < 110);
	assert_int_equal(region(&result, "never ended")->instances, 0);
	/* three times a hundred, each once */
	assert_int_equal(region(&result, "recursion")->instances, 3);
	assert_true(region(&result, "recursion")->counts.loads >= 300 &&
	            region(&result, "recursion")->counts.loads < 400);
	assert_non_null(region(&result, "odd???"));
	/* a forked process has its own */
	assert_null(region(&result, "forked"));
	assert_int_equal(result.forked_count, 1);
	assert_string_equal(result.forked[0]->regions[0].name, "forked");
	fm_engine_run_free(&result);
}

static void only_what_was_asked_for(void **state)
{
	struct fm_engine_options options = {
	    .machine = &machine, .cores = "0", .region = "outer", .first_instance = 3, .last_instance = 4};
	struct fm_engine_run result = run_with(&options, "regions", NULL);
	struct fm_core_counts counts;
	struct fm_timing_counts timing;

	(void)state;
	fm_result_thread_counts(result.results, 0, &counts, &timing);
	assert_true(counts.loads >= 130 && counts.loads < 200);
	fm_engine_run_free(&result);
	options =
	    (struct fm_engine_options){.machine = &machine, .cores = "0", .window_begin = 200000, .window_end = 300000};
	result = run_with(&options, "ending", "");
	fm_result_thread_counts(result.results, 0, &counts, &timing);
	assert_true(counts.loads > 5000 && counts.loads < 50000);
	fm_engine_run_free(&result);
}

/* Two fields that two threads write are shared falsely; data that one writes and the other reads, truly. */
static void sharing_is_true_or_false(void **state)
{
	const struct fm_engine_options options = {.machine = &machine, .cores = "0-23"};
	struct fm_engine_run result = run_with(&options, "fields", NULL);
	struct fm_recording *recording = fm_recording_create();
	struct fm_error error;
	bool truly = false, falsely = false;

	(void)state;
	assert_int_equal(result.exit_status, 0);
	assert_int_equal(fm_results_record(&result, &machine, recording, &error), 0);
	for (size_t i = 0; i < recording->shared_count; i++) {
		const struct fm_recorded_shared *sharing = &recording->shared[i];
		unsigned users = 0;

		if (!strcmp(sharing->object, "hot")) {
			falsely = true;
			assert_string_equal(fm_sharing_kind(sharing), "false");
			assert_true(sharing->modified > 50);
			for (size_t k = 0; k < recording->users_count; k++) {
				const struct fm_recorded_user *user = &recording->users[k];

				if (user->shared != i)
					continue;
				users++;
				assert_string_equal(user->field, user->thread ? "hot.second" : "hot.first");
				assert_non_null(strstr(user->file, "fields.c"));
				assert_int_equal(__builtin_popcountll(user->written), 8);
			}
			assert_int_equal(users, 2);
		}
		if (!strcmp(sharing->object, "message")) {
			truly = true;
			assert_string_equal(fm_sharing_kind(sharing), "true");
			/* each turn both take the line once */
			assert_true(sharing->modified > 1900);
		}
		if (!strcmp(sharing->object, "apart"))
			assert_true(sharing->modified < 5);
	}
	assert_true(truly && falsely);
	fm_recording_free(recording);
	fm_engine_run_free(&result);
}

static void timing_sees_the_program(void **state)
{
	struct fm_engine_options options = {.machine = &machine, .cores = "0", .timing = true};
	struct fm_engine_run result = run_with(&options, "kernels", NULL);
	const struct fm_result_region *independent = region(&result, "chase_independent/2"),
	                              *in_chain = region(&result, "chase_dependent/2");

	(void)state;
	assert_int_equal(result.exit_status, 0);
	/* 128 steps of 24 multiplications: one per cycle beside the chain, three cycles each in it */
	assert_true(independent->timing.cycles > 24 * 128 && independent->timing.cycles < 36 * 128);
	assert_true(in_chain->timing.cycles > 72 * 128 && in_chain->timing.cycles < 90 * 128);
	fm_engine_run_free(&result);
}

/* Moments are sums from the beginning, in order of time; when there are too many, every second one stays, and the
   differences still add up to everything. No thread does more in a step than there is time in it. */
static void moments_add_up(void **state)
{
	const struct fm_engine_options options = {
	    .machine = &machine, .cores = "0-23", .timing = true, .interval = 2000};
	struct fm_engine_run result = run_with(&options, "phases", NULL);
	const struct fm_results *results = result.results;
	uint64_t total = 0, most = 0;

	(void)state;
	assert_int_equal(result.exit_status, 0);
	assert_true(results->moment_count >= FM_RESULT_MOMENTS_MAX / 2);
	assert_true(results->moment_count <= FM_RESULT_MOMENTS_MAX);
	for (unsigned i = 1; i < results->moment_count; i++) {
		const struct fm_result_moment *moment = &results->moments[i];
		uint64_t time = moment->cycle - moment[-1].cycle,
		         active = moment->timing.cycles - moment[-1].timing.cycles;

		assert_true(moment->cycle > moment[-1].cycle);
		assert_true(moment->counts.loads >= moment[-1].counts.loads);
		/* two threads work at a time; each may be ahead by the skew, and a block beyond that */
		if (active > 2 * (time + 2000))
			fail_msg("step %u: %lu cycles active in %lu", i, (unsigned long)active, (unsigned long)time);
		most = time > most ? time : most;
	}
	print_message("%u moments, the longest step %lu cycles\n", results->moment_count, (unsigned long)most);
	/* thinned out evenly */
	assert_true(most < 4 * results->moments[results->moment_count - 1].cycle / results->moment_count);
	for (unsigned i = 0; i < results->thread_count; i++) {
		struct fm_core_counts counts;
		struct fm_timing_counts timing;

		fm_result_thread_counts(results, i, &counts, &timing);
		total += counts.loads;
	}
	assert_true(results->moments[results->moment_count - 1].counts.loads <= total);
	assert_true(results->moments[results->moment_count - 1].counts.loads > total - total / 100);
	fm_engine_run_free(&result);
}

/* What a region did beyond one with nothing inside. */
static struct fm_result_region beyond_nothing(const struct fm_engine_run *run, const char *name)
{
	const struct fm_result_region *nothing = region(run, "nothing"), *found = region(run, name);
	struct fm_result_region own;

	if (!nothing || !found)
		fail_msg("%s did not run", name);
	own = *found;
	fm_work_subtract(&own.work, &nothing->work);
	for (size_t i = 0; i < sizeof(own.counts) / 8; i++)
		((uint64_t *)&own.counts)[i] -= ((const uint64_t *)&nothing->counts)[i];
	return own;
}

/* Lines that came into a cache, for whatever reason. */
static uint64_t lines_into(const struct fm_core_counts *counts, unsigned cache)
{
	return counts->caches[cache].lines_demand + counts->caches[cache].lines_ownership +
	       counts->caches[cache].lines_prefetch;
}

/* Set and copied by repeated string instructions, memory costs the engine no more accesses than vector loops do, is
   counted as one instruction, and moves exactly the lines there are. */
static void strings_move_lines(void **state)
{
	enum { MIB = 25, LINES = MIB << 14, BYTES = MIB << 20, FEW = 64 };
	struct fm_machine_description smaller = machine;
	const struct fm_engine_options options = {.machine = &smaller, .cores = "0-23"};
	struct fm_engine_run result;
	static const struct {
		const char *name;
		unsigned loads, stores;
	} cases[] = {{"set", 0, 1}, {"copy", 1, 1}};

	(void)state;
	/* an eighth of the last cache: the memory need not be large to be many times as large */
	smaller.caches[2].bytes /= 8;
	result = run_with(&options, "strings", "25");
	assert_int_equal(result.exit_status, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fm_result_region strings, vectors;
		char name[32];

		snprintf(name, sizeof(name), "strings %s", cases[i].name);
		strings = beyond_nothing(&result, name);
		snprintf(name, sizeof(name), "vectors %s", cases[i].name);
		vectors = beyond_nothing(&result, name);
		assert_int_equal(strings.counts.loads, cases[i].loads * LINES);
		assert_int_equal(strings.counts.stores, cases[i].stores * LINES);
		assert_int_equal(strings.counts.load_bytes, (uint64_t)cases[i].loads * BYTES);
		assert_int_equal(strings.counts.store_bytes, (uint64_t)cases[i].stores * BYTES);
		assert_true(strings.work.instructions >= 1 && strings.work.instructions < 8);
		assert_true(2 * (strings.counts.loads + strings.counts.stores) <=
		            vectors.counts.loads + vectors.counts.stores);
		for (unsigned cache = 0; cache < 3; cache++) {
			assert_near((double)lines_into(&strings.counts, cache),
			            (cases[i].loads + cases[i].stores) * (double)LINES, FEW);
			assert_near((double)lines_into(&strings.counts, cache),
			            (double)lines_into(&vectors.counts, cache), FEW);
		}
		assert_near((double)strings.counts.memory_reads, (cases[i].loads + cases[i].stores) * (double)LINES,
		            FEW);
		assert_int_equal(strings.counts.whole_lines, 0);
		/* what the caches hold of the region before is written now, and what they hold of this one, later */
		assert_near((double)strings.counts.memory_writes, (double)LINES,
		            (double)smaller.caches[2].bytes / 64 + FEW);
	}
	fm_engine_run_free(&result);
}

/* In simulated time a line costs as much as with vectors. */
static void strings_take_the_time_of_vectors(void **state)
{
	const struct fm_engine_options options = {.machine = &machine, .cores = "0", .timing = true};
	struct fm_engine_run result = run_with(&options, "strings", "32");
	const char *const what[] = {"set", "copy"};

	(void)state;
	assert_int_equal(result.exit_status, 0);
	for (size_t i = 0; i < sizeof(what) / sizeof(what[0]); i++) {
		struct fm_result_region strings, vectors;
		char name[32];
		double ratio;

		snprintf(name, sizeof(name), "strings %s", what[i]);
		strings = *region(&result, name);
		snprintf(name, sizeof(name), "vectors %s", what[i]);
		vectors = *region(&result, name);
		ratio = (double)strings.timing.cycles / (double)vectors.timing.cycles;
		print_message("%s: %.1f cycles per line with string instructions, %.2f of those with vectors\n",
		              what[i], (double)strings.timing.cycles / (32 << 14), ratio);
		assert_near(ratio, 1, 0.3);
		assert_int_equal(strings.timing.instructions, strings.work.instructions);
	}
	fm_engine_run_free(&result);
}

/* A machine whose string stores do not read the lines they overwrite. */
static void strings_need_not_read(void **state)
{
	enum { LINES = 32 << 14, FEW = 64 };
	struct fm_machine_description other = machine;
	struct fm_engine_options options = {.machine = &other, .cores = "0"};

	(void)state;
	other.string_allocates = 0;
	/* small beside what is set: what it still holds of the lines hardly matters to the writes */
	other.caches[2].bytes /= 24;
	for (int timing = 0; timing < 2; timing++) {
		struct fm_engine_run result;
		struct fm_result_region set, copy;

		options.timing = timing;
		result = run_with(&options, "strings", "32");
		set = beyond_nothing(&result, "strings set");
		copy = beyond_nothing(&result, "strings copy");
		assert_int_equal(set.counts.whole_lines, LINES);
		assert_true(set.counts.memory_reads < FEW);
		assert_near((double)set.counts.memory_writes, LINES, (double)other.caches[2].bytes / 64 + FEW);
		assert_int_equal(copy.counts.whole_lines, LINES);
		assert_near((double)copy.counts.memory_reads, LINES, FEW);
		for (unsigned cache = 0; cache < 3; cache++)
			assert_near((double)set.counts.caches[cache].lines_ownership, LINES, FEW);
		/* one way to memory instead of two */
		if (timing)
			assert_true(set.timing.cycles < 0.7 * (double)region(&result, "vectors set")->timing.cycles);
		fm_engine_run_free(&result);
	}
}

/* Nothing of a repeated instruction is lost, however it begins and ends, and whatever comes next. */
static void strings_have_ends(void **state)
{
	static const struct {
		const char *name;
		unsigned loads, stores, load_bytes, store_bytes, instructions;
	} cases[] = {
	    {"no length", 0, 0, 0, 0, 1},
	    {"one line", 0, 1, 0, 64, 1},
	    {"own block", 0, 10, 0, 640, 2},
	    {"unaligned", 0, 4, 0, 200, 1},
	    {"unaligned copy", 17, 16, 1000, 1000, 1},
	    {"down", 64, 64, 4096, 4096, 3},
	    {"scan", 64, 0, 4096, 0, 1},
	    {"ten", 0, 10, 0, 640, 10},
	};
	struct fm_engine_options options = {.machine = &machine, .cores = "0-23"};
	uint64_t many = 0;

	(void)state;
	/* direct when there are threads, timed, timed by windows of instructions */
	for (int mode = 0; mode < 3; mode++) {
		struct fm_engine_run result;
		struct fm_core_counts counts;
		struct fm_timing_counts timing;

		options.timing = mode > 0;
		options.window_end = mode > 1 ? 1ull << 40 : 0;
		result = run_with(&options, "strings", NULL);
		assert_int_equal(result.exit_status, 0);
		for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			struct fm_result_region own = beyond_nothing(&result, cases[i].name);

			if (own.counts.loads != cases[i].loads || own.counts.stores != cases[i].stores ||
			    own.counts.load_bytes != cases[i].load_bytes ||
			    own.counts.store_bytes != cases[i].store_bytes)
				fail_msg("%s: %d loads of %d bytes, %d stores of %d bytes", cases[i].name,
				         (int)own.counts.loads, (int)own.counts.load_bytes, (int)own.counts.stores,
				         (int)own.counts.store_bytes);
			/* and the few that set it up */
			if (own.work.instructions < cases[i].instructions ||
			    own.work.instructions > cases[i].instructions * 8 + 8)
				fail_msg("%s: %d instructions", cases[i].name, (int)own.work.instructions);
		}
		/* more in one block than there is room for: not lost with timing either */
		if (!mode)
			many = region(&result, "many")->counts.stores;
		assert_true(many > 10000);
		assert_int_equal(region(&result, "many")->counts.stores, many);
		fm_result_thread_counts(result.results, 1, &counts, &timing);
		assert_true(counts.store_bytes >= 16 * 4096 && counts.store_bytes < 16 * 4096 + 4096);
		assert_true(counts.stores < 16 * 64 + 512);
		assert_int_equal(result.forked_count, 1);
		assert_string_equal(result.forked[0]->regions[0].name, "forked");
		assert_int_equal(result.forked[0]->regions[0].counts.stores,
		                 region(&result, "nothing")->counts.stores + 64);
		fm_engine_run_free(&result);
	}
}

/* Every line that came into a cache came because of some instruction. */
static void check_moved(const struct fm_results *results, const char *name)
{
	for (unsigned cache = 0; cache < 3; cache++) {
		uint64_t places = 0, objects = 0, cores = 0, prefetched = 0;

		for (unsigned i = 0; i < results->site_count; i++)
			places += results->places[i].moved[cache];
		for (unsigned i = 0; i < results->object_count; i++)
			objects += results->objects[i].moved[cache];
		for (unsigned i = 0; i < results->core_count; i++) {
			cores += lines_into(&results->cores[i].counts, cache);
			prefetched += results->cores[i].counts.caches[cache].lines_prefetch;
		}
		assert_int_equal(results->lost_sites, 0);
		if (places != cores || objects > places)
			fail_msg("%s: %lu lines came into cache %u, %lu of them for instructions, %lu for objects",
			         name, (unsigned long)cores, cache, (unsigned long)places, (unsigned long)objects);
		assert_true(cores > 0 && (prefetched > 0 || !cache));
	}
}

static void all_lines_have_an_instruction(void **state)
{
	static const struct {
		const char *program, *argument;
	} cases[] = {{EXAMPLES "stream", "1"},  {PROGRAMS "walks", "list"}, {PROGRAMS "threads", NULL},
	             {PROGRAMS "fields", NULL}, {PROGRAMS "forks", "10"},   {PROGRAMS "strings", NULL}};
	struct fm_machine_description smaller = machine;

	(void)state;
	/* so that lines leave the last cache too */
	smaller.caches[2].bytes /= 8;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		/* threads of their own cores; timed; all on one, in turns; timed on one */
		for (unsigned mode = 0; mode < (i < 2 ? 2 : 4); mode++) {
			const struct fm_engine_options options = {
			    .machine = &smaller, .cores = mode > 1 ? "0" : "0-23", .timing = mode % 2};
			char *const arguments[] = {(char *)cases[i].program, (char *)cases[i].argument, NULL};
			struct fm_engine_run result;
			struct fm_error error;

			if (fm_engine_execute(&options, arguments, &result, &error))
				fail_msg("%s", error.message);
			assert_int_equal(result.exit_status, 0);
			check_moved(result.results, cases[i].program);
			for (unsigned k = 0; k < result.forked_count; k++)
				check_moved(result.forked[k], cases[i].program);
			fm_engine_run_free(&result);
		}
}

/* The share of regular distances between the misses of the instruction that misses most. */
static double regular_share(const char *walk, bool timing, double *ret_counted)
{
	const struct fm_engine_options options = {.machine = &machine, .cores = "0-23", .timing = timing};
	struct fm_engine_run result = run_with(&options, "walks", walk);
	const struct fm_result_place *most = &result.results->places[0];
	double share;

	assert_int_equal(result.exit_status, 0);
	for (unsigned i = 0; i < result.results->site_count; i++)
		if (result.results->places[i].misses[0] > most->misses[0])
			most = &result.results->places[i];
	share = (double)most->regular / (double)(most->regular + most->irregular);
	*ret_counted = (double)(most->regular + most->irregular) / (double)most->misses[0];
	fm_engine_run_free(&result);
	return share;
}

static void walks_are_regular_or_not(void **state)
{
	static const struct {
		const char *walk;
		double least, most;
	} cases[] = {
	    {"192", 0.95, 1},         {"4096", 0.95, 1},
	    {"16384", 0.95, 1},       {"columns", 0.95, 1},
	    {"grid", 0.95, 1},        {"two arrays", 0.95, 1},
	    {"two strides", 0.95, 1}, {"random", 0, 0.05},
	    {"list", 0, 0.05},        {"stride and random", 0.4, 0.6},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (int timing = 0; timing < 2; timing++) {
			double counted, share = regular_share(cases[i].walk, timing, &counted);

			print_message("%s: %.1f %% regular\n", cases[i].walk, 100 * share);
			if (!(share >= cases[i].least && share <= cases[i].most))
				fail_msg("%s: %g is not within %g … %g", cases[i].walk, share, cases[i].least,
				         cases[i].most);
			/* all but the first two of each thread */
			assert_true(counted > 0.99 && counted <= 1);
		}
}

static void what_cannot_run_is_explained(void **state)
{
	const struct fm_engine_options options = {.machine = &machine, .cores = "0"};
	struct fm_engine_run result;
	struct fm_error error;

	(void)state;
	assert_int_equal(fm_engine_execute(&options, (char *[]){"/nonexistent/program", NULL}, &result, &error),
	                 -ENOENT);
	assert_int_equal(fm_engine_execute(&options, (char *[]){"no-such-program-anywhere", NULL}, &result, &error),
	                 -ENOENT);
	assert_int_equal(fm_engine_execute(&options, (char *[]){"/etc/hostname", NULL}, &result, &error), -EACCES);
	setenv("PATH", "/nonexistent", 1);
	assert_int_equal(fm_engine_execute(&options, (char *[]){"/bin/true", NULL}, &result, &error), -ENOTSUP);
	assert_non_null(strstr(error.message, "apt-get install qemu-user"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(kernels_count_what_they_declare),
	    cmocka_unit_test(variables_are_told_apart),
	    cmocka_unit_test(regions_nest),
	    cmocka_unit_test(only_what_was_asked_for),
	    cmocka_unit_test(sharing_is_true_or_false),
	    cmocka_unit_test(timing_sees_the_program),
	    cmocka_unit_test(moments_add_up),
	    cmocka_unit_test(strings_move_lines),
	    cmocka_unit_test(strings_take_the_time_of_vectors),
	    cmocka_unit_test(strings_need_not_read),
	    cmocka_unit_test(strings_have_ends),
	    cmocka_unit_test(all_lines_have_an_instruction),
	    cmocka_unit_test(walks_are_regular_or_not),
	    cmocka_unit_test(what_cannot_run_is_explained),
	};
	int status = prepare();

	return status ? status : cmocka_run_group_tests(tests, NULL, NULL);
}
