#include "trust/solve.h"

#include <math.h>
#include <string.h>

void fm_normal_clear(struct fm_normal *normal, unsigned columns)
{
	/* many small problems: clear only the used part */
	normal->columns = columns;
	normal->square = 0;
	memset(normal->right, 0, columns * sizeof(*normal->right));
	for (unsigned i = 0; i < columns; i++)
		memset(normal->matrix[i], 0, columns * sizeof(**normal->matrix));
}

void fm_normal_add(struct fm_normal *normal, const double *row, double target, double weight)
{
	for (unsigned i = 0; i < normal->columns; i++) {
		if (row[i] == 0)
			continue;
		for (unsigned k = 0; k < normal->columns; k++)
			normal->matrix[i][k] += weight * row[i] * row[k];
		normal->right[i] += weight * row[i] * target;
	}
	normal->square += weight * target * target;
}

/* Solve for the columns in `active` by Cholesky's method; a column that depends on the ones before it gets zero. */
static void solve_active(const struct fm_normal *normal, unsigned long long active, double *solution)
{
	unsigned index[FM_SOLVE_MAX] = {0}, count = 0;
	double lower[FM_SOLVE_MAX][FM_SOLVE_MAX], middle[FM_SOLVE_MAX] = {0};
	bool dependent[FM_SOLVE_MAX] = {false};

	memset(solution, 0, normal->columns * sizeof(*solution));
	for (unsigned i = 0; i < normal->columns; i++)
		if (active >> i & 1)
			index[count++] = i;
	for (unsigned i = 0; i < count; i++) {
		double diagonal = normal->matrix[index[i]][index[i]], rest = diagonal;

		for (unsigned k = 0; k < i; k++) {
			double value = normal->matrix[index[i]][index[k]];

			for (unsigned j = 0; j < k; j++)
				value -= lower[i][j] * lower[k][j];
			lower[i][k] = dependent[k] ? 0 : value / lower[k][k];
			rest -= lower[i][k] * lower[i][k];
		}
		dependent[i] = !(rest > 1e-10 * diagonal);
		lower[i][i] = dependent[i] ? 1 : sqrt(rest);
	}
	for (unsigned i = 0; i < count; i++) {
		middle[i] = normal->right[index[i]];
		for (unsigned k = 0; k < i; k++)
			middle[i] -= lower[i][k] * middle[k];
		middle[i] = dependent[i] ? 0 : middle[i] / lower[i][i];
	}
	for (unsigned i = count; i-- > 0;) {
		double value = middle[i];

		for (unsigned k = i + 1; k < count; k++)
			value -= lower[k][i] * solution[index[k]];
		solution[index[i]] = dependent[i] ? 0 : value / lower[i][i];
	}
}

static double remaining(const struct fm_normal *normal, const double *coefficients)
{
	double sum = normal->square;

	for (unsigned i = 0; i < normal->columns; i++) {
		if (coefficients[i] == 0)
			continue;
		sum -= 2 * coefficients[i] * normal->right[i];
		for (unsigned k = 0; k < normal->columns; k++)
			sum += coefficients[i] * coefficients[k] * normal->matrix[i][k];
	}
	return sum > 0 ? sum : 0;
}

double fm_normal_solve(const struct fm_normal *normal, unsigned long long chosen, double *ret_coefficients)
{
	double trial[FM_SOLVE_MAX], *current = ret_coefficients;
	unsigned long long active = 0;

	memset(current, 0, normal->columns * sizeof(*current));
	for (unsigned round = 0; round < 3 * FM_SOLVE_MAX; round++) {
		double steepest = 0;
		int enters = -1;

		for (unsigned i = 0; i < normal->columns; i++) {
			double slope = normal->right[i];

			if (!(chosen >> i & 1) || active >> i & 1 || !(normal->matrix[i][i] > 0))
				continue;
			for (unsigned k = 0; k < normal->columns; k++)
				slope -= normal->matrix[i][k] * current[k];
			/* in units of the column, so that small columns have their chance */
			slope /= sqrt(normal->matrix[i][i]);
			if (slope > steepest) {
				steepest = slope;
				enters = (int)i;
			}
		}
		if (enters < 0 || steepest <= 1e-9 * sqrt(normal->square))
			break;
		active |= 1ull << enters;
		for (;;) {
			double step = 1;
			bool negative = false;

			solve_active(normal, active, trial);
			for (unsigned i = 0; i < normal->columns; i++)
				if (active >> i & 1 && trial[i] <= 0 && current[i] - trial[i] > 0) {
					negative = true;
					step = fmin(step, current[i] / (current[i] - trial[i]));
				}
			if (!negative) {
				for (unsigned i = 0; i < normal->columns; i++)
					if (active >> i & 1 && trial[i] <= 0)
						active &= ~(1ull << i);
				memcpy(current, trial, normal->columns * sizeof(*current));
				break;
			}
			for (unsigned i = 0; i < normal->columns; i++)
				if (active >> i & 1) {
					current[i] += step * (trial[i] - current[i]);
					if (current[i] <= 1e-12) {
						current[i] = 0;
						active &= ~(1ull << i);
					}
				}
		}
	}
	for (unsigned i = 0; i < normal->columns; i++)
		if (current[i] < 0)
			current[i] = 0;
	return remaining(normal, current);
}
