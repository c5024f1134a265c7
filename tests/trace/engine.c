/* The native engine on real programs: the same counts as QEMU's, where they are the same program's. */
#include "check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/statistics.h"
#include "engine/engine.h"
#include "kernels/kernel.h"
#include "simulator/numbers.h"

static struct fm_machine_description machine;

static struct fm_engine_run run(struct fm_engine_options options, char *const *arguments)
{
	struct fm_engine_run result;
	struct fm_error error;

	options.machine = &machine;
	options.cores = "0-23";
	if (fm_engine_execute(&options, arguments, &result, &error))
		fail_msg("%s", error.message);
	assert_int_equal(result.kind, options.kind);
	return result;
}

static struct fm_engine_run run_program(struct fm_engine_options options, const char *name, const char *argument)
{
	char path[512];

	snprintf(path, sizeof(path), PROGRAMS "%s", name);
	return run(options, (char *[]){path, (char *)argument, NULL});
}

static struct fm_core_counts all_counts(const struct fm_results *results)
{
	struct fm_core_counts sum = {0};

	for (unsigned i = 0; i < results->core_count; i++)
		fm_core_counts_add(&sum, &results->cores[i].counts);
	return sum;
}

static const struct fm_result_region *region(const struct fm_results *results, const char *name, unsigned units)
{
	char text[80];

	snprintf(text, sizeof(text), "%s/%u", name, units);
	for (unsigned i = 0; i < results->region_count; i++)
		if (!strcmp(results->regions[i].name, text))
			return &results->regions[i];
	fail_msg("%s did not run", text);
	return NULL;
}

/* What a unit of work costs: the region with two of them less the one with one. */
static struct fm_core_counts unit_costs(const struct fm_results *results, const char *name, struct fm_work *ret_work)
{
	const struct fm_result_region *one = region(results, name, 1), *two = region(results, name, 2);
	struct fm_core_counts costs = two->counts;

	*ret_work = two->work;
	fm_work_subtract(ret_work, &one->work);
	fm_numbers_subtract(&costs, &one->counts, sizeof(costs));
	return costs;
}

static void kernels_count_what_they_declare(void **state)
{
	enum { BLOCKS = 4, ELEMENTS = BLOCKS * FM_BLOCK_BYTES / 8, STEPS = 64 };
	struct fm_engine_run result =
	    run_program((struct fm_engine_options){.kind = FM_ENGINE_NATIVE}, "kernels", NULL);
	struct fm_work work;
	unsigned variants = 0;

	(void)state;
	assert_int_equal(result.exit_status, 0);
	assert_int_equal(result.results->native, 1);
	assert_int_equal(result.results->lost_accesses, 0);
	for (unsigned kernel = 0; kernel < FM_STREAM_COUNT; kernel++)
		for (int isa = 0; isa < FM_ISA_avx512; isa++) {
			const struct fm_stream_kernel *declared = &fm_streams[kernel];
			unsigned lanes = fm_isa_bytes((enum fm_isa)isa) / 8;
			struct fm_core_counts costs;
			char name[64];

			snprintf(name, sizeof(name), "%s_%s", declared->name, fm_isa_name((enum fm_isa)isa));
			costs = unit_costs(result.results, name, &work);
			assert_int_equal(costs.loads, ELEMENTS / lanes * declared->loads);
			assert_int_equal(costs.stores, ELEMENTS / lanes * declared->stores);
			assert_int_equal(costs.load_bytes, ELEMENTS * declared->loaded_bytes);
			assert_int_equal(costs.store_bytes, ELEMENTS * declared->stored_bytes);
			assert_int_equal(work.flops, ELEMENTS * declared->flops);
			assert_int_equal(work.vector_inserts + work.divisions, 0);
			variants++;
		}
	for (unsigned i = 0; i < fm_step_kernel_count; i++) {
		const struct fm_step_kernel *declared = &fm_step_kernels[i];
		struct fm_core_counts costs;

		if (!strcmp(declared->name, "ping_pong"))
			continue; /* it needs a partner */
		costs = unit_costs(result.results, declared->name, &work);
		assert_int_equal(costs.loads, STEPS * declared->loads);
		assert_int_equal(costs.stores, STEPS * declared->stores);
		assert_int_equal(costs.load_bytes, STEPS * declared->loaded_bytes);
		variants++;
	}
	for (unsigned i = 0; i < fm_family_kernel_count; i++) {
		const struct fm_family_kernel *declared = &fm_family_kernels[i];
		struct fm_core_counts costs = unit_costs(result.results, declared->name, &work);

		assert_int_equal(costs.loads, STEPS * (declared->loads + (declared->loads_per_unit ? 32 : 0)));
		assert_int_equal(costs.stores, 0);
		variants++;
	}
	print_message("%u kernels and variants counted\n", variants);
	assert_true(variants >= 3 * FM_STREAM_COUNT + 5);
	fm_engine_run_free(&result);
}

