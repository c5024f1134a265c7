/* Memory of one's own down to the cache line. */
#ifndef FATHOM_BASE_MEMORY_H
#define FATHOM_BASE_MEMORY_H

#include <stdlib.h>
#include <string.h>

/* Processors fetch lines in pairs: so far apart must be what two of them write. */
enum { FM_APART = 128 };

/* Zeroed, to be given to free(), and nothing else shares its lines: for what is used on one processor while others
   write to their neighbours on the heap. NULL when there is none left, or the size overflows. */
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
