/* Multiplies small blocks of matrices that stay in the first cache: the arithmetic is the limit. */
#include <stdio.h>

enum { SIZE = 24, TIMES = 1500 };

static double a[SIZE][SIZE], b[SIZE][SIZE], c[SIZE][SIZE];

int main(void)
{
	for (int i = 0; i < SIZE; i++)
		for (int j = 0; j < SIZE; j++) {
			a[i][j] = i + j;
			b[i][j] = i - j;
		}
	for (int times = 0; times < TIMES; times++)
		for (int i = 0; i < SIZE; i++)
			for (int k = 0; k < SIZE; k++)
				for (int j = 0; j < SIZE; j++)
					c[i][j] += a[i][k] * b[k][j];
	printf("%g\n", c[3][5]);
	return 0;
}
