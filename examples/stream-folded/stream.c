/* The STREAM kernels with three changes: b is allocated, scale reads c at random places, and the main loop is marked.
   With a third argument the copy goes from the end to the beginning, as memcpy of some C libraries does.
   As STREAM does, it measures itself: GB/s of each array in each kernel, of the median
   processor time.
   Usage: stream-folded-stream [TIMES [ELEMENTS [back]]] */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "fathom.h"

enum { MOST = 1 << 22 };

static double a[MOST], c[MOST];

/* Kernels stay functions of their own, as the compiler might mix their loops. */
#define KERNEL __attribute__((noinline)) static void

/* A call of memcpy may be one instruction that copies everything, whose references cannot be told apart. */
#if defined(__GNUC__) && !defined(__clang__)
#define LOOP __attribute__((optimize("no-tree-loop-distribute-patterns")))
#else
#define LOOP
#endif

LOOP KERNEL copy(long count)
{
	for (long j = 0; j < count; j++)
		c[j] = a[j];
}

LOOP KERNEL copy_back(long count)
{
	for (long j = count; j-- > 0;)
		c[j] = a[j];
}

/* An eighth of the elements: each takes longer. */
KERNEL scale(double *b, long count, double scalar)
{
	uint64_t random = 88172645463325252u;

	for (long j = 0; j < count / 8; j++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		b[j] = scalar * c[random % (uint64_t)count];
	}
}

KERNEL add(const double *b, long count)
{
	for (long j = 0; j < count; j++)
		c[j] = a[j] + b[j];
}

KERNEL triad(const double *b, long count, double scalar)
{
	for (long j = 0; j < count; j++)
		a[j] = b[j] + scalar * c[j];
}

enum { COPY, SCALE, ADD, TRIAD, KERNELS, TIMES_MAX = 10000 };

static double seconds[KERNELS][TIMES_MAX];

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int by_value(const void *first, const void *second)
{
	double one = *(const double *)first, other = *(const double *)second;

	return (one > other) - (one < other);
}

static void print_rates(long times, long count)
{
	static const char *const names[KERNELS] = {"copy", "scale", "add", "triad"};

	for (int k = 0; k < KERNELS; k++) {
		double bytes = (double)count * sizeof(double) / (k == SCALE ? 8 : 1);

		qsort(seconds[k], (size_t)times, sizeof(double), by_value);
		printf("%s %.3f\n", names[k], bytes / seconds[k][times / 2] / 1e9);
	}
}

int main(int argc, char **argv)
{
	long times = argc > 1 ? atol(argv[1]) : 60, count = argc > 2 ? atol(argv[2]) : MOST;
	double *b;

	if (count < 8 || count > MOST || times < 1 || times > TIMES_MAX)
		return 2;
	b = malloc((size_t)count * sizeof(*b));
	if (!b)
		return 1;
	for (long j = 0; j < count; j++) {
		a[j] = 1;
		b[j] = 2;
		c[j] = 0;
	}
	for (long k = 0; k < times; k++) {
		double at[KERNELS + 1];

		fathom_region_begin("iteration");
		at[COPY] = now();
		if (argc > 3)
			copy_back(count);
		else
			copy(count);
		at[SCALE] = now();
		scale(b, count, 0.25);
		at[ADD] = now();
		add(b, count);
		at[TRIAD] = now();
		triad(b, count, 0.25);
		at[KERNELS] = now();
		fathom_region_end("iteration");
		for (int i = 0; i < KERNELS; i++)
			seconds[i][k] = at[i + 1] - at[i];
	}
	print_rates(times, count);
	printf("%g\n", a[0] + b[1] + c[count - 1]);
	free(b);
	return 0;
}
