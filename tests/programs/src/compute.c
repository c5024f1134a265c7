/* Arithmetic on integers and floating-point numbers, in one thread: compute MILLIONS [STATUS] */
#include "counted.h"
#include <math.h>

int main(int count, char **arguments)
{
	unsigned long millions = count > 1 ? strtoul(arguments[1], NULL, 10) : 10;
	double sum = 0;

	counted();
	for (unsigned long i = 1; i <= millions * 250000; i++)
		sum += sqrt((double)i) / (double)(i % 97 + 1);
	printf("%lu %.6f\n", work(millions * 1000000), sum);
	fprintf(stderr, "computed\n");
	return count > 2 ? atoi(arguments[2]) : 0;
}
