/* Regions nested, repeated, unbalanced, and gathers, repeated strings, splits inside them. */
#include <immintrin.h>
#include <string.h>
#include <sys/wait.h>

#include "fathom.h"

static volatile long numbers[64];
static char bytes[4096], other[4096];
static _Alignas(64) char aligned[192];

__attribute__((target("avx2"))) static void gather(void)
{
	__m256i index = _mm256_set_epi64x(24, 16, 8, 0);
	__m256i values = _mm256_i64gather_epi64((const long long *)(const void *)numbers, index, 8);

	__asm__ volatile("" : : "x"(values));
}

/* A region inside itself. */
static void descend(int levels)
{
	fathom_region_begin("recursion");
	for (int i = 0; i < 100; i++)
		(void)numbers[i % 64];
	if (levels > 1)
		descend(levels - 1);
	fathom_region_end("recursion");
}

/* Regions of a forked process, of a name that no terminal should see, and of none. */
static void odd_ones(void)
{
	int status;

	fathom_region_begin("odd\n\033\xff");
	fathom_region_end("odd\n\033\xff");
	fathom_region_begin(NULL);
	fathom_region_end(NULL);
	if (!fork()) {
		fathom_region_begin("forked");
		for (int i = 0; i < 64; i++)
			(void)numbers[i];
		fathom_region_end("forked");
		_exit(0);
	}
	wait(&status);
}

int main(void)
{
	fathom_region_end("never begun");
	descend(3);
	odd_ones();
	for (int i = 0; i < 10; i++) {
		fathom_region_begin("outer");
		for (int j = 0; j < 64; j++)
			(void)numbers[j];
		fathom_region_begin("inner");
		(void)numbers[0];
		fathom_region_end("inner");
		fathom_region_end("outer");
	}
	fathom_region_begin("nothing");
	fathom_region_end("nothing");
	if (__builtin_cpu_supports("avx2")) {
		fathom_region_begin("gathers");
		gather();
		fathom_region_end("gathers");
	}
	fathom_region_begin("strings");
	{
		void *to = other;
		const void *from = bytes;
		unsigned long count = sizeof(bytes);

		__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
	}
	fathom_region_end("strings");
	fathom_region_begin("splits_");
	for (int i = 0; i < 100; i++)
		(void)*(volatile long *)(void *)(aligned + 60);
	fathom_region_end("splits_");
	fathom_region_begin("never ended");
	return 0;
}
