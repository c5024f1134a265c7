/* Time in the kernel stays apart from what is predicted of the program. */
#include "profile/parameters.h"
#include "profile/profile.h"
#include "check.h"

#include <string.h>

#include "model/kernel_time.h"
#include "model/uncertainty.h"

static struct fm_figure exactly(double value)
{
	return fm_figure_make(value, value, value, "s", FM_ORIGIN_measured, "native", 3);
}

static struct fm_recording *invent(void)
{
	struct fm_recording *recording = fm_recording_create();

	recording->native = (struct fm_recorded_native){.runs = 3,
	                                                .seconds = exactly(1),
	                                                .cpu_seconds = 1,
	                                                .kernel_seconds = 0.2,
	                                                .kernel_share = 0.2,
	                                                .share_seconds = 3,
	                                                .faults = 200000};
	recording->profile = calloc(1, sizeof(*recording->profile));
	recording->profile->touch_measured = true;
	for (unsigned i = 0; i < FM_TOUCH_PARAMETERS; i++)
		recording->profile->touch[i] = fm_figure_make(450, 400, 500, "ns", FM_ORIGIN_measured, "kernels", 8);
	return recording;
}

static void faults_are_predicted_apart(void **state)
{
	struct fm_recording *recording = invent();
	struct fm_picture picture = {.recording = recording,
	                             .threads = 1,
	                             .part = {.thread = -1},
	                             .seconds = exactly(1),
	                             .predicted_seconds = exactly(0.7)};

	(void)state;
	fm_uncertain_prediction(recording, &picture);
	fm_kernel_time(recording, &picture);
	assert_near(picture.kernel_seconds.value, 0.2, 1e-9);
	assert_true(picture.kernel_seconds.low < 0.2 && picture.kernel_seconds.high > 0.2);
	assert_near(picture.fault_seconds.value, 200000 * 900e-9, 1e-9);
	/* neither the prediction nor what it is compared with has it */
	assert_near(picture.predicted_seconds.value, 0.7, 1e-9);
	assert_near(picture.user_seconds.value, 0.8, 1e-9);
	assert_near(picture.off.value, 0.7 / 0.8 - 1, 1e-9);
	assert_true(fm_kernel_matters(&recording->native));
	recording->native.kernel_share = 0.04;
	assert_false(fm_kernel_matters(&recording->native));
	fm_recording_free(recording);
}

static void what_is_missing_is_told(void **state)
{
	struct fm_recording *recording = invent();
	struct fm_picture picture = {.recording = recording, .part = {.thread = -1}};

	(void)state;
	recording->profile->touch_measured = false;
	fm_kernel_time(recording, &picture);
	assert_non_null(strstr(picture.fault_seconds.why, "fathom machine"));
	assert_true(picture.kernel_seconds.available);
	recording->native.faults = 0; /* of an earlier version */
	fm_kernel_time(recording, &picture);
	assert_non_null(strstr(picture.fault_seconds.why, "not counted"));
	picture.part.region = "solve";
	fm_kernel_time(recording, &picture);
	assert_false(picture.kernel_seconds.available || picture.fault_seconds.available);
	picture.part.region = NULL;
	recording->native.runs = 0;
	fm_kernel_time(recording, &picture);
	assert_false(picture.kernel_seconds.available || picture.fault_seconds.available);
	fm_recording_free(recording);
}

/* Of a run of which only the processor time as a whole is an estimate, 3 % off: with much of it in the kernel, what is
   left may be anything. */
static void little_user_time_is_doubtful(void **state)
{
	struct fm_recording *recording = invent();
	struct fm_figure seconds = fm_figure_make(1, 0.97, 1.03, "s", FM_ORIGIN_sampled, "windows", 5);
	struct fm_picture picture = {.recording = recording,
	                             .threads = 1,
	                             .part = {.thread = -1},
	                             .seconds = seconds,
	                             .predicted_seconds = exactly(0.1)};

	(void)state;
	recording->native.same_run = true;
	recording->native.seconds = seconds;
	recording->native.kernel_share = 0.9;
	fm_uncertain_prediction(recording, &picture);
	assert_near(picture.user_seconds.value, 0.1, 1e-9);
	assert_true(picture.user_seconds.low < 0.07 && picture.user_seconds.high > 0.13);
	recording->native.kernel_share = 0.98;
	picture.predicted_seconds = exactly(0.1);
	fm_uncertain_prediction(recording, &picture);
	assert_false(picture.user_seconds.available || picture.doubtful);
	assert_non_null(strstr(picture.user_seconds.why, "kernel"));
	fm_recording_free(recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(faults_are_predicted_apart),
	    cmocka_unit_test(what_is_missing_is_told),
	    cmocka_unit_test(little_user_time_is_doubtful),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
