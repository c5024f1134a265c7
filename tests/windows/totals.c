/* What windows say of a whole run, on runs whose total is known. */
#include "check.h"

#include <math.h>
#include <string.h>

#include "base/random.h"
#include "windows/totals.h"

enum { RUN = 1000000000, WINDOW = 100000, TRIALS = 400 };

/* A run: so many of something per instruction at each place, 0 … 1, of its course; and its total. */
struct course {
	double (*rate)(double at);
	double mean;
};

static double even(double at)
{
	(void)at;
	return 0.25;
}

static double phases(double at)
{
	return at < 0.3 ? 0.5 : at < 0.7 ? 0.01 : 0.2;
}

static double rising(double at)
{
	return at;
}

/* Alternates far more finely than windows are apart, with a period that no window knows. */
static double alternating(double at)
{
	return fmod(at * 1777.7, 1) < 0.3 ? 1 : 0;
}

static const struct course courses[] = {
    {even, 0.25}, {phases, 0.3 * 0.5 + 0.4 * 0.01 + 0.3 * 0.2}, {rising, 0.5}, {alternating, 0.3}};

/* Windows at random places, one in each of `count` equal parts. */
static double *look(struct fm_recording *recording, const struct course *course, unsigned count,
                    struct fm_random *random)
{
	double *values = calloc(count, sizeof(*values));
	struct fm_recorded_process *process;

	memset(recording, 0, sizeof(*recording));
	process = fm_recording_add(recording, processes);
	process->instructions = RUN;
	for (unsigned i = 0; i < count; i++) {
		struct fm_recorded_window *window = fm_recording_add(recording, windows);
		double at = (i + fm_random_uniform(random)) / count;

		window->executed = (uint64_t)(at * RUN);
		window->work.instructions = WINDOW;
		values[i] = WINDOW * course->rate(at);
	}
	return values;
}

static void forget(struct fm_recording *recording, double *values)
{
	free(values);
	free(recording->windows);
	free(recording->processes);
}

static void what_does_not_change_is_exact(void **state)
{
	struct fm_recording recording;
	struct fm_random random;
	struct fm_window_total total;
	double *values;

	(void)state;
	fm_random_seed(&random, 1);
	values = look(&recording, &courses[0], 10, &random);
	total = fm_windows_sum(&recording, values);
	assert_true(fabs(total.value - 0.25 * RUN) < 1);
	/* but what lies between ten windows is not known */
	assert_true(fabs(fm_window_half_width(&total) - total.value / 10) < 1);
	assert_int_equal(total.windows, 10);
	forget(&recording, values);
}

static void few_windows_say_nothing(void **state)
{
	struct fm_recording recording;
	struct fm_random random;
	struct fm_window_total total;
	double *values;

	(void)state;
	fm_random_seed(&random, 2);
	values = look(&recording, &courses[0], FM_WINDOWS_LEAST - 1, &random);
	total = fm_windows_sum(&recording, values);
	assert_true(isinf(fm_window_half_width(&total)));
	forget(&recording, values);
}

static void intervals_hold(void **state)
{
	struct fm_random random;

	(void)state;
	fm_random_seed(&random, 3);
	for (unsigned c = 1; c < sizeof(courses) / sizeof(courses[0]); c++)
		for (unsigned count = 10; count <= 200; count *= 4) {
			unsigned held = 0;
			double bias = 0;

			for (unsigned trial = 0; trial < TRIALS; trial++) {
				struct fm_recording recording;
				double *values = look(&recording, &courses[c], count, &random),
				       truth = courses[c].mean * RUN;
				struct fm_window_total total = fm_windows_sum(&recording, values);

				held += fabs(total.value - truth) <= fm_window_half_width(&total);
				bias += total.value / truth - 1;
				forget(&recording, values);
			}
			if (held < TRIALS * 92 / 100)
				fail_msg("course %u, %u windows: %u of %d intervals hold", c, count, held, TRIALS);
			if (fabs(bias / TRIALS) > 0.03)
				fail_msg("course %u, %u windows: off by %.3f on average", c, count, bias / TRIALS);
		}
}

/* Windows are spread over the time. In the first half of it, one instruction of a hundred is executed, and only these
   do something. The gap in which the pace changes holds more fast instructions than there are slow ones altogether. */
static void slow_phases_are_told_apart(void **state)
{
	enum { WINDOWS = 40, SECONDS = 10 };
	const double slow = 0.01 * RUN, fast = 0.99 * RUN, of_each = 0.3;
	double bias = 0, width = 0, widest = 0;
	struct fm_random random;
	unsigned held = 0;

	(void)state;
	fm_random_seed(&random, 5);
	for (unsigned trial = 0; trial < TRIALS; trial++) {
		struct fm_recording recording;
		double *values = look(&recording, &courses[0], WINDOWS, &random), half;
		struct fm_window_total total;

		for (unsigned i = 0; i < WINDOWS; i++) {
			struct fm_recorded_window *window = &recording.windows[i];
			double at = (i + fm_random_uniform(&random)) / WINDOWS;

			window->began = window->ended = at * SECONDS;
			window->executed = (uint64_t)(at < 0.5 ? 2 * at * slow : slow + (2 * at - 1) * fast);
			values[i] = at < 0.5 ? WINDOW * of_each * (0.9 + 0.2 * fm_random_uniform(&random)) : 0;
		}
		total = fm_windows_sum(&recording, values);
		half = fm_window_half_width(&total);
		held += fabs(total.value - of_each * slow) <= half;
		bias += total.value / (of_each * slow) - 1;
		width += half / (of_each * slow);
		widest = fmax(widest, half / (of_each * slow));
		forget(&recording, values);
	}
	if (held < TRIALS * 92 / 100)
		fail_msg("%u of %d intervals hold", held, TRIALS);
	if (fabs(bias / TRIALS) > 0.02)
		fail_msg("off by %.3f on average", bias / TRIALS);
	if (width / TRIALS > 0.15 || widest > 0.3)
		fail_msg("half-width %.3f in the mean, %.3f at most", width / TRIALS, widest);
}

