/* A plain matrix product: floating point, which QEMU emulates slowly. */
#include <stdio.h>

enum { SIZE = 256 };
static double a[SIZE][SIZE], b[SIZE][SIZE], c[SIZE][SIZE];

int main(void)
{
	for (int i = 0; i < SIZE; i++)
		for (int j = 0; j < SIZE; j++) {
			a[i][j] = i + j;
			b[i][j] = i - j;
		}
	for (int i = 0; i < SIZE; i++)
		for (int k = 0; k < SIZE; k++)
			for (int j = 0; j < SIZE; j++)
				c[i][j] += a[i][k] * b[k][j];
	printf("%g\n", c[10][10]);
	return 0;
}