static void share(const char *what, uint64_t native, uint64_t emulated, double tolerance)
{
	double ratio = (double)native / (double)emulated;

	print_message("%s: %llu native, %llu in QEMU, %+.3f %%\n", what, (unsigned long long)native,
	              (unsigned long long)emulated, 100 * (ratio - 1));
	assert_near(ratio, 1, tolerance);
}

/* The whole program but for what runs before the library is loaded. */
static void counts_are_those_of_the_emulator(void **state)
{
	char *const arguments[] = {"gzip", "-c", "-1", PROGRAMS "kernels", NULL};
	struct fm_engine_run native, emulated;
	struct fm_core_counts ours, theirs;
	int output = dup(STDOUT_FILENO);

	(void)state;
	assert_true(freopen("/dev/null", "w", stdout) != NULL);
	native = run((struct fm_engine_options){.kind = FM_ENGINE_NATIVE}, arguments);
	emulated = run((struct fm_engine_options){.kind = FM_ENGINE_QEMU}, arguments);
	fflush(stdout);
	dup2(output, STDOUT_FILENO);
	close(output);
	assert_int_equal(native.exit_status, 0);
	ours = all_counts(native.results);
	theirs = all_counts(emulated.results);
	share("loads", ours.loads, theirs.loads, 0.05);
	share("stores", ours.stores, theirs.stores, 0.08);
	share("instructions", native.results->threads[0].work.instructions,
	      emulated.results->threads[0].work.instructions, 0.05);
	share("misses of the first cache", ours.caches[0].load_misses + ours.caches[0].store_misses,
	      theirs.caches[0].load_misses + theirs.caches[0].store_misses, 0.05);
	assert_int_equal(native.results->all_work.instructions, native.results->threads[0].work.instructions);
	fm_engine_run_free(&native);
	fm_engine_run_free(&emulated);
}

static void sharing_is_seen(void **state)
{
	struct fm_engine_run result =
	    run_program((struct fm_engine_options){.kind = FM_ENGINE_NATIVE}, "sharing", "false");
	struct fm_core_counts counts = all_counts(result.results);

	(void)state;
	assert_int_equal(result.exit_status, 0);
	assert_true(result.results->thread_count >= 2);
	print_message("%llu lines moved\n", (unsigned long long)(counts.transfers_modified + counts.transfers_clean));
	assert_true(counts.transfers_modified > 0);
	assert_true(result.results->line_count > 0);
	fm_engine_run_free(&result);
}

static void forked_and_executed_processes_are_counted(void **state)
{
	struct fm_engine_run result = run((struct fm_engine_options){.kind = FM_ENGINE_NATIVE},
	                                  (char *[]){"/bin/sh", "-c",
	                                             "(exit 3) & wait; /bin/echo one >/dev/null; "
	                                             "exit 5",
	                                             NULL});
	unsigned executed = 0, forked = 0;

	(void)state;
	assert_int_equal(result.exit_status, 5);
	for (unsigned i = 0; i < result.forked_count; i++) {
		executed += result.forked[i]->executed != 0;
		forked += !result.forked[i]->executed;
		assert_true(all_counts(result.forked[i]).loads > 0);
	}
	assert_true(executed >= 1 && forked >= 1);
	fm_engine_run_free(&result);
}

/* Whatever has executed it, the program is the first: its threads and their lines are what is asked about. */
static void wrappers_are_not_the_program(void **state)
{
	static char *const wrappers[][6] = {
	    {"/bin/sh", "-c", "exec " PROGRAMS "contention atomic 1000000"},
	    {"/bin/sh", "-c", PROGRAMS "contention atomic 1000000; exit 0"},
	    {"/usr/bin/env", "A=1", PROGRAMS "contention", "atomic", "1000000"},
	    {"/usr/bin/nice", PROGRAMS "contention", "atomic", "1000000"},
	    {"/bin/sh", "-c", "/usr/bin/nice /usr/bin/env " PROGRAMS "contention atomic 1000000"},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(wrappers) / sizeof(wrappers[0]); i++) {
		struct fm_engine_run result =
		    run((struct fm_engine_options){.kind = FM_ENGINE_NATIVE}, (char **)wrappers[i]);
		const struct fm_results *first = result.results;
		const char *slash = strrchr(first->program, '/');
		unsigned scheduled = 0;

		assert_int_equal(result.exit_status, 0);
		assert_string_equal(slash ? slash + 1 : first->program, "program_contention");
		assert_true(first->executed);
		assert_true(first->thread_count >= 2);
		assert_true(first->line_count > 0);
		assert_true(result.forked_count >= 1);
		for (unsigned k = 0; k < result.scheduled_count; k++)
			scheduled += (uint32_t)result.scheduled[k].process == first->process;
		print_message("%u of %u scheduled threads are the program's\n", scheduled, result.scheduled_count);
		if (result.scheduled_count)
			assert_true(scheduled > 0);
		fm_engine_run_free(&result);
	}
}

