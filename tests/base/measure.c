/* The trial scheduler, with invented trials. */
#include "check.h"

#include <errno.h>

#include "base/measure.h"

struct invented {
	struct fm_random *random;
	double cost;
	double noise;
	unsigned calls;
	unsigned disturbed_every; /* 0: never */
	int fail_at;
	volatile bool *interrupt_at_5;
};

static int invented_trial(void *context, double *ret_cost, struct fm_error *error)
{
	struct invented *invented = context;

	invented->calls++;
	if (invented->fail_at && (int)invented->calls == invented->fail_at)
		return fm_error_set(error, EIO, "broken");
	if (invented->interrupt_at_5 && invented->calls == 5)
		*invented->interrupt_at_5 = true;
	*ret_cost = invented->cost + invented->noise * fm_random_uniform(invented->random);
	if (invented->disturbed_every && invented->calls % invented->disturbed_every == 0) {
		*ret_cost += 1000;
		return FM_TRIAL_DISTURBED;
	}
	return 0;
}

struct fixture {
	struct fm_random random;
	struct fm_disturbance_watch watch;
	struct fm_measure_plan plan;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fm_random_seed(&fixture->random, 1);
	fm_disturbance_open(&fixture->watch);
	fixture->plan = (struct fm_measure_plan){.least_rounds = 5,
	                                         .most_rounds = 50,
	                                         .budget_seconds = 20,
	                                         .random = &fixture->random,
	                                         .watch = &fixture->watch};
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	fm_disturbance_close(&fixture->watch);
	free(fixture);
	return 0;
}

static void stops_when_narrow(void **state)
{
	struct fixture *fixture = *state;
	struct invented steady = {.random = &fixture->random, .cost = 10, .noise = 0.01};
	struct invented wild = {.random = &fixture->random, .cost = 10, .noise = 20};
	struct fm_measurement measurements[2] = {
	    {.trial = invented_trial, .context = &steady, .wanted_width = 0.01},
	    {.trial = invented_trial, .context = &wild, .wanted_width = 0.01},
	};
	struct fm_error error;

	assert_int_equal(fm_measure(measurements, 2, &fixture->plan, &error), 0);
	assert_true(steady.calls < 50);
	assert_int_equal(wild.calls, 50);
	fm_measurement_free(&measurements[0]);
	fm_measurement_free(&measurements[1]);
}

/* Trials that say they were disturbed are set aside and do not move the figure. */
static void sets_disturbed_aside(void **state)
{
	struct fixture *fixture = *state;
	struct invented invented = {.random = &fixture->random, .cost = 10, .noise = 0.1, .disturbed_every = 3};
	struct fm_measurement measurement = {.trial = invented_trial, .context = &invented};
	struct fm_figure figure;
	struct fm_error error;

	assert_int_equal(fm_measure(&measurement, 1, &fixture->plan, &error), 0);
	figure = fm_measurement_figure(&measurement, "ns");
	assert_true(measurement.doubtful.count >= 16);
	assert_int_equal(figure.set_aside, measurement.doubtful.count);
	assert_int_equal(figure.trials + figure.set_aside, 50);
	assert_true(fixture->watch.total.disturbed >= 16);
	assert_near(figure.value, 10.05, 0.1);
	fm_measurement_free(&measurement);
}

static void passes_errors_on(void **state)
{
	struct fixture *fixture = *state;
	struct invented invented = {.random = &fixture->random, .cost = 10, .fail_at = 7};
	struct fm_measurement measurement = {.trial = invented_trial, .context = &invented};
	struct fm_error error;

	assert_int_equal(fm_measure(&measurement, 1, &fixture->plan, &error), -EIO);
	assert_string_equal(error.message, "broken");
	fm_measurement_free(&measurement);
}

static void stops_when_interrupted(void **state)
{
	struct fixture *fixture = *state;
	volatile bool interrupted = false;
	struct invented invented = {.random = &fixture->random, .cost = 10, .interrupt_at_5 = &interrupted};
	struct fm_measurement measurement = {.trial = invented_trial, .context = &invented};
	struct fm_error error;

	fixture->plan.watcher.interrupted = &interrupted;
	assert_int_equal(fm_measure(&measurement, 1, &fixture->plan, &error), -EINTR);
	assert_int_equal(invented.calls, 5);
	fm_measurement_free(&measurement);
}

static void too_few_trials_are_no_figure(void **state)
{
	struct fm_measurement measurement = {0};
	struct fm_figure figure = fm_measurement_figure(&measurement, "ns");

	(void)state;
	assert_false(figure.available);
	assert_int_equal(fm_measure(NULL, 0, NULL, NULL), 0);
}

/* Five cycles while the clock goes between 0.25 and 0.35 ns a cycle: one cost at the usual clock, and modes without. */
static void costs_in_cycles_do_not_depend_on_the_clock(void **state)
{
	static const double beats[] = {0.25, 0.3, 0.35};
	struct fm_measurement measurement = {.core_clock = true, .usual_beat = 0.3};
	struct fm_figure figure;

	(void)state;
	for (unsigned i = 0; i < 60; i++) {
		double beat = beats[i % 3];

		assert_int_equal(fm_sample_add(&measurement.costs, 5 * beat), 0);
		assert_int_equal(fm_sample_add(&measurement.beats, beat), 0);
	}
	figure = fm_measurement_figure(&measurement, "ns");
	assert_near(figure.value, 1.5, 1e-9);
	assert_near(figure.high, figure.low, 1e-9);
	measurement.usual_beat = 0;
	figure = fm_measurement_figure(&measurement, "ns");
	assert_true(figure.value < 1.4);
	fm_measurement_free(&measurement);
}

/* The clock of a run is its mean; what was interrupted does not count. */
static void the_clock_is_that_of_the_whole(void **state)
{
	struct fm_disturbance_watch watch = {.total.heartbeat_best = 0.25};
	struct fm_figure clock = fm_disturbance_clock(&watch);

	(void)state;
	assert_false(clock.available);
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(fm_sample_add(&watch.beats, i % 2 ? 0.25 : i % 10 ? 0.35 : 5), 0);
	clock = fm_disturbance_clock(&watch);
	assert_int_equal(clock.trials, 90);
	assert_near(clock.value, 90 / (50 * 0.25 + 40 * 0.35), 1e-9);
	assert_near(clock.low, 1 / 0.35, 1e-9);
	assert_near(clock.high, 4, 1e-9);
	fm_sample_free(&watch.beats);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(costs_in_cycles_do_not_depend_on_the_clock),
	    cmocka_unit_test(the_clock_is_that_of_the_whole),
	    cmocka_unit_test_setup_teardown(stops_when_narrow, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(sets_disturbed_aside, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(passes_errors_on, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(stops_when_interrupted, set_up, tear_down),
	    cmocka_unit_test(too_few_trials_are_no_figure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
