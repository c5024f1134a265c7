/* Stream triad and copy over arrays larger than any simulated cache. */
#include <stdio.h>
#include <stdlib.h>

enum { ELEMENTS = 1 << 20 };
static double a[ELEMENTS], b[ELEMENTS], c[ELEMENTS];

int main(void)
{
	for (int i = 0; i < ELEMENTS; i++) {
		b[i] = i;
		c[i] = 2 * i;
	}
	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < ELEMENTS; i++)
			a[i] = b[i] + 3 * c[i];
		for (int i = 0; i < ELEMENTS; i++)
			c[i] = a[i];
	}
	printf("%g\n", a[ELEMENTS / 2]);
	return 0;
}
