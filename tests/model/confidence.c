/* The confidence of verdicts is the frequency that calibration.def has. */
#include "check.h"

#include <stdio.h>
#include <string.h>

#include "patterns/confidence.h"
#include "patterns/deciding.h"

enum { ENOUGH = 5 };

static const struct {
	const char *pattern;
	enum fm_way way;
	enum fm_verdict verdict;
	double from;
	unsigned right, all;
} calibration[] =
    {
#define CALIBRATED(pattern, way, verdict, from, right, all) \
	{#pattern, FM_WAY_##way, FM_VERDICT_##verdict, from, right, all},
#define DOUBTED(pattern, way, verdict, right, all)
#include "patterns/calibration.def"
#undef DOUBTED
#undef CALIBRATED
},
  doubted[] = {
#define CALIBRATED(pattern, way, verdict, from, right, all)
#define DOUBTED(pattern, way, verdict, right, all) {#pattern, FM_WAY_##way, FM_VERDICT_##verdict, 0, right, all},
#include "patterns/calibration.def"
#undef DOUBTED
#undef CALIBRATED
};

static void with_hyphens(const char *identifier, char *ret_name, size_t size)
{
	snprintf(ret_name, size, "%s", identifier);
	for (char *letter = ret_name; *letter; letter++)
		*letter = *letter == '_' ? '-' : *letter;
}

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
		with_hyphens(calibration[i].pattern, name, sizeof(name));
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
	for (int way = FM_WAY_exact; way < FM_WAYS; way++)
		for (int verdict = FM_VERDICT_ABSENT; verdict <= FM_VERDICT_PRESENT; verdict += 2) {
			struct fm_confidence confidence =
			    fm_confidence_of("numa", (enum fm_way)way, (enum fm_verdict)verdict, 3);

			assert_false(confidence.own);
			assert_true(confidence.value <= FM_CONFIDENCE_UNKNOWN);
		}
}

/* Doubtful verdicts that were counted: of a way and a verdict. */
static void count_doubted(int way, int verdict, unsigned *ret_right, unsigned *ret_all)
{
	*ret_right = *ret_all = 0;
	for (size_t i = 0; i < sizeof(doubted) / sizeof(doubted[0]); i++) {
		if ((int)doubted[i].way != way || (int)doubted[i].verdict != verdict)
			continue;
		*ret_right += doubted[i].right;
		*ret_all += doubted[i].all;
	}
}

/* Doubt is a class with counts of its own: the pattern's where there are enough, else those of all patterns. */
static void doubt_is_counted(void **state)
{
	unsigned checked = 0, right, all;

	(void)state;
	for (size_t i = 0; i < sizeof(doubted) / sizeof(doubted[0]); i++) {
		struct fm_confidence confidence;
		char name[32];

		assert_true(doubted[i].right <= doubted[i].all);
		with_hyphens(doubted[i].pattern, name, sizeof(name));
		confidence = fm_confidence_in_doubt(name, doubted[i].way, doubted[i].verdict, 1);
		count_doubted((int)doubted[i].way, (int)doubted[i].verdict, &right, &all);
		if (confidence.own) {
			assert_true(doubted[i].all >= ENOUGH);
			assert_int_equal(confidence.all, doubted[i].all);
			assert_near(confidence.value, (doubted[i].right + 1.0) / (doubted[i].all + 2.0), 1e-12);
		} else if (all >= ENOUGH) {
			assert_int_equal(confidence.right, right);
			assert_int_equal(confidence.all, all);
			assert_true(confidence.value <= (right + 1.0) / (all + 2.0));
		}
		checked++;
	}
	assert_true(checked >= 1);
	/* windows are what programs are looked at by, and what doubt was seen with */
	count_doubted(FM_WAY_windows, FM_VERDICT_PRESENT, &right, &all);
	assert_true(all >= ENOUGH);
}

/* Counts of all patterns do not raise one that is seldom right, and do not make up for a way without counts. */
static void doubt_adds_no_confidence(void **state)
{
	static const char *const names[] = {"bandwidth", "latency", "core", "tlb", "instruction-throughput", "numa"};

	(void)state;
	for (int way = FM_WAY_exact; way < FM_WAYS; way++)
		for (int verdict = FM_VERDICT_ABSENT; verdict <= FM_VERDICT_PRESENT; verdict += 2)
			for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
				struct fm_confidence usual = fm_confidence_of(names[i], (enum fm_way)way,
				                                              (enum fm_verdict)verdict, 0.2),
				                     doubtful = fm_confidence_in_doubt(names[i], (enum fm_way)way,
				                                                       (enum fm_verdict)verdict, 0.2);
				unsigned right, all;

				if (doubtful.own)
					continue;
				assert_true(doubtful.value <= usual.value);
				count_doubted(way, verdict, &right, &all);
				if (all < ENOUGH)
					assert_true(doubtful.value <= FM_CONFIDENCE_UNKNOWN);
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(doubt_is_counted),
	    cmocka_unit_test(doubt_adds_no_confidence),
	    cmocka_unit_test(frequencies_are_those_of_the_table),
	    cmocka_unit_test(unknown_patterns_are_not_certain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
