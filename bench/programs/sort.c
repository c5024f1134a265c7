/* The C library's sort over a million random numbers, or as many as the argument says. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 1000000 };
static uint32_t numbers[COUNT];

static int ascending(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
	int count = argc > 1 && atoi(argv[1]) < COUNT ? atoi(argv[1]) : COUNT;
	uint64_t state = 1;

	for (int i = 0; i < count; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		numbers[i] = (uint32_t)(state >> 32);
	}
	qsort(numbers, (size_t)count, sizeof(numbers[0]), ascending);
	printf("%u\n", numbers[count / 2]);
	return 0;
}
