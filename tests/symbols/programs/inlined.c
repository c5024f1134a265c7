/* add is inlined into twice, and twice into step; deep has more levels than a report shows. */
#include "kernel.h"

static inline __attribute__((always_inline)) double twice(const double *values, long i)
{
	return 2 * add(values, i); /* line of twice */
}

__attribute__((noinline)) double step(const double *values, long count)
{
	double sum = 0;

	for (long i = 0; i < count; i++)
		sum += twice(values, i); /* line of step */
	return sum;
}

#define LEVEL(name, below)                                                                     \
	static inline __attribute__((always_inline)) double name(const double *values, long i) \
	{                                                                                      \
		return below(values, i) * 3;                                                   \
	}
LEVEL(level1, add)
LEVEL(level2, level1)
LEVEL(level3, level2)
LEVEL(level4, level3)
LEVEL(level5, level4)
LEVEL(level6, level5)
LEVEL(level7, level6)
LEVEL(level8, level7)
LEVEL(level9, level8)

__attribute__((noinline)) double deep(const double *values)
{
	return level9(values, 7);
}

int main(int count, char **arguments)
{
	double values[16] = {(double)count};

	(void)arguments;
	return step(values, 16) + deep(values) > 1e9;
}
