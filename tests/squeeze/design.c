/* Where runs go, and what they say, on curves that are known. */
#include "check.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "squeeze/squeeze.h"

#define MIB 1048576.0

static struct fm_design design_of(double least, double full)
{
	return (struct fm_design){.least = least, .full = full, .noticeable = 0.02, .precision = 1.2};
}

/* Random access over so much: what does not fit misses. */
static double random_access(double need, double amount)
{
	return amount >= need ? 1 : 1 + 4 * (1 - amount / need);
}

static void knees_are_located(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 26; i++) {
		const double need = 0.8 * pow(1.13, i);
		struct fm_design design = design_of(0.625, 20);
		struct fm_design_knee knee;
		unsigned runs = 0;
		double amount;

		while (fm_design_next(&design, true, &amount)) {
			assert_true(amount >= design.least && amount <= design.full);
			assert_true(fm_design_add(&design, amount, random_access(need, amount)));
			assert_true(++runs < 10);
		}
		assert_true(fm_design_knee(&design, &knee));
		assert_true(knee.sensitive);
		/* what is noticeable begins a little below */
		assert_true(knee.low <= need && knee.high >= need * 0.994);
		assert_true(knee.high / knee.low <= 1.2);
	}
}

static void the_curve_is_filled_in(void **state)
{
	struct fm_design design = design_of(0.625, 20);
	double amount, worst = 0;
	unsigned runs = 0;

	(void)state;
	while (fm_design_next(&design, false, &amount)) {
		/* two working sets */
		fm_design_add(&design, amount, random_access(3, amount) + random_access(12, amount));
		assert_true(++runs < 20);
	}
	for (unsigned i = 0; i < 68; i++) {
		double time, low, high, truth;

		amount = 0.7 * pow(1.05, i);
		truth = random_access(3, amount) + random_access(12, amount);
		assert_true(fm_design_at(&design, amount, &time, &low, &high));
		assert_true(low <= time && time <= high);
		worst = fmax(worst, fabs(time / truth - 1));
	}
	assert_true(worst < 0.05);
}

static void insensitive_takes_two_runs(void **state)
{
	struct fm_design design = design_of(1, 20);
	struct fm_design_knee knee;
	double amount;
	unsigned runs = 0;

	(void)state;
	assert_false(fm_design_knee(&design, &knee));
	while (fm_design_next(&design, false, &amount)) {
		fm_design_add(&design, amount, 7);
		runs++;
	}
	assert_int_equal(runs, 2);
	assert_true(fm_design_knee(&design, &knee));
	assert_false(knee.sensitive);
	assert_true(knee.low == 0 && knee.high == 1);
}

static void limits_of_bandwidth_are_inverse(void **state)
{
	struct fm_design design = design_of(2, 32);
	double time, low, high, amount;

	(void)state;
	design.inverse = true;
	while (fm_design_next(&design, false, &amount))
		fm_design_add(&design, amount, fmax(1, 8 / amount));
	assert_true(fm_design_at(&design, 4, &time, &low, &high));
	assert_near(time, 2, 0.02);
	assert_false(fm_design_at(&design, 1, &time, &low, &high));
	assert_false(fm_design_at(&design, 33, &time, &low, &high));
}

static void room_ends(void **state)
{
	struct fm_design design = design_of(1, 100);

	(void)state;
	for (unsigned i = 0; i < FM_DESIGN_POINTS; i++)
		assert_true(fm_design_add(&design, 1 + i, 1));
	assert_true(fm_design_add(&design, 1, 2));
	assert_true(design.points[0].time == 2);
	assert_false(fm_design_add(&design, 0.5, 1));
}

static void predictions_are_read(void **state)
{
	static const char *const wrong[] = {"",      "l3",    "l3=",     "l3=40M", "l3=0",
	                                    "l3=8X", "l2=8M", "bw=120%", "bw=-1",  "l3=8M,bw"};
	struct fm_squeeze_prediction prediction;
	struct fm_error error;

	(void)state;
	assert_int_equal(fm_squeeze_parse("l3=8M", "L3", 20 * MIB, 38, &prediction, &error), 0);
	assert_true(prediction.bytes == 8 * MIB && prediction.gbs == 38);
	assert_int_equal(fm_squeeze_parse("L3=512K,bw=50%", "L3", 20 * MIB, 38, &prediction, &error), 0);
	assert_true(prediction.bytes == 0.5 * MIB && prediction.gbs == 19);
	assert_int_equal(fm_squeeze_parse("bw=8", "L2", 20 * MIB, 38, &prediction, &error), 0);
	assert_true(prediction.bytes == 20 * MIB && prediction.gbs == 8);
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		if (fm_squeeze_parse(wrong[i], "L3", 20 * MIB, 38, &prediction, &error) != -EINVAL)
			fail_msg("\"%s\" was taken", wrong[i]);
}

/* A recording that says nothing, or nonsense, is refused. */
static void recordings_are_not_trusted(void **state)
{
	struct fm_recording *recording = fm_recording_create();
	struct fm_recorded_squeeze *how;
	struct fm_recorded_squeeze_step *step;
	struct fm_squeeze *squeeze;
	struct fm_error error;

	(void)state;
	assert_int_equal(fm_squeeze_analyse(recording, &squeeze, &error), -EINVAL);
	how = fm_recording_add(recording, squeezes);
	step = fm_recording_add(recording, squeeze_steps);
	assert_int_equal(fm_squeeze_analyse(recording, &squeeze, &error), -EINVAL);
	recording->has_machine = true;
	recording->machine = (struct fm_machine_description){.cache_count = 3, .frequency_ghz = 2, .line_bytes = 64};
	*how = (struct fm_recorded_squeeze){.cache = 77, .bytes = 1, .gbs = 1};
	*step = (struct fm_recorded_squeeze_step){.bytes = 1, .gbs = 1, .cycles = 1};
	assert_int_equal(fm_squeeze_analyse(recording, &squeeze, &error), -EINVAL);
	how->cache = 2;
	assert_int_equal(fm_squeeze_analyse(recording, &squeeze, &error), 0);
	assert_false(squeeze->capacity_in_use.available);
	fm_squeeze_free(squeeze);
	fm_recording_free(recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(knees_are_located),
	    cmocka_unit_test(the_curve_is_filled_in),
	    cmocka_unit_test(insensitive_takes_two_runs),
	    cmocka_unit_test(limits_of_bandwidth_are_inverse),
	    cmocka_unit_test(room_ends),
	    cmocka_unit_test(predictions_are_read),
	    cmocka_unit_test(recordings_are_not_trusted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
