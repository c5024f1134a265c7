/* Patterns of real programs on the simulated Haswell-EP: each has one trouble, and only that is found. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "model/uncertainty.h"
#include "observed.h"
#include "patterns/patterns.h"

static struct fm_machine_description machine;

static int set_up(void **state)
{
	struct fm_error error;

	(void)state;
	if (fm_description_read(MACHINES "/haswell-ep.machine", &machine, &error)) {
		print_error("%s\n", error.message);
		return -1;
	}
	/* the examples' data shall not fit */
	machine.caches[2].bytes /= 4;
	return 0;
}

/* Recordings of the test that runs: pictures refer to them. */
static struct fm_recording *recordings[64];
static unsigned recording_count;

static int forget(void **state)
{
	(void)state;
	while (recording_count)
		fm_recording_free(recordings[--recording_count]);
	return 0;
}

/* Of programs that several tests look at: each runs once. */
static struct {
	const char *path, *argument;
	struct fm_recording *recording;
} kept[16];
static unsigned kept_count;

static int forget_kept(void **state)
{
	(void)state;
	while (kept_count)
		fm_recording_free(kept[--kept_count].recording);
	return 0;
}

static struct fm_recording *recording_of(const char *path, const char *argument)
{
	char *arguments[] = {(char *)path, (char *)argument, NULL};

	for (unsigned i = 0; i < kept_count; i++)
		if (!strcmp(kept[i].path, path) && !kept[i].argument == !argument &&
		    (!argument || !strcmp(kept[i].argument, argument)))
			return kept[i].recording;
	assert_true(kept_count < sizeof(kept) / sizeof(kept[0]));
	kept[kept_count].path = path;
	kept[kept_count].argument = argument;
	kept[kept_count].recording =
	    observed(&machine, &(struct fm_observation){.program = arguments, .cores = "0-23", .timing = true});
	return kept[kept_count++].recording;
}

static struct fm_picture *picture_from(const struct fm_recording *recording, const char *region)
{
	struct fm_picture *picture = calloc(1, sizeof(*picture));

	fm_picture_build(recording, &(struct fm_part){.region = region, .thread = -1}, picture);
	return picture;
}

/* The picture of a region on these simulated cores. */
static struct fm_picture *picture_with(char *const *arguments, const char *region, const char *cores)
{
	struct fm_recording *recording =
	    observed(&machine, &(struct fm_observation){.program = arguments, .cores = cores, .timing = true});

	recordings[recording_count++] = recording;
	return picture_from(recording, region);
}

static void drop(struct fm_picture *picture)
{
	fm_picture_free(picture);
	free(picture);
}

static struct fm_picture *picture_of(const char *path, const char *argument)
{
	return picture_from(recording_of(path, argument), NULL);
}

static enum fm_verdict verdict_of(const struct fm_picture *picture, const char *name)
{
	struct fm_finding findings[FM_FINDINGS_MAX];
	unsigned count = fm_patterns_find(picture, findings);

	for (unsigned i = 0; i < count; i++)
		if (!strcmp(findings[i].name, name)) {
			print_message("  %s %s: %s\n", name, fm_verdict_name(findings[i].verdict),
			              findings[i].evidence);
			return findings[i].verdict;
		}
	fail_msg("there is no pattern %s", name);
	return FM_VERDICT_INCONCLUSIVE;
}

static void expect_of(struct fm_picture *picture, const char *const *present, const char *const *absent)
{
	for (; *present; present++)
		assert_int_equal(verdict_of(picture, *present), FM_VERDICT_PRESENT);
	for (; *absent; absent++)
		assert_int_equal(verdict_of(picture, *absent), FM_VERDICT_ABSENT);
	drop(picture);
}

static void expect(const char *path, const char *argument, const char *const *present, const char *const *absent)
{
	print_message("%s %s\n", strrchr(path, '/') + 1, argument ? argument : "");
	expect_of(picture_of(path, argument), present, absent);
}

#define LIST(...)                               \
	(const char *const[])                   \
	{                                       \
		__VA_ARGS__ __VA_OPT__(, ) NULL \
	}

static void streams_are_bound_by_bandwidth(void **state)
{
	(void)state;
	expect(EXAMPLES "stream", "6", LIST("bandwidth:memory"),
	       LIST("latency:memory", "erratic", "strided", "false-sharing", "imbalance", "tlb", "numa"));
}

static void chases_are_bound_by_latency(void **state)
{
	(void)state;
	expect(EXAMPLES "chase", NULL, LIST("latency:memory", "erratic"),
	       LIST("bandwidth:L2", "bandwidth:memory", "false-sharing", "imbalance", "instruction-throughput"));
}

