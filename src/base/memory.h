/* Allocations without false sharing. */
#ifndef FATHOM_BASE_MEMORY_H
#define FATHOM_BASE_MEMORY_H

#include <stdlib.h>
#include <string.h>

/* Distance between data of two processors without false sharing: processors fetch lines in pairs. */
enum { FM_APART = 128 };

/* Allocates zeroed memory in separate cache lines, without false sharing with other heap data. Release with free().
   NULL without memory or if the size overflows. */
static inline void *fm_memory_apart(size_t count, size_t size)
{
	size_t bytes;
	void *memory;

	if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX - FM_APART)
		return NULL;
	bytes = (bytes + FM_APART - 1) / FM_APART * FM_APART;
	memory = aligned_alloc(FM_APART, bytes ? bytes : FM_APART);
	return memory ? memset(memory, 0, bytes ? bytes : FM_APART) : NULL;
}

#endif
