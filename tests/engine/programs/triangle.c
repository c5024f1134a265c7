/* An upper triangular matrix times a vector, two threads, half of the rows each: three quarters of the work are the
   first one's. The second spins until the first is done, which is no work. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 1024 };

static double *matrix, vector[ROWS], result[ROWS];
static _Atomic int done;

static void multiply(int begin, int end)
{
	for (int i = begin; i < end; i++) {
		double sum = 0;

		for (int j = i; j < ROWS; j++)
			sum += matrix[(long)i * ROWS + j] * vector[j];
		result[i] = sum;
	}
}

static void *lower(void *argument)
{
	multiply(ROWS / 2, ROWS);
	while (!atomic_load_explicit(&done, memory_order_acquire))
		;
	return argument;
}

int main(void)
{
	pthread_t thread;

	/* all zero, without a store of ours */
	matrix = calloc((size_t)ROWS * ROWS, sizeof(*matrix));
	if (!matrix || pthread_create(&thread, NULL, lower, NULL))
		return 1;
	multiply(0, ROWS / 2);
	atomic_store_explicit(&done, 1, memory_order_release);
	pthread_join(thread, NULL);
	printf("%g\n", result[ROWS / 2]);
	free(matrix);
	return 0;
}