static void windows_add_up(void **state)
{
	struct fm_engine_options options = {.kind = FM_ENGINE_NATIVE,
	                                    .timing = true,
	                                    .windows = {.on = true, .references = 20000, .warm = 5000, .slowdown = 3}};
	char *const loop[] = {"/bin/sh", "-c", "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done", NULL};
	struct fm_engine_run result = run(options, (char **)loop),
	                     whole = run((struct fm_engine_options){.kind = FM_ENGINE_NATIVE, .timing = true},
	                                 (char **)loop);
	const struct fm_timing_counts *all = &whole.results->timings[0];
	struct fm_core_counts counts = all_counts(result.results), sum = {0};
	struct fm_timing_counts timing = {0};
	uint64_t before = 0, timed = 0;
	double paces[FM_RESULT_WINDOWS_MAX], expected;
	struct fm_location median;
	unsigned count = 0;

	(void)state;
	assert_int_equal(result.exit_status, 0);
	assert_int_equal(result.results->native, 2);
	assert_true(result.results->window_count > 0);
	for (unsigned i = 0; i < result.results->window_count; i++) {
		const struct fm_result_window *window = &result.results->windows[i];

		fm_core_counts_add(&sum, &window->counts);
		fm_numbers_add(&timing, &window->timing, sizeof(timing));
		timed += window->timed;
		assert_true(window->executed >= before);
		before = window->executed;
		for (unsigned k = 0; k < machine.cache_count; k++)
			assert_true(window->unknown[k] <= window->counts.loads + window->counts.stores);
	}
	print_message("%u windows with %llu loads and %llu instructions of %llu\n", result.results->window_count,
	              (unsigned long long)sum.loads, (unsigned long long)result.results->threads[0].work.instructions,
	              (unsigned long long)result.results->all_work.instructions);
	assert_memory_equal(&sum, &counts, sizeof(sum));
	assert_memory_equal(&timing, &result.results->timings[0], sizeof(timing));
	assert_true(timed > 0 && timed < timing.instructions);
	/* a loop in the caches: each of its instructions takes as long in windows as in the whole run. The median: at
	   the start of the shell, a few windows have other code, which is in no cache yet. */
	for (unsigned i = 0; i < result.results->window_count; i++) {
		const struct fm_timing_counts *own = &result.results->windows[i].timing;

		if (own->instructions)
			paces[count++] = (double)own->cycles / (double)own->instructions;
	}
	expected = (double)all->cycles / (double)all->instructions;
	assert_int_equal(fm_statistics_median(paces, count, &median), 0);
	print_message("%.4f cycles per instruction; in %u windows %.4f\n", expected, count, median.value);
	assert_near(median.value, expected, 0.1 * expected);
	assert_true(result.results->all_work.instructions > result.results->threads[0].work.instructions);
	fm_engine_run_free(&result);
	fm_engine_run_free(&whole);
}

static const struct fm_result_region *work_of(const struct fm_engine_run *result)
{
	assert_int_equal(result->exit_status, 0);
	assert_int_equal(result->results->timing, 1);
	for (unsigned i = 0; i < result->results->region_count; i++)
		if (!strcmp(result->results->regions[i].name, "work"))
			return &result->results->regions[i];
	fail_msg("there is no region");
	return NULL;
}

struct kernel_run {
	const char *kernel, *isa, *bytes, *passes;
};

/* A kernel in two ways; what it prints is of no interest. */
static void run_both(const struct kernel_run *kernel, struct fm_engine_options one, struct fm_engine_options other,
                     struct fm_engine_run *ret_one, struct fm_engine_run *ret_other)
{
	char *const arguments[] = {
	    KERNEL, (char *)kernel->kernel, (char *)kernel->isa, (char *)kernel->bytes, (char *)kernel->passes, NULL};
	int output = dup(STDOUT_FILENO);

	assert_true(output >= 0 && freopen("/dev/null", "w", stdout) != NULL);
	*ret_one = run(one, arguments);
	*ret_other = run(other, arguments);
	fflush(stdout);
	dup2(output, STDOUT_FILENO);
	close(output);
}

