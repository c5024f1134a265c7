/* The exact engine on real programs. */
#include "unit/check.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exact/engine.h"
#include "kernels/kernel.h"
#include "report/stat_text.h"

static struct fm_machine_description machine;

static struct fm_engine_run run_with(const struct fm_engine_options *options, const char *program, const char *argument)
{
	char path[512];
	char *const arguments[] = {path, (char *)argument, NULL};
	struct fm_engine_run run;
	struct fm_error error;

	snprintf(path, sizeof(path), PROGRAMS "%s", program);
	if (fm_engine_execute(options, arguments, &run, &error))
		fail_msg("%s", error.message);
	return run;
}

static struct fm_engine_run run(const char *program, const char *argument)
{
	const struct fm_engine_options options = {.machine = &machine, .cores = "0-23"};

	return run_with(&options, program, argument);
}

static const struct fm_result_region *region(const struct fm_engine_run *run, const char *name)
{
	for (unsigned i = 0; i < run->results->region_count; i++)
		if (!strcmp(run->results->regions[i].name, name))
			return &run->results->regions[i];
	return NULL;
}

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
			const struct fm_stream_kernel *declared = &fm_stream_kernels[kernel];
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

/* Two threads, one line: every turn from one to the other moves the line once. The same in ten runs. */
static void false_sharing_repeats(void **state)
{
	uint64_t first = 0;

	(void)state;
	for (unsigned i = 0; i < 10; i++) {
		struct fm_engine_run result = run("sharing", "false");
		uint64_t moved = 0;

		assert_int_equal(result.exit_status, 0);
		assert_int_equal(result.results->thread_count, 2);
		for (unsigned k = 0; k < result.results->line_count; k++)
			if (result.results->lines[k].modified > moved)
				moved = result.results->lines[k].modified;
		if (!i) {
			first = moved;
			print_message("%llu transfers of the line, %llu turns\n", (unsigned long long)moved,
			              (unsigned long long)result.results->turns);
			assert_true(moved > 100);
			/* turns before the second thread worked on the line, and after, move other lines or none */
			assert_near((double)moved, (double)result.results->turns, 12);
		}
		assert_int_equal(moved, first);
		fm_engine_run_free(&result);
	}
	{
		struct fm_engine_run result = run("sharing", "padded");

		for (unsigned k = 0; k < result.results->line_count; k++)
			assert_true(result.results->lines[k].modified < 20);
		fm_engine_run_free(&result);
	}
}

/* A smaller skew means more turns, in proportion. */
static void skew_rules_the_turns(void **state)
{
	struct fm_engine_options options = {.machine = &machine, .cores = "0-23", .skew = 500};
	struct fm_engine_run small = run_with(&options, "sharing", "false"), large;
	double ratio;

	(void)state;
	options.skew = 2000;
	large = run_with(&options, "sharing", "false");
	ratio = (double)small.results->turns / (double)large.results->turns;
	print_message("turns with a skew of 500 and of 2000: ratio %.2f\n", ratio);
	assert_near(ratio, 4, 0.8);
	fm_engine_run_free(&small);
	fm_engine_run_free(&large);
}

static void free_running_counts_accesses_alike(void **state)
{
	struct fm_engine_options options = {.machine = &machine, .cores = "0-23", .free_running = true};
	struct fm_engine_run result = run_with(&options, "sharing", "false");
	struct fm_core_counts counts;
	struct fm_timing_counts timing;

	(void)state;
	assert_int_equal(result.exit_status, 0);
	fm_result_thread_counts(result.results, 1, &counts, &timing);
	assert_true(counts.loads >= 100000 && counts.loads < 101000);
	assert_int_equal(result.results->deterministic, 0);
	fm_engine_run_free(&result);
}

static void threads_come_and_go(void **state)
{
	struct fm_engine_run result = run("threads", NULL);

	(void)state;
	assert_int_equal(result.exit_status, 0);
	assert_int_equal(result.results->thread_count, 41);
	for (unsigned i = 1; i < 41; i++) {
		struct fm_core_counts counts;
		struct fm_timing_counts timing;

		fm_result_thread_counts(result.results, i, &counts, &timing);
		assert_true(counts.loads >= 1000 && counts.loads < 2000);
		assert_true(result.results->threads[i].ended);
		assert_int_equal(result.results->threads[i].shares_core, 0);
		/* four at a time beside the first: cores are used again */
		assert_true(result.results->threads[i].core >= 1 && result.results->threads[i].core <= 5);
	}
	fm_engine_run_free(&result);
}

static void forks_are_followed(void **state)
{
	struct fm_engine_run result = run("forks", "1000");

	(void)state;
	assert_int_equal(result.exit_status, 0);
	assert_int_equal(result.forked_count, 1000);
	for (unsigned i = 0; i < result.forked_count; i++) {
		struct fm_core_counts counts;
		struct fm_timing_counts timing;

		assert_int_equal(result.forked[i]->thread_count, 1);
		assert_int_equal(result.forked[i]->parent, result.results->process);
		fm_result_thread_counts(result.forked[i], 0, &counts, &timing);
		assert_true(counts.loads >= 1000 && counts.loads < 2000);
	}
	fm_engine_run_free(&result);
}

