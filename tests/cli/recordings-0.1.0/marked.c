/* The recorded program: two threads read an array in order (region "sum") and through an index (region "gather"). */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "fathom.h"

enum { COUNT = 1 << 20 };

static unsigned order[COUNT];
static double *grid;
static double sums[2][8];
static int passes;

static void *work(void *argument)
{
	long thread = (long)argument, begin = thread * COUNT / 2;
	double sum = 0;

	for (int pass = 0; pass < passes; pass++) {
		fathom_region_begin("sum");
		for (long i = begin; i < begin + COUNT / 2; i++)
			sum += grid[i];
		fathom_region_end("sum");
		fathom_region_begin("gather");
		for (long i = begin; i < begin + COUNT / 2; i++)
			sum += grid[order[i]];
		fathom_region_end("gather");
	}
	sums[thread][0] = sum;
	return NULL;
}

int main(int count, char **arguments)
{
	pthread_t threads[2];
	unsigned long state = 1;

	passes = count > 1 ? atoi(arguments[1]) : 1;
	grid = malloc(COUNT * sizeof(*grid));
	if (!grid)
		return 1;
	fathom_object(grid, COUNT * sizeof(*grid), "grid");
	for (long i = 0; i < COUNT; i++) {
		state = state * 6364136223846793005ul + 1442695040888963407ul;
		order[i] = (unsigned)(state >> 44);
		grid[i] = 1;
	}
	for (long i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	for (long i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%g\n", sums[0][0] + sums[1][0]);
	free(grid);
	return 0;
}
