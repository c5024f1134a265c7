/* The confidence of verdicts is the frequency that calibration.def has. */
#include "unit/check.h"

#include <string.h>

#include "patterns/confidence.h"

enum { ENOUGH = 5 };

static const struct {
	const char *pattern;
	enum fm_way way;
	enum fm_verdict verdict;
	double from;
	unsigned right, all;
} calibration[] = {
#define CALIBRATED(pattern, way, verdict, from, right, all) \
	{#pattern, FM_WAY_##way, FM_VERDICT_##verdict, from, right, all},
#include "patterns/calibration.def"
#undef CALIBRATED
};

static void frequencies_are_those_of_the_table(void **state)
{
	unsigned checked = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(calibration) / sizeof(calibration[0]); i++) {
		struct fm_confidence confidence;
		char name[32];

		assert_true(calibration[i].right <= calibration[i].all);
		if (calibration[i].all < ENOUGH)
			continue;
		snprintf(name, sizeof(name), "%s", calibration[i].pattern);
		for (char *letter = name; *letter; letter++)
			*letter = *letter == '_' ? '-' : *letter;
		confidence =
		    fm_confidence_of(name, calibration[i].way, calibration[i].verdict, calibration[i].from + 0.01);
		assert_true(confidence.own);
		assert_int_equal(confidence.right, calibration[i].right);
		assert_int_equal(confidence.all, calibration[i].all);
		assert_near(confidence.value, (calibration[i].right + 1.0) / (calibration[i].all + 2.0), 1e-12);
		assert_true(confidence.value < 1);
		checked++;
	}
	assert_true(checked >= 4);
}

/* What no program was generated for is not stated with more than others were right, nor with much. */
static void unknown_patterns_are_not_certain(void **state)
{
	(void)state;
	for (int way = FM_WAY_exact; way <= FM_WAY_counters; way++)
		for (int verdict = FM_VERDICT_ABSENT; verdict <= FM_VERDICT_PRESENT; verdict += 2) {
			struct fm_confidence confidence =
			    fm_confidence_of("numa", (enum fm_way)way, (enum fm_verdict)verdict, 3);

			assert_false(confidence.own);
			assert_true(confidence.value <= FM_CONFIDENCE_UNKNOWN);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(frequencies_are_those_of_the_table),
	    cmocka_unit_test(unknown_patterns_are_not_certain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
