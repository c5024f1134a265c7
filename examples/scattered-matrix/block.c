/* All rows in one block, in their order.
   Usage: scattered-matrix-block [TIMES [ROWS]] */
#include "matrix.h"

int main(int argc, char **argv)
{
	long times = argc > 1 ? atol(argv[1]) : 40, rows = argc > 2 ? atol(argv[2]) : 1 << 17;
	struct row *row;
	double *values;
	int32_t *columns;

	if (rows < NONZEROS)
		return 2;
	row = calloc((size_t)rows, sizeof(*row));
	values = calloc((size_t)rows * NONZEROS, sizeof(*values));
	columns = calloc((size_t)rows * NONZEROS, sizeof(*columns));
	if (!row || !values || !columns)
		return 1;
	for (long i = 0; i < rows; i++) {
		row[i].value = values + i * NONZEROS;
		row[i].column = columns + i * NONZEROS;
		fill_row(&row[i], i, rows);
	}
	return solve(row, rows, times);
}
