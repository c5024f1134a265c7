/* Scaling: lists of numbers, fits and verdicts, on invented recordings with a known answer. */
#include "check.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scale/fit.h"
#include "scale/scale.h"

static void lists(void **state)
{
	struct fm_scale_counts counts;
	struct fm_error error;
	static const char *const wrong[] = {"", "0", "1,", "4-2", "1-", "a", "2x", "2000", "1-40", "-1"};

	(void)state;
	assert_int_equal(fm_scale_counts_parse("4,1,2,4", &counts, &error), 0);
	assert_int_equal(counts.count, 3);
	assert_int_equal(counts.values[0], 1);
	assert_int_equal(counts.values[2], 4);
	assert_int_equal(fm_scale_counts_parse("1-64:16", &counts, &error), 0);
	assert_int_equal(counts.count, 5);
	assert_int_equal(counts.values[1], 16);
	assert_int_equal(counts.values[4], 64);
	counts = fm_scale_counts_default(6, true);
	assert_int_equal(counts.count, 4);
	assert_int_equal(counts.values[3], 6);
	assert_int_equal(fm_scale_counts_default(2, true).count, 3);
	assert_int_equal(fm_scale_counts_default(2, false).count, 2);
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_int_equal(fm_scale_counts_parse(wrong[i], &counts, &error), -EINVAL);
}

static void placeholders(void **state)
{
	static char *const program[] = {"run", "-t{threads}x{threads}", "{threads", NULL};
	char **made = fm_scale_program(program, 12);

	(void)state;
	assert_true(fm_scale_has_placeholder(program));
	assert_string_equal(made[0], "run");
	assert_string_equal(made[1], "-t12x12");
	assert_string_equal(made[2], "{threads");
	assert_null(made[3]);
	fm_scale_program_free(made);
}

static void variables(void **state)
{
	(void)state;
	setenv("OMP_NUM_THREADS", "7", 1);
	unsetenv("GOMAXPROCS");
	fm_scale_set_variables(NULL, 3);
	assert_string_equal(getenv("OMP_NUM_THREADS"), "3");
	assert_string_equal(getenv("GOMAXPROCS"), "3");
	fm_scale_set_variables(NULL, 0);
	assert_string_equal(getenv("OMP_NUM_THREADS"), "7");
	assert_null(getenv("GOMAXPROCS"));
}

/* Points on a law give its parameters back. */
static void fits(void **state)
{
	struct fm_scale_point points[5];
	struct fm_scale_fit fit;

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		double n = 1 << i;

		points[i] = (struct fm_scale_point){n, 1 / (0.2 + 0.8 / n), 0.01};
	}
	fm_scale_fit(points, 5, &fit);
	assert_true(fabs(fit.serial_share.value - 0.2) < 1e-9 && fit.serial_share.low <= 0.2 &&
	            0.2 <= fit.serial_share.high);
	assert_true(fabs(fit.contention.value - 0.2) < 1e-9 && fabs(fit.coherence.value) < 1e-9);
	for (unsigned i = 0; i < 5; i++) {
		double n = points[i].threads;

		points[i].speedup = n / (1 + 0.05 * (n - 1) + 0.01 * n * (n - 1));
	}
	fm_scale_fit(points, 5, &fit);
	assert_true(fabs(fit.contention.value - 0.05) < 1e-9 && fabs(fit.coherence.value - 0.01) < 1e-9);
	fm_scale_fit(points, 1, &fit);
	assert_false(fit.serial_share.available);
	fm_scale_fit(points, 2, &fit);
	assert_true(fit.serial_share.available && !fit.contention.available);
}

static const unsigned numbers[] = {1, 2, 4};

static struct fm_recording *invent(void)
{
	struct fm_recording *recording = fm_recording_create();
	struct fm_recorded_scale *how = fm_recording_add(recording, scales);

	snprintf(how->by, sizeof(how->by), "threads");
	how->cpus = 4;
	return recording;
}

/* Three equal rounds of runs with one number. `least` of the threads work for `ran` seconds each, the busiest for
   `busiest`. */
static void add_runs(struct fm_recording *recording, unsigned count, double seconds, double cpu, double busiest,
                     double alone, double alone_longest)
{
	for (unsigned round = 1; round <= 6; round++) {
		struct fm_recorded_scale_run *run = fm_recording_add(recording, scale_runs);

		*run = (struct fm_recorded_scale_run){.count = count,
		                                      .round = round,
		                                      .seconds = seconds,
		                                      .cpu_seconds = cpu,
		                                      .busiest = busiest,
		                                      .worked = cpu,
		                                      .workers = count,
		                                      .threads = count,
		                                      .alone = alone,
		                                      .alone_longest = alone_longest};
	}
}

static void add_level(struct fm_recording *recording, unsigned count, double bytes, double peak)
{
	struct fm_recorded_scale_level *level = fm_recording_add(recording, scale_levels);

	recording->scales[0].simulated = true;
	level->count = count;
	snprintf(level->name, sizeof(level->name), "memory");
	level->bytes = fm_figure_make(bytes, bytes, bytes, "B", FM_ORIGIN_simulated, "exact", 1);
	level->peak_gbs = fm_figure_make(peak, peak, peak, "GB/s", FM_ORIGIN_simulated, "exact", 1);
	level->wait = fm_figure_unavailable("invented");
}

