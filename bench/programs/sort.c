/* The C library's sort over two million random numbers. */
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

int main(void)
{
	uint64_t state = 1;

	for (int i = 0; i < COUNT; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		numbers[i] = (uint32_t)(state >> 32);
	}
	qsort(numbers, COUNT, sizeof(numbers[0]), ascending);
	printf("%u\n", numbers[COUNT / 2]);
	return 0;
}
