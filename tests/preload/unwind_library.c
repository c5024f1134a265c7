/* A library that comes and goes: frames of several kinds in code that is not always there. */
#include <alloca.h>
#include <stdlib.h>
#include <string.h>

void unwind_library_plain(void (*call)(void *), void *data, int depth);
void unwind_library_aligned(void (*call)(void *), void *data, int depth);

__attribute__((noinline)) void unwind_library_plain(void (*call)(void *), void *data, int depth)
{
	volatile int rest = depth;

	if (rest > 0)
		unwind_library_aligned(call, data, rest - 1);
	else
		call(data);
	rest = 0;
}

__attribute__((noinline)) void unwind_library_aligned(void (*call)(void *), void *data, int depth)
{
	char wide[128] __attribute__((aligned(64)));
	char *some = alloca((size_t)depth % 7 * 16 + 16);

	memset(wide, depth, sizeof(wide));
	memset(some, depth, 16);
	free(realloc(NULL, 16));
	__asm__ volatile("" : : "r"(wide), "r"(some) : "memory");
	if (depth > 0)
		unwind_library_plain(call, data, depth - 1);
	else
		call(data);
	__asm__ volatile("" : : "r"(wide), "r"(some) : "memory");
}
