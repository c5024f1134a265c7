#include <stdio.h>
#include <stdlib.h>

int main(void)
{
	enum { COUNT = 2000000 };
	double *a = malloc(COUNT * sizeof(*a)), *b = malloc(COUNT * sizeof(*b)), sum = 0;

	if (!a || !b)
		return 1;
	for (int i = 0; i < COUNT; i++) {
		a[i] = i;
		b[i] = 1;
	}
	for (int round = 0; round < 40; round++) {
#pragma omp parallel for
		for (int i = 0; i < COUNT; i++)
			a[i] += 2 * b[i];
	}
#pragma omp parallel for reduction(+ : sum)
	for (int i = 0; i < COUNT; i++)
		sum += a[i];
	printf("%.0f\n", sum);
	free(a);
	free(b);
	return 0;
}
