/* Reads and writes memory larger than the caches, line after line: stream MIB PASSES */
#include "counted.h"
#include <string.h>

int main(int count, char **arguments)
{
	size_t length = strtoul(count > 1 ? arguments[1] : "64", NULL, 10) * 1024 * 1024 / sizeof(double);
	int passes = atoi(count > 2 ? arguments[2] : "3");
	double *from = malloc(length * sizeof(double)), *to = malloc(length * sizeof(double)), sum = 0;

	counted();
	for (size_t i = 0; i < length; i++)
		from[i] = (double)(i % 1000);
	for (int pass = 0; pass < passes; pass++) {
		for (size_t i = 0; i < length; i++)
			to[i] = 0.5 * from[i] + 1;
		memcpy(from, to, length * sizeof(double));
	}
	for (size_t i = 0; i < length; i++)
		sum += from[i];
	printf("%.3f\n", sum);
	free(from);
	free(to);
	return 0;
}