static void arithmetic_is_bound_by_nothing_of_the_kind(void **state)
{
	(void)state;
	expect(EXAMPLES "compute", NULL, LIST("instruction-throughput", "code-composition"),
	       LIST("bandwidth:L2", "bandwidth:L3", "bandwidth:memory", "latency:L2", "latency:L3", "latency:memory",
	            "erratic", "false-sharing", "tlb"));
}

/* What waits for no memory at all has a cause too; what waits for memory does not have that one. */
static void dependent_operations_are_the_core_s(void **state)
{
	static const struct {
		const char *cycles;
		double other, active;
		enum fm_verdict verdict;
	} cases[] = {{"a chain of divisions", 70, 100, FM_VERDICT_PRESENT},
	             {"a stream", 2, 100, FM_VERDICT_ABSENT},
	             {"some of it", 17, 100, FM_VERDICT_INCONCLUSIVE},
	             {"nothing", 0, 0, FM_VERDICT_INCONCLUSIVE}};
	struct fm_picture *picture = picture_of(EXAMPLES "chase", NULL);

	(void)state;
	assert_int_equal(verdict_of(picture, "core"), FM_VERDICT_ABSENT);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		picture->active = fm_figure_make(cases[i].active, cases[i].active, cases[i].active, "cycles",
		                                 FM_ORIGIN_simulated, "exact", 1);
		picture->other_stall = fm_figure_make(cases[i].other, cases[i].other, cases[i].other, "cycles",
		                                      FM_ORIGIN_simulated, "exact", 1);
		print_message("%s\n", cases[i].cycles);
		assert_int_equal(verdict_of(picture, "core"), cases[i].verdict);
	}
	drop(picture);
}

static struct fm_finding finding_of(const struct fm_picture *picture, const char *name)
{
	struct fm_finding findings[FM_FINDINGS_MAX];
	unsigned count = fm_patterns_find(picture, findings);

	for (unsigned i = 0; i < count; i++)
		if (!strcmp(findings[i].name, name))
			return findings[i];
	fail_msg("there is no pattern %s", name);
	return findings[0];
}

static double confidence_of(const struct fm_picture *picture, const char *name)
{
	return finding_of(picture, name).confidence;
}

/* … and says so */
static bool is_doubtful(const struct fm_picture *picture, const char *name)
{
	struct fm_finding finding = finding_of(picture, name);

	assert_int_equal(finding.doubtful, strstr(finding.evidence, "doubtful") != NULL);
	return finding.doubtful;
}

/* A simulated core that is far too fast says that the program executes all it can: doubt is for that, too. */
static void doubt_is_for_all_that_rests_on_cycles(void **state)
{
	struct fm_picture *picture = picture_of(EXAMPLES "compute", NULL);
	double composition = confidence_of(picture, "code-composition");
	double throughput = confidence_of(picture, "instruction-throughput");
	double bandwidth = confidence_of(picture, "bandwidth:memory");

	(void)state;
	assert_false(is_doubtful(picture, "instruction-throughput"));
	picture->doubtful = true;
	assert_int_equal(verdict_of(picture, "instruction-throughput"), FM_VERDICT_PRESENT);
	assert_true(is_doubtful(picture, "instruction-throughput"));
	assert_true(is_doubtful(picture, "bandwidth:memory"));
	assert_true(confidence_of(picture, "instruction-throughput") < throughput);
	assert_true(confidence_of(picture, "bandwidth:memory") < bandwidth);
	/* instructions were counted */
	assert_true(confidence_of(picture, "code-composition") == composition);
	drop(picture);
}

static void false_sharing_is_found_and_gone(void **state)
{
	(void)state;
	expect(EXAMPLES "sharing", NULL, LIST("false-sharing"), LIST("bandwidth:memory", "imbalance"));
	expect(EXAMPLES "sharing", "padded", LIST(), LIST("false-sharing", "imbalance"));
}

