/* Each row allocated by itself, and not in the order of rows: the matrix is strewn over memory.
   Usage: scattered-matrix-scattered [TIMES [ROWS]] */
#include "matrix.h"

int main(int argc, char **argv)
{
	long times = argc > 1 ? atol(argv[1]) : 40, rows = argc > 2 ? atol(argv[2]) : 1 << 17;
	struct row *row;
	uint64_t state = 88172645463325252u;
	uint32_t *order;

	if (rows < NONZEROS)
		return 2;
	row = calloc((size_t)rows, sizeof(*row));
	order = calloc((size_t)rows, sizeof(*order));
	if (!row || !order)
		return 1;
	for (long i = 0; i < rows; i++) {
		long k;

		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		k = (long)(state % (uint64_t)(i + 1));
		order[i] = order[k];
		order[k] = (uint32_t)i;
	}
	for (long i = 0; i < rows; i++) {
		struct row *one = &row[order[i]];

		one->value = malloc(NONZEROS * sizeof(*one->value));
		one->column = malloc(NONZEROS * sizeof(*one->column));
		if (!one->value || !one->column)
			return 1;
	}
	for (long i = 0; i < rows; i++)
		fill_row(&row[i], i, rows);
	return solve(row, rows, times);
}
