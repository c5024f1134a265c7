/* Threads of OpenMP: loops, reductions, tasks, critical sections. */
#include <stdio.h>
#include <stdlib.h>

enum { NUMBERS = 400000, ROUNDS = 20 };

static long fibonacci(int n)
{
	long first, second;

	if (n < 2)
		return n;
	if (n < 15)
		return fibonacci(n - 1) + fibonacci(n - 2);
#pragma omp task shared(first)
	first = fibonacci(n - 1);
	second = fibonacci(n - 2);
#pragma omp taskwait
	return first + second;
}

int main(void)
{
	double *a = malloc(NUMBERS * sizeof(*a)), *b = malloc(NUMBERS * sizeof(*b)), sum = 0;
	long result = 0, entered = 0;

	for (int i = 0; i < NUMBERS; i++) {
		a[i] = i;
		b[i] = 1;
	}
	for (int round = 0; round < ROUNDS; round++)
#pragma omp parallel for num_threads(3)
		for (int i = 0; i < NUMBERS; i++)
			a[i] += 2 * b[i];
#pragma omp parallel for reduction(+ : sum) schedule(dynamic, 1000)
	for (int i = 0; i < NUMBERS; i++)
		sum += a[i];
#pragma omp parallel num_threads(4)
	{
#pragma omp critical
		entered++;
#pragma omp barrier
#pragma omp single
		result = fibonacci(24);
	}
	printf("%.0f %ld %ld\n", sum, result, entered);
	return 0;
}
