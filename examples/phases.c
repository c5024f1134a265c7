/* Two threads that pass through regions of different character: "sum" streams, "small" stays in the first cache,
   "divide" waits for its divisions, "nested" holds them all. With PHASES_MORE in the environment the program passes
   once more through a region when it runs by itself: another path than in the engine. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "fathom.h"

enum { COUNT = 1 << 20, PASSES = 4, SMALL = 512 };

static double *data;
static double sums[2][8];

static void *work(void *argument)
{
	long thread = (long)argument, begin = thread * COUNT / 2;
	double sum = 0;

	for (int pass = 0; pass < PASSES; pass++) {
		fathom_region_begin("nested");
		fathom_region_begin("sum");
		for (long i = begin; i < begin + COUNT / 2; i++)
			sum += data[i];
		fathom_region_end("sum");
		fathom_region_begin("small");
		for (long i = 0; i < 500L * SMALL; i++)
			sum += data[begin + i % SMALL];
		fathom_region_end("small");
		fathom_region_begin("divide");
		for (long i = 0; i < 20L * SMALL; i++)
			sum = data[begin + i % SMALL] / (sum + 1);
		fathom_region_end("divide");
		fathom_region_end("nested");
	}
	sums[thread][0] = sum;
	return NULL;
}

int main(void)
{
	pthread_t threads[2];

	data = malloc(COUNT * sizeof(*data));
	if (!data)
		return 1;
	for (long i = 0; i < COUNT; i++)
		data[i] = 1;
	for (long i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	if (getenv("PHASES_MORE") && !getenv("FATHOM_ENGINE")) {
		fathom_region_begin("small");
		fathom_region_end("small");
	}
	printf("%g\n", sums[0][0] + sums[1][0]);
	free(data);
	return 0;
}
