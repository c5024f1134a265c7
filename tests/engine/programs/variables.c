/* Sweeps over a variable and over the heap, and counts in another variable. */
#include <stdlib.h>

enum { WORDS = 1 << 17 };
volatile long swept[WORDS];
volatile long hot[8];

int main(void)
{
	volatile long *heap = malloc(WORDS * sizeof(*heap));

	if (!heap)
		return 1;
	for (int round = 0; round < 16; round++)
		for (int i = 0; i < WORDS; i++) {
			(void)swept[i];
			if (i % 8 == 0)
				hot[3]++;
		}
	for (int i = 0; i < WORDS; i++)
		(void)heap[i];
	free((void *)heap);
	return 0;
}
