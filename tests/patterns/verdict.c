/* The one verdict about a program, on invented pictures. */
#include "check.h"

#include <string.h>

#include "patterns/analysis.h"

static struct fm_recording recording;
static struct fm_analysis *analysis;
static struct fm_program_verdict verdict;

static struct fm_figure share(double value, double half)
{
	return fm_figure_make(value, value > half ? value - half : 0, value + half, "", FM_ORIGIN_combined, "test", 9);
}

/* A program of one thread and 2 s, all of them on its processor, that only calculates. */
static int begin(void **unused)
{
	static const char *const names[] = {"L1", "L2", "L3", "memory"};
	struct fm_picture *picture;

	(void)unused;
	memset(&recording, 0, sizeof(recording));
	recording.native =
	    (struct fm_recorded_native){.runs = 1, .seconds = share(2, 0.1), .cpu_seconds = 2, .share_seconds = 2};
	analysis = calloc(1, sizeof(*analysis));
	assert_non_null(analysis);
	analysis->recording = &recording;
	picture = &analysis->whole.picture;
	picture->recording = &recording;
	picture->threads = 1;
	picture->level_count = 4;
	picture->active = share(1e9, 0);
	picture->memory_bound = share(0, 0);
	picture->signs.translation = picture->signs.supply = picture->signs.remote = share(0, 0);
	picture->fault_seconds = fm_figure_unavailable("none");
	picture->off = fm_figure_unavailable("none");
	picture->laboratory.waiting = fm_figure_unavailable("none");
	for (unsigned i = 0; i < 4; i++) {
		strcpy(picture->levels[i].name, names[i]);
		picture->levels[i].bandwidth_share = picture->levels[i].latency_share = share(0, 0);
		picture->levels[i].gbs = picture->levels[i].peak_gbs = fm_figure_unavailable("none");
		picture->levels[i].utilisation = share(0, 0);
	}
	return 0;
}

static int end(void **unused)
{
	(void)unused;
	free(analysis);
	return 0;
}

static void wait_for(unsigned level, bool bandwidth, double value, double half)
{
	struct fm_picture *picture = &analysis->whole.picture;

	*(bandwidth ? &picture->levels[level].bandwidth_share : &picture->levels[level].latency_share) =
	    share(value, half);
	picture->memory_bound.value += 1e9 * value;
	picture->memory_bound.low += 1e9 * (value - half);
	picture->memory_bound.high += 1e9 * (value + half);
}

static void find(void)
{
	fm_verdict_find(analysis, &verdict);
	assert_true(verdict.confidence >= 0 && verdict.confidence <= 1);
	assert_true(!verdict.share.available || verdict.share.value <= 1);
	assert_true(verdict.worth <= 1 && verdict.worth_high <= 1);
}

static void the_largest_cause_leads(void **unused)
{
	(void)unused;
	wait_for(3, false, 0.6, 0.05);
	wait_for(2, true, 0.15, 0.03);
	find();
	assert_string_equal(verdict.cause, "latency:memory");
	assert_near(verdict.share.value, 0.6, 1e-9);
	assert_near(verdict.worth, 0.6, 1e-9);
	assert_int_equal(verdict.rival_count, 2);
	assert_string_equal(verdict.rivals[0].cause, "compute");
	assert_string_equal(verdict.rivals[1].cause, "bandwidth:L3");
	/* a way of measuring that was never calibrated, so not certain */
	assert_true(verdict.confidence > 0.7 && verdict.confidence <= 0.8);
}

static void calculation_is_worth_nothing_certain(void **unused)
{
	(void)unused;
	wait_for(3, false, 0.1, 0.02);
	find();
	assert_string_equal(verdict.cause, "compute");
	assert_near(verdict.share.value, 0.9, 1e-6);
	assert_near(verdict.worth, 0, 1e-9);
	analysis->whole.picture.signs.supply = share(0.6, 0.05);
	find();
	assert_string_equal(verdict.cause, "branches");
}

static void equals_are_inconclusive(void **unused)
{
	(void)unused;
	wait_for(3, false, 0.45, 0.2);
	wait_for(3, true, 0.45, 0.2);
	find();
	/* by chance one or the other is larger: no better than a coin */
	assert_true(verdict.confidence <= 0.5 + 1e-9);
	wait_for(2, true, 0, 0);
	analysis->whole.picture.levels[3].latency_share = fm_figure_unavailable("unknown");
	analysis->whole.picture.levels[3].bandwidth_share = share(0.15, 0.15);
	analysis->whole.picture.memory_bound = share(0.85e9, 0.1e9);
	find();
	assert_string_equal(verdict.cause, "inconclusive");
	assert_true(*verdict.settle != 0);
}

