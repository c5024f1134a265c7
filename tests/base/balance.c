/* Factors of two parts. */
#include "check.h"

#include "base/balance.h"

static void assert_factors(double a, double b, double c, double d, double first, double second, double expected_first,
                           double expected_second)
{
	const double matrix[2][2] = {{a, b}, {c, d}}, sums[2] = {first, second};
	double factors[2];

	fm_balance(matrix, sums, factors);
	assert_near(factors[0], expected_first, 1e-12);
	assert_near(factors[1], expected_second, 1e-12);
}

static void factors_solve_both_equations(void **state)
{
	(void)state;
	assert_factors(1, 0, 0, 1, 3, 4, 3, 4);
	/* 3 × 2 + 1 × 5 = 11 and 1 × 2 + 2 × 5 = 12 */
	assert_factors(3, 1, 1, 2, 11, 12, 2, 5);
}

static void too_few_observations_change_nothing(void **state)
{
	(void)state;
	/* proportional rows, nothing at all, negative and large factors */
	assert_factors(1, 2, 2, 4, 3, 6, 1, 1);
	assert_factors(0, 0, 0, 0, 3, 6, 1, 1);
	assert_factors(1, 1, 0, 1, 1, 2, 1, 1);
	assert_factors(1, 0, 0, 1, 51, 1, 1, 1);
	assert_factors(1, 0, 0, 1, 1, 0.019, 1, 1);
	assert_factors(1, 0, 0, 1, 49, 0.021, 49, 0.021);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(factors_solve_both_equations),
	    cmocka_unit_test(too_few_observations_change_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
