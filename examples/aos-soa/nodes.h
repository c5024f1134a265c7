/* Elements of an unstructured grid that gather the coordinates of their nodes, as finite-element programs do. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "fathom.h"

enum { CORNERS = 8 };

struct grid {
	long nodes, elements;
	uint32_t *corner; /* nodes of each element */
};

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static int make_grid(struct grid *grid, int argc, char **argv, long *times)
{
	uint64_t state = 88172645463325252u;

	*times = argc > 1 ? atol(argv[1]) : 20;
	grid->nodes = argc > 2 ? atol(argv[2]) : 1 << 21;
	grid->elements = argc > 3 ? atol(argv[3]) : 1 << 18;
	if (grid->nodes < 1 || grid->elements < 1)
		return 2;
	grid->corner = malloc((size_t)grid->elements * CORNERS * sizeof(*grid->corner));
	if (!grid->corner)
		return 1;
	for (long i = 0; i < grid->elements * CORNERS; i++)
		grid->corner[i] = (uint32_t)(next_random(&state) % (uint64_t)grid->nodes);
	return 0;
}