/* Each process has its own course. */
static void processes_are_added(void **state)
{
	struct fm_recording recording;
	struct fm_random random;
	struct fm_window_total first, both;
	double *values;

	(void)state;
	fm_random_seed(&random, 4);
	values = look(&recording, &courses[2], 40, &random);
	first = fm_windows_sum(&recording, values);
	((struct fm_recorded_process *)fm_recording_add(&recording, processes))->instructions = 2 * (uint64_t)RUN;
	values = realloc(values, 80 * sizeof(*values));
	for (unsigned i = 0; i < 40; i++) {
		struct fm_recorded_window *window = fm_recording_add(&recording, windows);

		*window = recording.windows[i];
		window->process = 1;
		window->executed *= 2;
		values[40 + i] = values[i];
	}
	both = fm_windows_sum(&recording, values);
	assert_true(fabs(both.value / first.value - 3) < 1e-6);
	assert_int_equal(both.windows, 80);
	forget(&recording, values);
}

/* Two thirds of the windows are in plain code, which has nine tenths of the instructions, and one third in string
   instructions: each kind stands for what was counted of it. */
static void string_lines_have_their_weight(void **state)
{
	enum { WINDOWS = 30, LINES = RUN / 10 };
	struct fm_recording recording = {0};
	struct fm_recorded_process *process = fm_recording_add(&recording, processes);
	double plain[WINDOWS] = {0}, strings[WINDOWS] = {0};

	(void)state;
	process->instructions = RUN - LINES;
	process->string_lines = LINES;
	for (unsigned i = 0; i < WINDOWS; i++) {
		struct fm_recorded_window *window = fm_recording_add(&recording, windows);

		window->executed = (uint64_t)RUN / WINDOWS * (i + 1);
		window->began = window->ended = i;
		if (i % 3)
			plain[i] = (double)(window->work.instructions = WINDOW);
		else
			strings[i] = (double)(window->string_lines = 50 * WINDOW);
	}
	assert_true(fabs(fm_windows_total(&recording, 0, plain).value / (RUN - LINES) - 1) < 1e-6);
	assert_true(fabs(fm_windows_total(&recording, 0, strings).value / LINES - 1) < 1e-6);
	forget(&recording, NULL);
}

/* One window per second, each with 10⁹ instructions around it, at 1 GHz: the limit of one thread is two cycles for each
   instruction. */
static void cycles_are_limited_by_time(void **state)
{
	enum { WINDOWS = 5 };
	static const double cycles[WINDOWS] = {1, 4, 2, 8, 0}; /* per instruction */
	struct fm_recording recording = {.machine = {.frequency_ghz = 1}};
	double factors[WINDOWS];

	(void)state;
	((struct fm_recorded_process *)fm_recording_add(&recording, processes))->instructions = 5500000000;
	fm_recording_add(&recording, threads);
	for (unsigned i = 0; i < WINDOWS; i++) {
		struct fm_recorded_window *window = fm_recording_add(&recording, windows);

		window->executed = 500000000 + 1000000000ull * i;
		window->began = window->ended = i;
		window->work.instructions = WINDOW;
		window->timing.instructions = cycles[i] > 0 ? WINDOW : 0;
		window->timing.cycles = (uint64_t)(cycles[i] * WINDOW);
	}
	fm_windows_limit_cycles(&recording, 0, factors);
	assert_near(factors[0], 1, 1e-9);
	assert_near(factors[1], 0.5, 1e-9);
	assert_near(factors[2], 1, 1e-9);
	assert_near(factors[3], 0.25, 1e-9);
	/* without timing it is like the one before; 1.5 × 10⁹ instructions */
	assert_near(factors[4], 0.25 / 1.5, 1e-9);
	/* four threads have four times the cycles */
	for (unsigned i = 0; i < 3; i++)
		fm_recording_add(&recording, threads);
	fm_windows_limit_cycles(&recording, 0, factors);
	assert_near(factors[1], 1, 1e-9);
	assert_near(factors[3], 1, 1e-9);
	free(recording.threads);
	forget(&recording, NULL);
}

static void unseen_instructions_are_added(void **state)
{
	struct fm_recording recording = {0};

	(void)state;
	assert_false(fm_windows_used(&recording));
	((struct fm_recorded_process *)fm_recording_add(&recording, processes))->unseen = 5;
	((struct fm_recorded_process *)fm_recording_add(&recording, processes))->unseen = 7;
	assert_near(fm_windows_unseen(&recording), 12, 0);
	/* windows were wanted, and the program ended before the first */
	recording.processes[0].native = 2;
	assert_true(fm_windows_used(&recording));
	forget(&recording, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_does_not_change_is_exact),
	    cmocka_unit_test(few_windows_say_nothing),
	    cmocka_unit_test(intervals_hold),
	    cmocka_unit_test(slow_phases_are_told_apart),
	    cmocka_unit_test(processes_are_added),
	    cmocka_unit_test(string_lines_have_their_weight),
	    cmocka_unit_test(cycles_are_limited_by_time),
	    cmocka_unit_test(unseen_instructions_are_added),
	};

	return cmocka_run_group_tests_name("windows", tests, NULL, NULL);
}
