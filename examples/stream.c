/* Adds two large arrays, again and again: as fast as memory delivers, and no faster. The argument says how often. */
#include <stdio.h>
#include <stdlib.h>

enum { ELEMENTS = 2 << 20, PASSES = 24 };

int main(int argc, char **argv)
{
	double *a = malloc(ELEMENTS * sizeof(*a)), *b = malloc(ELEMENTS * sizeof(*b)), *c = malloc(ELEMENTS * sizeof(*c));

	if (!a || !b || !c)
		return 1;
	for (int i = 0; i < ELEMENTS; i++) {
		a[i] = 0;
		b[i] = i;
		c[i] = 1;
	}
	for (int pass = 0, passes = argc > 1 ? atoi(argv[1]) : PASSES; pass < passes; pass++) {
		for (int i = 0; i < ELEMENTS; i++)
			a[i] = b[i] + 3 * c[i];
		/* each pass counts: nothing may be left out */
		__asm__ volatile("" ::: "memory");
	}
	printf("%g\n", a[ELEMENTS / 2]);
	free(a);
	free(b);
	free(c);
	return 0;
}