static void expect_cause(struct fm_recording *recording, enum fm_scale_cause cause)
{
	struct fm_scale *scale;
	struct fm_error error;

	assert_int_equal(fm_scale_analyse(recording, &scale, &error), 0);
	assert_string_equal(fm_scale_cause_name(scale->verdict.cause), fm_scale_cause_name(cause));
	for (unsigned i = 0; i < scale->count; i++) {
		double sum = 0;

		for (unsigned part = 0; part < FM_SCALE_PARTS; part++) {
			assert_true(scale->counts[i].share[part] >= 0);
			sum += scale->counts[i].share[part];
		}
		assert_true(fabs(sum - 1) < 1e-9);
	}
	fm_scale_free(scale);
	fm_recording_free(recording);
}

static void scaling(void **state)
{
	struct fm_recording *recording = invent();

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		add_runs(recording, numbers[i], 8.0 / numbers[i], 8, 8.0 / numbers[i], 0, 0);
	expect_cause(recording, FM_SCALE_CAUSE_scaling);
}

/* A fifth of the work is done by one thread: 1.6 s, whatever the number. */
static void serial(void **state)
{
	struct fm_recording *recording = invent();

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		double team = 6.4 / numbers[i];

		add_runs(recording, numbers[i], 1.6 + team, 8, 1.6 + team, 1.6, 1.6);
	}
	expect_cause(recording, FM_SCALE_CAUSE_serial);
}

/* The upper triangle in blocks of rows: of n threads the busiest has (2n - 1) / n² of the work. */
static void triangle(void **state)
{
	struct fm_recording *recording = invent();

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		double n = numbers[i], busiest = 8 * (2 * n - 1) / (n * n),
		       second = n > 1 ? 8 * (2 * n - 3) / (n * n) : busiest;

		add_runs(recording, numbers[i], busiest, 8, busiest, busiest - second, busiest - second);
	}
	expect_cause(recording, FM_SCALE_CAUSE_imbalanced);
}

/* One lock around all work: threads take turns. */
static void lock(void **state)
{
	struct fm_recording *recording = invent();

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		add_runs(recording, numbers[i], 8, 8, 8.0 / numbers[i], 8, 8.0 / numbers[i]);
	expect_cause(recording, FM_SCALE_CAUSE_synchronising);
}

/* No speed-up, all threads busy: saturated where the traffic is that of the level's peak, otherwise not known. */
static void saturated(void **state)
{
	(void)state;
	for (unsigned known = 0; known < 2; known++) {
		struct fm_recording *recording = invent();

		for (unsigned i = 0; i < 3; i++) {
			add_runs(recording, numbers[i], 8, 8.0 * numbers[i], 8, 0, 0);
			add_level(recording, numbers[i], 78e9, known ? 10 : 100);
		}
		expect_cause(recording, known ? FM_SCALE_CAUSE_saturated : FM_SCALE_CAUSE_inconclusive);
	}
}

/* Four threads on two processors, which scale up to two. */
static void oversubscribed(void **state)
{
	struct fm_recording *recording = invent();

	(void)state;
	recording->scales[0].asked = true;
	recording->scales[0].cpus = 2;
	for (unsigned i = 0; i < 3; i++)
		add_runs(recording, numbers[i], i ? 4 : 8, 8, 8.0 / numbers[i], 0, 0);
	for (size_t i = 0; i < recording->scale_runs_count; i++)
		if (recording->scale_runs[i].count == 4)
			recording->scale_runs[i].delayed = 8;
	expect_cause(recording, FM_SCALE_CAUSE_oversubscribed);
}

/* Other programs have the processors: no verdict. */
static void disturbed(void **state)
{
	struct fm_recording *recording = invent();

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		add_runs(recording, numbers[i], 8, 8, 8.0 / numbers[i], 0, 0);
	for (size_t i = 0; i < recording->scale_runs_count; i++)
		recording->scale_runs[i].delayed = 8.0 * (recording->scale_runs[i].count - 1);
	expect_cause(recording, FM_SCALE_CAUSE_inconclusive);
}

/* The program has one thread for every number. */
static void ignored(void **state)
{
	struct fm_recording *recording = invent();

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		add_runs(recording, numbers[i], 8, 8, 8, 8, 8);
	for (size_t i = 0; i < recording->scale_runs_count; i++)
		recording->scale_runs[i].workers = recording->scale_runs[i].threads = 1;
	expect_cause(recording, FM_SCALE_CAUSE_inconclusive);
}

static void nothing(void **state)
{
	struct fm_recording *recording = fm_recording_create();
	struct fm_scale *scale;
	struct fm_error error;

	(void)state;
	assert_int_equal(fm_scale_analyse(recording, &scale, &error), -EINVAL);
	fm_recording_free(recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(lists),     cmocka_unit_test(placeholders),   cmocka_unit_test(variables),
	    cmocka_unit_test(fits),      cmocka_unit_test(scaling),        cmocka_unit_test(serial),
	    cmocka_unit_test(triangle),  cmocka_unit_test(lock),           cmocka_unit_test(saturated),
	    cmocka_unit_test(disturbed), cmocka_unit_test(oversubscribed), cmocka_unit_test(ignored),
	    cmocka_unit_test(nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
