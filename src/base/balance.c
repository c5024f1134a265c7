#include "base/balance.h"

#include "base/tuned.h"

TUNED(PROPORTIONAL, 1e-9, "of the diagonal's product", judged, "unit.balance; below, the determinant is rounding")
TUNED(FACTOR_MOST, 50, "times", judged, "unit.balance; the largest factor, and the smallest is its reciprocal")

void fm_balance(const double matrix[2][2], const double sums[2], double ret_factors[2])
{
	double determinant = matrix[0][0] * matrix[1][1] - matrix[0][1] * matrix[1][0], first, second;

	ret_factors[0] = ret_factors[1] = 1;
	if (!(determinant > PROPORTIONAL * matrix[0][0] * matrix[1][1]))
		return;
	first = (sums[0] * matrix[1][1] - sums[1] * matrix[0][1]) / determinant;
	second = (sums[1] * matrix[0][0] - sums[0] * matrix[1][0]) / determinant;
	if (first * FACTOR_MOST > 1 && first < FACTOR_MOST && second * FACTOR_MOST > 1 && second < FACTOR_MOST) {
		ret_factors[0] = first;
		ret_factors[1] = second;
	}
}
