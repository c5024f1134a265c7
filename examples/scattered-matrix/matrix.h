/* A sparse matrix whose rows are multiplied with a vector, as in a conjugate gradient solver. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "fathom.h"

enum { NONZEROS = 27 };

struct row {
	double *value;
	int32_t *column;
};

static void fill_row(struct row *row, long at, long rows)
{
	for (int k = 0; k < NONZEROS; k++) {
		row->value[k] = k == NONZEROS / 2 ? 26 : -1;
		row->column[k] = (int32_t)((at + k) % rows);
	}
}

__attribute__((noinline)) static void multiply(const struct row *row, long rows, const double *x, double *y)
{
	for (long i = 0; i < rows; i++) {
		double sum = 0;

		for (int k = 0; k < NONZEROS; k++)
			sum += row[i].value[k] * x[row[i].column[k]];
		y[i] = sum;
	}
}

static int solve(const struct row *row, long rows, long times)
{
	double *x = calloc((size_t)rows, sizeof(*x)), *y = calloc((size_t)rows, sizeof(*y));

	if (!x || !y)
		return 1;
	for (long i = 0; i < rows; i++)
		x[i] = 1;
	for (long k = 0; k < times; k++) {
		fathom_region_begin("multiply");
		multiply(row, rows, x, y);
		fathom_region_end("multiply");
	}
	printf("%g\n", y[0] + y[rows - 1]);
	return 0;
}