static void sleep_and_files_are_io(void **unused)
{
	(void)unused;
	recording.native.cpu_seconds = 0.1;
	find();
	assert_string_equal(verdict.cause, "io");
	assert_near(verdict.share.value, 0.95, 0.01);
	/* first touches of pages are not */
	recording.native.cpu_seconds = 2;
	recording.native.kernel_share = 0.6;
	find();
	assert_string_equal(verdict.cause, "io");
	analysis->whole.picture.fault_seconds = share(1.2, 0.1);
	find();
	assert_string_equal(verdict.cause, "compute");
}

/* A level at its peak is the limit, though the simulated core hardly waits; not where the laboratory measured. */
static void a_level_at_its_peak_is_the_limit(void **unused)
{
	(void)unused;
	analysis->whole.picture.levels[3].utilisation = share(0.95, 0.05);
	wait_for(3, true, 0.1, 0.05);
	find();
	assert_string_equal(verdict.cause, "bandwidth:memory");
	analysis->whole.picture.laboratory.used = true;
	analysis->whole.picture.laboratory.waiting = share(0.1, 0.05);
	find();
	assert_string_equal(verdict.cause, "compute");
}

static void threads_that_wait(void **unused)
{
	struct fm_picture_team *team = &analysis->whole.picture.team;

	(void)unused;
	team->known = true;
	team->workers = 8;
	team->worked = share(0.3, 0.02);
	team->true_sharing = share(0.1, 0.02);
	team->false_sharing = share(0, 0.01);
	team->waiting = share(0.6, 0.03);
	team->uneven = share(0.1, 0.03);
	find();
	assert_string_equal(verdict.cause, "synchronisation");
	assert_near(verdict.share.value, 0.5, 1e-9);
	team->uneven = share(0.65, 0.03);
	team->waiting = share(0.05, 0.03);
	find();
	assert_string_equal(verdict.cause, "imbalance");
	/* half of two processors' time cannot be lost */
	team->worked = share(0.7, 0.02);
	team->true_sharing = share(0, 0.01);
	team->uneven = share(0.28, 0.02);
	find();
	assert_string_equal(verdict.cause, "imbalance");
	assert_string_equal(verdict.rivals[0].cause, "compute");
	team->uneven = share(0.2, 0.03);
	find();
	assert_string_equal(verdict.cause, "compute");
	team->false_sharing = share(0.8, 0.05);
	team->uneven = share(0, 0.03);
	find();
	assert_string_equal(verdict.cause, "false-sharing");
	assert_true(verdict.confidence > 0.6);
	/* a tenth of a second is mostly beginning and end */
	recording.native.seconds = share(0.1, 0.01);
	recording.native.cpu_seconds = recording.native.share_seconds = 0.2;
	find();
	assert_string_equal(verdict.cause, "false-sharing");
	assert_true(verdict.confidence <= 0.6);
}

/* An error of the predicted time, in both directions, is an error of the waiting. */
static void waiting_fills_the_measured_time(void **unused)
{
	(void)unused;
	wait_for(3, false, 0.2, 0.05);
	analysis->whole.picture.off = share(-0.6, 0.05);
	find();
	assert_string_equal(verdict.cause, "latency:memory");
	assert_near(verdict.share.value, 0.68, 1e-6); /* 1 - 0.4 * 0.8 */
	analysis->whole.picture.levels[3].latency_share = share(0.6, 0.05);
	analysis->whole.picture.memory_bound = share(0.6e9, 0.05e9);
	analysis->whole.picture.off = share(0.5, 0.05);
	find();
	/* 1.5 * 0.4 calculate */
	assert_near(verdict.share.value, 0.6, 1e-6);
	assert_string_equal(verdict.cause, "compute");
}

/* The threads of a program of a millisecond have no positions: patterns decide, or nothing does. */
static void without_positions_patterns_decide(void **unused)
{
	struct fm_finding *findings = analysis->whole.findings;

	(void)unused;
	analysis->whole.picture.threads = 2;
	analysis->whole.finding_count = 2;
	findings[0] = (struct fm_finding){.name = "false-sharing",
	                                  .verdict = FM_VERDICT_PRESENT,
	                                  .confidence = 0.88,
	                                  .evidence = "nearly all transfers",
	                                  .advice = "pad"};
	findings[1] = (struct fm_finding){.name = "synchronisation", .verdict = FM_VERDICT_INCONCLUSIVE, .advice = ""};
	find();
	assert_string_equal(verdict.cause, "false-sharing");
	assert_near(verdict.confidence, 0.88, 1e-9);
	assert_string_equal(verdict.sentence, "nearly all transfers");
	assert_false(verdict.share.available);
	assert_near(verdict.worth, 0, 1e-9);
	findings[0].verdict = FM_VERDICT_ABSENT;
	find();
	assert_string_equal(verdict.cause, "inconclusive");
	findings[1].verdict = FM_VERDICT_ABSENT;
	find();
	assert_string_equal(verdict.cause, "compute");
	/* a main thread that only waits for one worker loses nothing */
	findings[1].verdict = FM_VERDICT_INCONCLUSIVE;
	analysis->whole.picture.team.workers = 1;
	find();
	assert_string_equal(verdict.cause, "compute");
}

