/* Pointers through 64 MiB in random order. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINES = 1 << 20, STEPS = 4000000 };
static struct {
	uint32_t next;
	char pad[60];
} lines[LINES];

int main(void)
{
	static uint32_t order[LINES];
	uint64_t state = 1;
	uint32_t at = 0;

	for (uint32_t i = 0; i < LINES; i++)
		order[i] = i;
	for (uint32_t i = LINES; i > 1; i--) {
		uint32_t j, swap;

		state = state * 6364136223846793005u + 1442695040888963407u;
		j = (uint32_t)((state >> 33) % i);
		swap = order[i - 1];
		order[i - 1] = order[j];
		order[j] = swap;
	}
	for (uint32_t i = 0; i < LINES; i++)
		lines[order[i]].next = order[(i + 1) % LINES];
	for (uint32_t i = 0; i < STEPS; i++)
		at = lines[at].next;
	printf("%u\n", at);
	return 0;
}
