#include "replay/places.h"

#include <stddef.h>

struct place_grid place_grid;
int place_numbers[100] = {1};
__thread int place_local[16];

static __attribute__((noinline)) uint64_t after_call(void)
{
	return (uint64_t)__builtin_return_address(0);
}

/* Not the last thing they do, or the call would be a jump. */
static volatile uint64_t keep;

__attribute__((noinline)) uint64_t place_leaf(void)
{
	keep = after_call();
	return keep;
}
__attribute__((noinline)) uint64_t xmalloc(void)
{
	keep = after_call();
	return keep;
}
__attribute__((noinline)) uint64_t place_outer(void)
{
	keep = after_call();
	return keep;
}