/* The work of the threads is as 3 to 1, though the second executes more instructions while it spins. */
static void spinning_is_no_work(void **state)
{
	struct fm_picture *picture = picture_of(PROGRAMS "triangle", NULL);
	/* n/2 rows of n, n-1, … elements, and the rest */
	double rows = 1024, upper = rows / 2 * rows - rows / 2 * (rows / 2 - 1) / 2,
	       lower = rows * (rows + 1) / 2 - upper;

	(void)state;
	print_message("useful %lu and %lu (%.3f, true %.3f), instructions %lu and %lu\n",
	              (unsigned long)picture->per_thread[0].useful, (unsigned long)picture->per_thread[1].useful,
	              (double)picture->per_thread[0].useful / (double)picture->per_thread[1].useful, upper / lower,
	              (unsigned long)picture->per_thread[0].instructions,
	              (unsigned long)picture->per_thread[1].instructions);
	assert_near((double)picture->per_thread[0].useful / (double)picture->per_thread[1].useful, upper / lower,
	            0.01 * upper / lower);
	assert_int_equal(verdict_of(picture, "imbalance"), FM_VERDICT_PRESENT);
	drop(picture);
}

/* Producer and consumer: every line once per step, the line they synchronise by not counted; and it is no false
 * sharing. */
static void handed_over_lines_are_counted(void **state)
{
	(void)state;
	for (unsigned lines = 2; lines <= 1024; lines *= 2) {
		const struct fm_engine_options options = {.machine = &machine, .cores = "0-23"};
		char count[16], *arguments[] = {PROGRAMS "handover", count, NULL};
		struct fm_core_counts counts;
		struct fm_timing_counts timing;
		struct fm_engine_run run;
		struct fm_error error;
		const struct fm_result_object *data = NULL, *flag = NULL;
		uint64_t of_data = 0, of_flag = 0;
		double transfers, model = 100.0 * lines;

		snprintf(count, sizeof(count), "%u", lines);
		assert_int_equal(fm_engine_execute(&options, arguments, &run, &error), 0);
		assert_int_equal(run.exit_status, 0);
		fm_result_thread_counts(run.results, 1, &counts, &timing);
		for (unsigned i = 0; i < run.results->object_count; i++) {
			data = strcmp(run.results->objects[i].name, "lines") ? data : &run.results->objects[i];
			flag = strcmp(run.results->objects[i].name, "flag") ? flag : &run.results->objects[i];
		}
		assert_true(data && flag);
		for (unsigned i = 0; i < run.results->line_count; i++) {
			const struct fm_shared_line *line = &run.results->lines[i];

			if (line->line - data->begin < data->size) {
				of_data += line->modified;
				/* what moved was worth it */
				if (line->modified > 50)
					assert_true(run.results->line_users[i].true_transfers >
					            run.results->line_users[i].false_transfers);
			}
			if (line->line - flag->begin < flag->size)
				of_flag += line->modified;
		}
		/* the lines by themselves; of many, not all are listed: the consumer's, without its half of the flag's
		 */
		transfers = lines <= 128 ? (double)of_data : (double)counts.transfers_modified - (double)of_flag / 2;
		print_message("%4u lines a step: %.0f transfers, model %.0f (%+.1f %%)\n", lines, transfers, model,
		              100 * (transfers / model - 1));
		assert_near(transfers, model, 0.02 * model);
		fm_engine_run_free(&run);
	}
}

/* A kernel with its data in one level is bound by the bandwidth of that, a chase by its latency, and by no other. */
static void levels_are_told_apart(void **state)
{
	static const struct {
		char *kernel, *isa, *bytes, *count;
		const char *present;
	} cases[] = {
	    {"load", "2", "131072", "100", "bandwidth:L2"},     {"load", "2", "2097152", "6", "bandwidth:L3"},
	    {"load", "2", "16777216", "1", "bandwidth:memory"}, {"chase", "0", "131072", "20000", "latency:L2"},
	    {"chase", "0", "2097152", "40000", "latency:L3"},   {"chase", "0", "33554432", "30000", "latency:memory"}};
	static const char *const all[] = {"bandwidth:L2", "bandwidth:L3", "bandwidth:memory",
	                                  "latency:L2",   "latency:L3",   "latency:memory"};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *arguments[] = {KERNEL, cases[i].kernel, cases[i].isa, cases[i].bytes, cases[i].count, NULL};
		struct fm_picture *picture = picture_with(arguments, "work", "0");

		print_message("%s, %s bytes\n", cases[i].kernel, cases[i].bytes);
		for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++) {
			enum fm_verdict verdict = verdict_of(picture, all[k]);

			if (!strcmp(all[k], cases[i].present))
				assert_int_equal(verdict, FM_VERDICT_PRESENT);
			else
				assert_int_not_equal(verdict, FM_VERDICT_PRESENT);
		}
		drop(picture);
	}
}

/* Cleared and copied by the C library, which copies 200 MiB in another way than less: bound by the bandwidth of memory
 * and by nothing else. */