static void bad_ends_keep_the_counts(void **state)
{
	static const struct {
		const char *how;
		int signal;
	} cases[] = {{"segv", SIGSEGV}, {"abort", SIGABRT}, {"kill", SIGKILL},
	             {"term", SIGTERM}, {"avx512", SIGILL}, {"", 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fm_engine_run result = run("ending", cases[i].how);
		struct fm_core_counts counts;
		struct fm_timing_counts timing;

		assert_int_equal(result.signal, cases[i].signal);
		assert_int_equal(result.exit_status, cases[i].signal ? 128 + cases[i].signal : 42);
		fm_result_thread_counts(result.results, 0, &counts, &timing);
		assert_true(counts.loads >= 1000000);
		fm_engine_run_free(&result);
	}
}

/* What a program executes is followed: here a program, there a shell that makes a child and becomes another program. */
static void executed_programs_are_followed(void **state)
{
	struct fm_engine_run result = run("ending", "exec");
	const struct fm_engine_options options = {.machine = &machine};
	struct fm_core_counts counts;
	struct fm_timing_counts timing;
	struct fm_error error;
	char script[512];

	(void)state;
	assert_int_equal(result.exit_status, 0);
	assert_int_equal(result.results->exec_count, 0);
	assert_int_equal(result.forked_count, 1);
	assert_true(result.forked[0]->executed);
	assert_string_equal(result.forked[0]->program, "/bin/true");
	fm_result_thread_counts(result.forked[0], 0, &counts, &timing);
	assert_true(counts.loads > 1000);
	fm_engine_run_free(&result);

	snprintf(script, sizeof(script), "%sending nothing; exec %sending nothing", PROGRAMS, PROGRAMS);
	assert_int_equal(fm_engine_execute(&options, (char *[]){"/bin/sh", "-c", script, NULL}, &result, &error), 0);
	assert_int_equal(result.exit_status, 42);
	assert_int_equal(result.results->exec_count, 0);
	/* the shell's child, as it was forked and as it became another program, and the shell as it did */
	assert_int_equal(result.forked_count, 3);
	for (unsigned i = 0, million = 0; i < 3; i++) {
		fm_result_thread_counts(result.forked[i], 0, &counts, &timing);
		million += counts.loads > 1000000;
		if (i == 2)
			assert_int_equal(million, 2);
	}
	fm_engine_run_free(&result);
}

/* What cannot be followed runs all the same, and is named. */
static void what_cannot_be_followed_is_named(void **state)
{
	struct fm_engine_run result = run("ending", "exec-missing");

	(void)state;
	assert_int_equal(result.exit_status, 42);
	assert_int_equal(result.results->exec_count, 0);
	fm_engine_run_free(&result);
	if (access("/usr/bin/su", X_OK))
		return;
	result = run("ending", "exec-privileged");
	assert_int_equal(result.results->exec_count, 1);
	assert_string_equal(result.results->execs[0], "/usr/bin/su");
	fm_engine_run_free(&result);
}

/* Threads that pin themselves, or are pinned before they begin, to cores this host need not have. */
static void affinity_is_understood(void **state)
{
	struct fm_engine_run result = run("affinity", NULL);
	struct fm_core_counts counts;
	struct fm_timing_counts timing;

	(void)state;
	assert_int_equal(result.exit_status, 0);
	assert_int_equal(result.results->thread_count, 3);
	assert_int_equal(result.results->threads[0].core, 23);
	assert_int_equal(result.results->threads[0].moves, 2);
	assert_int_equal(result.results->threads[1].core, 7);
	assert_int_equal(result.results->threads[2].core, 19);
	/* on all its cores together */
	fm_result_thread_counts(result.results, 0, &counts, &timing);
	assert_true(counts.loads >= 200000);
	assert_true(result.results->cores[5].counts.loads >= 100000);
	/* a region that was open across the move has both sides */
	assert_true(region(&result, "moving")->counts.loads >= 200000);
	fm_engine_run_free(&result);
}

/* Accesses and misses of variables: a sweep over one, hits in another. */
static void variables_are_told_apart(void **state)
{
	struct fm_stat stat;
	struct fm_error error;
	const struct fm_engine_options options = {.machine = &machine, .no_prefetch = true};
	struct fm_engine_run result = run_with(&options, "variables", NULL);
	const struct fm_stat_object *first = NULL, *second = NULL, *other;

	(void)state;
	assert_int_equal(result.exit_status, 0);
	assert_int_equal(fm_stat_build(&machine, &options, &result, "variables", &stat, &error), 0);
	for (size_t i = 0; i < stat.object_count; i++) {
		if (!strcmp(stat.objects[i].name, "swept"))
			first = &stat.objects[i];
		if (!strcmp(stat.objects[i].name, "hot"))
			second = &stat.objects[i];
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
	other = &stat.objects[stat.object_count - 1];
	assert_true(other->loads >= 1 << 17 && other->loads < (1 << 17) + 100000);
	fm_stat_free(&stat);
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
	/* byte by byte, as the instruction says */
	assert_true(strings->counts.loads >= 4096 && strings->counts.loads < 4096 + 64);
	assert_true(strings->counts.stores >= 4096 && strings->counts.stores < 4096 + 64);
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
	struct fm_stat stat;
	struct fm_error error;
	bool truly = false, falsely = false;

	(void)state;
	assert_int_equal(result.exit_status, 0);
	assert_int_equal(fm_stat_build(&machine, &options, &result, "fields", &stat, &error), 0);
	for (size_t i = 0; i < stat.sharing_count; i++) {
		const struct fm_stat_sharing *sharing = &stat.sharing[i];

		if (!strcmp(sharing->object, "hot")) {
			falsely = true;
			assert_string_equal(fm_sharing_kind(sharing), "false");
			assert_true(sharing->modified > 50);
			assert_int_equal(sharing->user_count, 2);
			for (unsigned k = 0; k < 2; k++) {
				const struct fm_stat_sharer *user = &sharing->users[k];

				assert_string_equal(user->field, user->thread ? "hot.second" : "hot.first");
				assert_non_null(strstr(user->file, "fields.c"));
				assert_int_equal(__builtin_popcountll(user->written), 8);
			}
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
	fm_stat_free(&stat);
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

/* Threads that share a core have their own counts all the same, and a thread begins when it was made: one after the
   other takes as long as both. */
static void shared_cores_are_told_apart(void **state)
{
	struct fm_engine_options options = {.machine = &machine, .cores = "0-23", .timing = true};
	struct fm_engine_run apart = run_with(&options, "phases", NULL), together;
	uint64_t sum = 0, of_core;

	(void)state;
	options.cores = "0";
	together = run_with(&options, "phases", NULL);
	assert_int_equal(together.results->thread_count, 3);
	for (unsigned i = 0; i < 3; i++) {
		struct fm_core_counts own, alone;
		struct fm_timing_counts timing, ignored;

		fm_result_thread_counts(together.results, i, &own, &timing);
		fm_result_thread_counts(apart.results, i, &alone, &ignored);
		print_message("thread %u: %lu loads, on a core of its own %lu\n", i, (unsigned long)own.loads,
		              (unsigned long)alone.loads);
		assert_near((double)own.loads, (double)alone.loads, 0.001 * (double)alone.loads);
		assert_true(timing.cycles < together.results->threads[i].clock);
		sum += own.loads;
		/* made when main was ready with its data */
		assert_true(!i || apart.results->threads[i].clock > ignored.cycles + 100000);
	}
	of_core = together.results->cores[0].counts.loads;
	assert_near((double)sum, (double)of_core, 0.0001 * (double)of_core);
	fm_engine_run_free(&apart);
	fm_engine_run_free(&together);
}

/* Programs whose behaviour does not depend on the host's moment give the same moments again. */
static void moments_repeat(void **state)
{
	const struct fm_engine_options options = {
	    .machine = &machine, .cores = "0-23", .timing = true, .interval = 2000};
	struct fm_engine_run first = run_with(&options, "fields", NULL), second = run_with(&options, "fields", NULL);

	(void)state;
	assert_true(first.results->moment_count > 3);
	assert_int_equal(first.results->moment_count, second.results->moment_count);
	for (unsigned i = 0; i < first.results->moment_count; i++) {
		assert_int_equal(first.results->moments[i].cycle, second.results->moments[i].cycle);
		assert_memory_equal(&first.results->moments[i].counts, &second.results->moments[i].counts,
		                    sizeof(first.results->moments[i].counts));
	}
	fm_engine_run_free(&first);
	fm_engine_run_free(&second);
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
	    cmocka_unit_test(false_sharing_repeats),
	    cmocka_unit_test(skew_rules_the_turns),
	    cmocka_unit_test(free_running_counts_accesses_alike),
	    cmocka_unit_test(threads_come_and_go),
	    cmocka_unit_test(forks_are_followed),
	    cmocka_unit_test(bad_ends_keep_the_counts),
	    cmocka_unit_test(executed_programs_are_followed),
	    cmocka_unit_test(what_cannot_be_followed_is_named),
	    cmocka_unit_test(affinity_is_understood),
	    cmocka_unit_test(variables_are_told_apart),
	    cmocka_unit_test(regions_nest),
	    cmocka_unit_test(only_what_was_asked_for),
	    cmocka_unit_test(sharing_is_true_or_false),
	    cmocka_unit_test(timing_sees_the_program),
	    cmocka_unit_test(moments_add_up),
	    cmocka_unit_test(moments_repeat),
	    cmocka_unit_test(shared_cores_are_told_apart),
	    cmocka_unit_test(what_cannot_run_is_explained),
	};
	struct fm_error error;

	if (system("qemu-x86_64 --version >/dev/null 2>&1")) {
		printf("SKIPPED: qemu-x86_64 is not installed\n");
		return 77;
	}
	if (fm_description_read(MACHINES "/haswell-ep.machine", &machine, &error)) {
		printf("%s\n", error.message);
		return 1;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
