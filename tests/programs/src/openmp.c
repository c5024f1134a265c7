/* OpenMP: a loop in parallel, a reduction, tasks, a critical section: openmp MILLIONS */
#include "counted.h"
#include <omp.h>

static unsigned long tree(int depth)
{
	unsigned long left, right;

	if (depth == 0)
		return work(1000);
#pragma omp task shared(left)
	left = tree(depth - 1);
#pragma omp task shared(right)
	right = tree(depth - 1);
#pragma omp taskwait
	return left ^ (right * 3);
}

int main(int count, char **arguments)
{
	long length = atol(count > 1 ? arguments[1] : "4") * 1000000, odd = 0, critical = 0;
	unsigned long leaves = 0;

	counted();
	omp_set_num_threads(4);
#pragma omp parallel for reduction(+ : odd) schedule(dynamic, 10000)
	for (long i = 0; i < length; i++)
		odd += (long)(((unsigned long)i * 2654435761UL) >> 7 & 1);
#pragma omp parallel for
	for (long i = 0; i < 1000; i++) {
#pragma omp critical
		critical += i;
	}
#pragma omp parallel
#pragma omp single
	leaves = tree(8);
	printf("%ld %ld %lu\n", odd, critical, leaves);
	return 0;
}