static void clearing_is_bound_by_bandwidth(void **state)
{
	static const char *const ways[][2] = {{"set", "64"}, {"copy", "200"}};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		char *arguments[] = {PROGRAMS "clear", (char *)ways[i][0], (char *)ways[i][1], NULL};

		print_message("%s\n", ways[i][0]);
		expect_of(picture_with(arguments, "work", "0"), LIST("bandwidth:memory"),
		          LIST("latency:memory", "latency:L3", "bandwidth:L2", "erratic", "strided", "tlb"));
	}
}

static void strides_waste_lines(void **state)
{
	char *arguments[] = {PROGRAMS "troubles", "strided", NULL};

	(void)state;
	expect_of(picture_with(arguments, "work", "0"), LIST("strided"),
	          LIST("erratic", "tlb", "numa", "latency:memory", "imbalance"));
}

static void pages_cost_translation(void **state)
{
	char *arguments[] = {PROGRAMS "troubles", "tlb", NULL};

	(void)state;
	expect_of(picture_with(arguments, "work", "0"), LIST("tlb"), LIST("bandwidth:L2", "bandwidth:memory", "numa"));
}

/* The same program with both threads on one socket, and on two. */
static void memory_is_far_away(void **state)
{
	char *arguments[] = {PROGRAMS "troubles", "numa", NULL};

	(void)state;
	expect_of(picture_with(arguments, "work", "0+12"), LIST("numa"), LIST("tlb", "erratic"));
	expect_of(picture_with(arguments, "work", "0+1"), LIST(), LIST("numa", "tlb", "erratic"));
}

/* Processor time against time, for as many threads as there are processors. */
static void waiting_is_told_from_working(void **state)
{
	static const struct {
		unsigned threads, cpus;
		double seconds, cpu_seconds;
		enum fm_verdict verdict;
	} cases[] = {{2, 2, 1, 0.6, FM_VERDICT_PRESENT},           {2, 2, 1, 1.95, FM_VERDICT_ABSENT},
	             {4, 2, 1, 1.95, FM_VERDICT_ABSENT},           {4, 8, 1, 1.95, FM_VERDICT_PRESENT},
	             {2, 2, 1, 1.6, FM_VERDICT_INCONCLUSIVE},      {1, 2, 1, 0.1, FM_VERDICT_ABSENT},
	             {2, 2, 0.005, 0.001, FM_VERDICT_INCONCLUSIVE}};
	struct fm_picture *picture = picture_of(EXAMPLES "sharing", "padded");
	struct fm_recording *recording = recording_of(EXAMPLES "sharing", "padded");
	const struct fm_recorded_native native = recording->native;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		picture->threads = cases[i].threads;
		recording->native = (struct fm_recorded_native){.runs = 3,
		                                                .cpus = cases[i].cpus,
		                                                .cpu_seconds = cases[i].cpu_seconds,
		                                                .busiest = cases[i].cpu_seconds / cases[i].seconds};
		recording->native.seconds = fm_figure_make(cases[i].seconds, cases[i].seconds, cases[i].seconds, "s",
		                                           FM_ORIGIN_measured, "native", 3);
		fm_synchronisation(recording, &(struct fm_core_counts){0}, picture);
		picture->signs.handing_over = fm_figure_make(0, 0, 0, "", FM_ORIGIN_measured, "native", 3);
		assert_int_equal(verdict_of(picture, "synchronisation"), cases[i].verdict);
	}
	recording->native = native;
	drop(picture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_teardown(streams_are_bound_by_bandwidth, forget),
	    cmocka_unit_test_teardown(chases_are_bound_by_latency, forget),
	    cmocka_unit_test_teardown(arithmetic_is_bound_by_nothing_of_the_kind, forget),
	    cmocka_unit_test_teardown(dependent_operations_are_the_core_s, forget),
	    cmocka_unit_test_teardown(doubt_is_for_all_that_rests_on_cycles, forget),
	    cmocka_unit_test_teardown(false_sharing_is_found_and_gone, forget),
	    cmocka_unit_test_teardown(spinning_is_no_work, forget),
	    cmocka_unit_test_teardown(handed_over_lines_are_counted, forget),
	    cmocka_unit_test_teardown(levels_are_told_apart, forget),
	    cmocka_unit_test_teardown(clearing_is_bound_by_bandwidth, forget),
	    cmocka_unit_test_teardown(strides_waste_lines, forget),
	    cmocka_unit_test_teardown(pages_cost_translation, forget),
	    cmocka_unit_test_teardown(memory_is_far_away, forget),
	    cmocka_unit_test_teardown(waiting_is_told_from_working, forget),
	};

	return cmocka_run_group_tests(tests, set_up, forget_kept);
}
