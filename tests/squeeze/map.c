/* Less of both at once: which amounts, and what a recording of such runs says. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "squeeze/map.h"
#include "base/random.h"

#define MIB 1048576.0

static void amounts_are_around_the_knee(void **state)
{
	struct fm_design design = {.least = 1, .full = 32, .noticeable = 0.02, .precision = 1.2};
	double amounts[FM_SQUEEZE_MAP], amount;
	struct fm_design_knee knee;

	(void)state;
	assert_int_equal(fm_map_amounts(&design, amounts), 0);
	while (fm_design_next(&design, true, &amount))
		fm_design_add(&design, amount, amount >= 10 ? 1 : 1 + (10 - amount));
	assert_true(fm_design_knee(&design, &knee));
	assert_int_equal(fm_map_amounts(&design, amounts), FM_SQUEEZE_MAP);
	assert_true(amounts[0] == 32 && amounts[1] == knee.high && amounts[2] == knee.low);
	/* tried, and below the knee */
	assert_true(amounts[3] < knee.low && amounts[3] >= 1);
}

static void insensitive_has_two_amounts(void **state)
{
	struct fm_design design = {.least = 1, .full = 32, .noticeable = 0.02, .precision = 1.2};
	double amounts[FM_SQUEEZE_MAP], amount;

	(void)state;
	while (fm_design_next(&design, true, &amount))
		fm_design_add(&design, amount, 1);
	assert_int_equal(fm_map_amounts(&design, amounts), 2);
	assert_true(amounts[0] == 32 && amounts[1] == 1);
}

static struct fm_recording *recording_of(bool live)
{
	struct fm_recording *recording = fm_recording_create();
	struct fm_recorded_squeeze *how = fm_recording_add(recording, squeezes);

	*how = (struct fm_recorded_squeeze){
	    .cache = 2, .bytes = 8 * MIB, .gbs = 40, .noticeable = 0.02, .live = live, .map = true};
	snprintf(how->backend, sizeof(how->backend), "exact");
	recording->has_machine = true;
	recording->machine = (struct fm_machine_description){.cache_count = 3, .frequency_ghz = 1, .line_bytes = 64};
	return recording;
}

static void add(struct fm_recording *recording, double bytes, double gbs, double seconds, unsigned role, uint64_t pair)
{
	struct fm_recorded_squeeze_step *step = fm_recording_add(recording, squeeze_steps);

	*step = (struct fm_recorded_squeeze_step){.bytes = bytes,
	                                          .gbs = gbs,
	                                          .cycles = (uint64_t)(seconds * 1e9),
	                                          .seconds = seconds,
	                                          .role = role,
	                                          .pair = pair};
}

static struct fm_squeeze *analyse(struct fm_recording *recording)
{
	struct fm_squeeze *squeeze;
	struct fm_error error;

	assert_int_equal(fm_squeeze_analyse(recording, &squeeze, &error), 0);
	return squeeze;
}

static void cells_come_from_runs(void **state)
{
	struct fm_recording *recording = recording_of(false);
	struct fm_squeeze *squeeze;

	(void)state;
	add(recording, 8 * MIB, 40, 1, FM_SQUEEZE_WHOLE, 0);
	add(recording, 2 * MIB, 40, 1.5, FM_SQUEEZE_LESS, 0);
	add(recording, 8 * MIB, 10, 1.2, FM_SQUEEZE_LESS, 0);
	squeeze = analyse(recording);
	assert_int_equal(squeeze->map.capacities, 0);
	fm_squeeze_free(squeeze);
	/* one cell that was run, and with it one that was not */
	add(recording, 2 * MIB, 10, 2.5, FM_SQUEEZE_LESS, 0);
	add(recording, 1 * MIB, 10, 4, FM_SQUEEZE_LESS, 0);
	squeeze = analyse(recording);
	assert_int_equal(squeeze->map.capacities, 3);
	assert_int_equal(squeeze->map.bandwidths, 2);
	assert_true(squeeze->map.slowdown[0][0].value == 1);
	assert_near(squeeze->map.slowdown[1][0].value, 1.5, 1e-6);
	assert_near(squeeze->map.slowdown[0][1].value, 1.2, 1e-6);
	assert_near(squeeze->map.slowdown[1][1].value, 2.5, 1e-6);
	assert_near(squeeze->map.predicted[1][1].value, 1.5 * 1.2, 1e-6);
	assert_near(squeeze->map.slowdown[2][1].value, 4, 1e-6);
	assert_false(squeeze->map.slowdown[2][0].available);
	/* the curves have nothing of it */
	assert_int_equal(squeeze->capacity.count, 2);
	assert_int_equal(squeeze->bandwidth.count, 2);
	fm_squeeze_free(squeeze);
	fm_recording_free(recording);
}

static void pairs_have_intervals(void **state)
{
	struct fm_recording *recording = recording_of(true);
	struct fm_squeeze *squeeze;
	struct fm_random random;
	const struct fm_figure *cell;

	(void)state;
	fm_random_seed(&random, 1);
	add(recording, 8 * MIB, 40, 1, FM_SQUEEZE_WHOLE, 0);
	for (unsigned i = 1; i <= 8; i++) {
		double phase = 1 + 0.5 * fm_random_uniform(&random);
		bool first = fm_random_below(&random, 2);

		for (unsigned k = 0; k < 2; k++)
			if (first == k)
				add(recording, 2 * MIB, 10, phase * 2.5 * (1 + 0.01 * fm_random_normal(&random)),
				    FM_SQUEEZE_LESS, i);
			else
				add(recording, 8 * MIB, 40, phase * (1 + 0.01 * fm_random_normal(&random)),
				    FM_SQUEEZE_WHOLE, i);
	}
	/* one that was disturbed */
	add(recording, 2 * MIB, 10, 100, FM_SQUEEZE_LESS, 9);
	recording->squeeze_steps[recording->squeeze_steps_count - 1].disturbed = true;
	add(recording, 8 * MIB, 40, 1, FM_SQUEEZE_WHOLE, 9);
	squeeze = analyse(recording);
	cell = &squeeze->map.slowdown[1][1];
	assert_true(cell->available && cell->trials == 8);
	assert_true(cell->low < 2.5 && cell->high > 2.5 && cell->high / cell->low < 1.1);
	fm_squeeze_free(squeeze);
	fm_recording_free(recording);
}

/* More amounts than a map has. */
static void recordings_are_not_trusted(void **state)
{
	struct fm_recording *recording = recording_of(false);
	struct fm_squeeze *squeeze;

	(void)state;
	add(recording, 8 * MIB, 40, 1, FM_SQUEEZE_WHOLE, 0);
	for (unsigned i = 1; i < 40; i++)
		add(recording, 8 * MIB - i, 40.0 - i, 2, FM_SQUEEZE_LESS, 0);
	add(recording, NAN, -1, 2, FM_SQUEEZE_LESS, 0);
	squeeze = analyse(recording);
	assert_int_equal(squeeze->map.capacities, FM_SQUEEZE_MAP);
	assert_int_equal(squeeze->map.bandwidths, FM_SQUEEZE_MAP);
	fm_squeeze_free(squeeze);
	fm_recording_free(recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(amounts_are_around_the_knee), cmocka_unit_test(insensitive_has_two_amounts),
	    cmocka_unit_test(cells_come_from_runs),        cmocka_unit_test(pairs_have_intervals),
	    cmocka_unit_test(recordings_are_not_trusted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
