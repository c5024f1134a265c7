/* Coordinates in three arrays: each node that an element needs is in three cache lines.
   Usage: aos-soa-apart [TIMES [NODES [ELEMENTS]]] */
#include "nodes.h"

__attribute__((noinline)) static double gather(const struct grid *grid, const double *x, const double *y,
                                               const double *z)
{
	double sum = 0;

	for (long i = 0; i < grid->elements * CORNERS; i++) {
		uint32_t node = grid->corner[i];

		sum += x[node];
		sum -= y[node];
		sum += 2 * z[node];
	}
	return sum;
}

int main(int argc, char **argv)
{
	struct grid grid;
	long times;
	int r = make_grid(&grid, argc, argv, &times);
	double *x = r ? NULL : calloc((size_t)grid.nodes, sizeof(*x));
	double *y = r ? NULL : calloc((size_t)grid.nodes, sizeof(*y));
	double *z = r ? NULL : calloc((size_t)grid.nodes, sizeof(*z));
	double sum = 0;

	if (r || !x || !y || !z)
		return r ? r : 1;
	for (long i = 0; i < grid.nodes; i++)
		x[i] = y[i] = z[i] = (double)i;
	for (long k = 0; k < times; k++) {
		fathom_region_begin("gather");
		sum += gather(&grid, x, y, z);
		fathom_region_end("gather");
	}
	printf("%g\n", sum);
	return 0;
}