/* Calculation is what is left over: no sure verdict if most of that is not explained, or if a level is busy. */
static void calculation_can_be_contested(void **unused)
{
	struct fm_picture *picture = &analysis->whole.picture;
	double sure;

	(void)unused;
	picture->laboratory.used = true;
	find();
	assert_string_equal(verdict.cause, "compute");
	sure = verdict.confidence;
	picture->off = share(-0.88, 0.02);
	find();
	assert_string_equal(verdict.cause, "compute");
	assert_true(verdict.confidence < sure && verdict.confidence <= 0.6);
	picture->off = share(-0.1, 0.02);
	picture->levels[1].utilisation = share(0.75, 0.1);
	find();
	assert_string_equal(verdict.cause, "compute");
	assert_true(verdict.confidence < sure && verdict.confidence <= 0.6);
	assert_int_equal(verdict.contradiction_count, 1);
	assert_non_null(strstr(verdict.contradictions[0], "L2 runs at 75 % of its peak"));
}

/* Time that the simulation explains neither by calculation nor by waiting. */
static void unexplained_time_waits_for_a_busy_level(void **unused)
{
	struct fm_picture *picture = &analysis->whole.picture;

	(void)unused;
	picture->off = share(-0.6, 0.02);
	picture->levels[2].utilisation = share(0.1, 0.05);
	picture->levels[3].utilisation = share(0.43, 0.15);
	find();
	assert_string_equal(verdict.cause, "bandwidth:memory");
	assert_near(verdict.share.value, 0.6, 0.01);
	assert_true(verdict.share.low < 0.3);
	picture->levels[3].utilisation = share(0.2, 0.1);
	find();
	assert_true(strcmp(verdict.cause, "compute") != 0 || verdict.confidence <= 0.6);
}

/* The kernel starts Fathom's memory with each process. */
static void short_processes_hide_the_kernel_time(void **unused)
{
	static struct fm_recorded_process processes[200];

	(void)unused;
	recording.processes = processes;
	recording.native.kernel_share = 0.8;
	recording.processes_count = 5;
	find();
	assert_string_equal(verdict.cause, "io");
	assert_true(verdict.confidence > 0.6);
	recording.processes_count = 200;
	find();
	assert_true(verdict.confidence <= 0.6);
	assert_non_null(strstr(verdict.contradictions[0], "200 short processes"));
}

static void contradictions_are_shown(void **unused)
{
	struct fm_picture *picture = &analysis->whole.picture;

	(void)unused;
	wait_for(3, false, 0.6, 0.05);
	picture->laboratory.used = true;
	picture->laboratory.waiting = share(0.6, 0.05);
	picture->laboratory.simulated = 0.1;
	picture->off = share(0.8, 0.1);
	analysis->whole.finding_count = 1;
	analysis->whole.findings[0] =
	    (struct fm_finding){.name = "latency:memory", .verdict = FM_VERDICT_ABSENT, .level = 3, .advice = ""};
	find();
	assert_int_equal(verdict.contradiction_count, 3);
	assert_true(verdict.confidence <= 0.5);
	assert_int_equal(verdict.evidence_count, 2);
	assert_string_equal(verdict.evidence[0].method, "laboratory");
}

static void a_pattern_confirms(void **unused)
{
	(void)unused;
	wait_for(3, false, 0.9, 0.02);
	analysis->whole.finding_count = 1;
	analysis->whole.findings[0] = (struct fm_finding){
	    .name = "latency:memory", .verdict = FM_VERDICT_PRESENT, .level = 3, .confidence = 0.96, .advice = "less"};
	find();
	assert_near(verdict.confidence, 0.96, 1e-9);
	assert_string_equal(verdict.advice, "less");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(the_largest_cause_leads, begin, end),
	    cmocka_unit_test_setup_teardown(calculation_is_worth_nothing_certain, begin, end),
	    cmocka_unit_test_setup_teardown(equals_are_inconclusive, begin, end),
	    cmocka_unit_test_setup_teardown(sleep_and_files_are_io, begin, end),
	    cmocka_unit_test_setup_teardown(a_level_at_its_peak_is_the_limit, begin, end),
	    cmocka_unit_test_setup_teardown(threads_that_wait, begin, end),
	    cmocka_unit_test_setup_teardown(waiting_fills_the_measured_time, begin, end),
	    cmocka_unit_test_setup_teardown(without_positions_patterns_decide, begin, end),
	    cmocka_unit_test_setup_teardown(calculation_can_be_contested, begin, end),
	    cmocka_unit_test_setup_teardown(unexplained_time_waits_for_a_busy_level, begin, end),
	    cmocka_unit_test_setup_teardown(short_processes_hide_the_kernel_time, begin, end),
	    cmocka_unit_test_setup_teardown(contradictions_are_shown, begin, end),
	    cmocka_unit_test_setup_teardown(a_pattern_confirms, begin, end)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