/* The core is the same, and so are the instructions, but for the marker at the end of the region, which natively is a
   function of the library: about a thousand cycles, of at least a hundred thousand. */
static void cycles_are_those_of_the_emulator(void **state)
{
	static const struct kernel_run runs[] = {
	    {"copy", "1", "200000", "8"}, {"stream_triad", "1", "1000000", "2"}, {"store_nt", "1", "500000", "2"},
	    {"sum", "0", "1000000", "2"}, {"chase", "0", "16384", "40000"},      {"chase", "0", "8388608", "4000"}};
	const struct fm_engine_options qemu = {.kind = FM_ENGINE_QEMU, .timing = true},
	                               native = {.kind = FM_ENGINE_NATIVE, .timing = true};

	(void)state;
	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		struct fm_engine_run ours, theirs;
		const struct fm_timing_counts *own, *other;
		char what[64];

		run_both(&runs[i], native, qemu, &ours, &theirs);
		own = &work_of(&ours)->timing;
		other = &work_of(&theirs)->timing;
		snprintf(what, sizeof(what), "cycles of %s, %s bytes", runs[i].kernel, runs[i].bytes);
		share(what, own->cycles, other->cycles, 0.02);
		assert_near((double)own->no_execute / (double)own->cycles,
		            (double)other->no_execute / (double)other->cycles, 0.02);
		fm_engine_run_free(&ours);
		fm_engine_run_free(&theirs);
	}
}

/* Stretches stand for the rest of a run: cycles within 5 %; counts are the same. */
static void stretches_stand_for_the_rest(void **state)
{
	static const struct kernel_run runs[] = {{"stream_triad", "1", "200000", "1500"},
	                                         {"chase", "0", "262144", "2000000"}};
	const struct fm_engine_options all = {.kind = FM_ENGINE_NATIVE, .timing = true},
	                               sampled = {.kind = FM_ENGINE_NATIVE, .timing = true, .timing_sampled = true};

	(void)state;
	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		struct fm_engine_run whole, parts;
		uint64_t cycles, estimated;

		run_both(&runs[i], all, sampled, &whole, &parts);
		cycles = whole.results->timings[0].cycles;
		estimated = parts.results->timings[0].cycles;
		assert_true(parts.results->timing_sampled);
		assert_false(whole.results->timing_sampled);
		assert_int_equal(parts.results->threads[0].clock, estimated);
		share("instructions", parts.results->threads[0].work.instructions,
		      whole.results->threads[0].work.instructions, 0.01);
		share("cycles", estimated, cycles, 0.05);
		printf("stretches differ by %.2f %%\n", 200 * sqrt(parts.results->timing_variance) / (double)cycles);
		assert_true(2 * sqrt(parts.results->timing_variance) < 0.05 * (double)cycles);
		fm_engine_run_free(&whole);
		fm_engine_run_free(&parts);
	}
}

static void what_it_cannot_do_is_refused(void **state)
{
	struct fm_engine_options options = {.kind = FM_ENGINE_NATIVE, .machine = &machine, .window_end = 1};
	struct fm_engine_run result;
	struct fm_error error;

	(void)state;
	assert_int_equal(fm_engine_execute(&options, (char *[]){"true", NULL}, &result, &error), -ENOTSUP);
	options = (struct fm_engine_options){.kind = FM_ENGINE_NATIVE, .machine = &machine, .samples = "/tmp"};
	assert_int_equal(fm_engine_execute(&options, (char *[]){"true", NULL}, &result, &error), -ENOTSUP);
	options = (struct fm_engine_options){.kind = FM_ENGINE_NATIVE, .machine = &machine};
	assert_int_equal(fm_engine_execute(&options, (char *[]){"/nowhere/at/all", NULL}, &result, &error), -ENOENT);
	options = (struct fm_engine_options){.machine = &machine, .windows = {.on = true}};
	assert_int_equal(fm_engine_execute(&options, (char *[]){"true", NULL}, &result, &error), -ENOTSUP);
}

static int set_up(void **state)
{
	struct fm_error error;

	(void)state;
	if (fm_description_read(MACHINES "/haswell-ep.machine", &machine, &error))
		fail_msg("%s", error.message);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(kernels_count_what_they_declare),
	    cmocka_unit_test(counts_are_those_of_the_emulator),
	    cmocka_unit_test(sharing_is_seen),
	    cmocka_unit_test(forked_and_executed_processes_are_counted),
	    cmocka_unit_test(wrappers_are_not_the_program),
	    cmocka_unit_test(windows_add_up),
	    cmocka_unit_test(cycles_are_those_of_the_emulator),
	    cmocka_unit_test(stretches_stand_for_the_rest),
	    cmocka_unit_test(what_it_cannot_do_is_refused),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
