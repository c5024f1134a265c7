/* A row-major matrix summed column by column: every step is a row, 16 KiB, further on. columns [SIZE [ROUNDS]] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	size_t size = argc > 1 ? strtoull(argv[1], NULL, 10) : 2048;
	unsigned rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1;
	double *matrix = malloc(size * size * sizeof(*matrix)), sum = 0;

	if (!matrix)
		return 1;
	for (size_t i = 0; i < size * size; i++)
		matrix[i] = (double)(i % 7);
	for (unsigned round = 0; round < rounds; round++)
		for (size_t column = 0; column < size; column++)
			for (size_t row = 0; row < size; row++)
				sum += matrix[row * size + column];
	printf("%g\n", sum);
	free(matrix);
	return 0;
}
