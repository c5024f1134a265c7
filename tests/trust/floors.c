/* What simulated counters count besides the program. */
#include "check.h"

#include <errno.h>

#include "trust/floors.h"

static void first_pattern_counts(void **state)
{
	struct fm_floors *floors = NULL;
	struct fm_random random;
	struct fm_error error;
	double most = 0, sum = 0;

	(void)state;
	assert_int_equal(
	    fm_floors_parse("# comment\n\nUNC_*  tool=100 other=1e6 walks=2\n* tool=10\n", "x", &floors, &error), 0);
	fm_random_seed(&random, 1);
	for (unsigned i = 0; i < 10000; i++) {
		double added = fm_floors_draw(floors, "UNC_M_CAS_COUNT:RD", 1e-4, 50, &random);

		assert_true(added >= 80);
		sum += added;
		most = added > most ? added : most;
	}
	/* the tool's 100, and on average 1e6 * 1e-4 + 2 * 50 */
	assert_near(sum / 10000, 300, 10);
	assert_true(most > 800);
	for (unsigned i = 0; i < 100; i++) {
		double added = fm_floors_draw(floors, "LOADS", 1, 1000, &random);

		assert_true(added >= 8 && added <= 12);
	}
	fm_floors_free(floors);
}

static void mistakes_are_refused(void **state)
{
	static const char *const texts[] = {"X tool", "X tool=", "X tool=-1", "X size=3", "X tool=1x", "X other=inf"};
	struct fm_floors *floors = NULL;
	struct fm_error error;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(fm_floors_parse(texts[i], "x", &floors, &error), -EBADMSG);
	assert_null(floors);
}

static void machines_have_some_or_none(void **state)
{
	struct fm_floors *floors = NULL;
	struct fm_error error;

	(void)state;
	assert_int_equal(fm_floors_load(MACHINES "/haswell-ep.machine", &floors, &error), 0);
	assert_non_null(floors);
	fm_floors_free(floors);
	assert_int_equal(fm_floors_load(MACHINES "/zen3.machine", &floors, &error), 0);
	assert_null(floors);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(first_pattern_counts),
	    cmocka_unit_test(mistakes_are_refused),
	    cmocka_unit_test(machines_have_some_or_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
