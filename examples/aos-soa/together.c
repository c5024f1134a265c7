/* The coordinates of a node side by side: one cache line, or two now and then.
   Usage: aos-soa-together [TIMES [NODES [ELEMENTS]]] */
#include "nodes.h"

struct node {
	double x, y, z;
};

__attribute__((noinline)) static double gather(const struct grid *grid, const struct node *node)
{
	double sum = 0;

	for (long i = 0; i < grid->elements * CORNERS; i++) {
		const struct node *corner = &node[grid->corner[i]];

		sum += corner->x;
		sum -= corner->y;
		sum += 2 * corner->z;
	}
	return sum;
}

int main(int argc, char **argv)
{
	struct grid grid;
	long times;
	int r = make_grid(&grid, argc, argv, &times);
	struct node *node = r ? NULL : calloc((size_t)grid.nodes, sizeof(*node));
	double sum = 0;

	if (r || !node)
		return r ? r : 1;
	for (long i = 0; i < grid.nodes; i++)
		node[i].x = node[i].y = node[i].z = (double)i;
	for (long k = 0; k < times; k++) {
		fathom_region_begin("gather");
		sum += gather(&grid, node);
		fathom_region_end("gather");
	}
	printf("%g\n", sum);
	return 0;
}
