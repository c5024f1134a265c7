/* String instructions of one kind and about the same size: each line takes about the same time. The lines of each class
   are counted, so the times of some represent all of them. */
#ifndef FATHOM_ENGINE_TRACE_STRING_CLASS_H
#define FATHOM_ENGINE_TRACE_STRING_CLASS_H

#include <stdbool.h>
#include <stdint.h>

enum {
	FM_STRING_SHORT = -1, /* no class: timed as part of the surrounding code */
	FM_STRING_KINDS = 3,  /* loads, stores, copies */
	FM_STRING_LEAST = 6,  /* log2 of lines: a page */
	FM_STRING_MOST = 18,  /* 16 MiB: longer ones are interrupted at random */
	FM_STRING_SIZES = FM_STRING_MOST - FM_STRING_LEAST + 1,
	FM_STRING_CLASSES = FM_STRING_KINDS * FM_STRING_SIZES,
};

/* Sizes of one kind are adjacent, ascending. */
static inline int fm_string_class(bool stores, bool copies, uint64_t lines)
{
	unsigned kind = copies ? 2 : stores, size;

	if (lines < 1u << FM_STRING_LEAST)
		return FM_STRING_SHORT;
	size = lines < 1u << FM_STRING_MOST ? 63 - (unsigned)__builtin_clzll(lines) : FM_STRING_MOST;
	return (int)(kind * FM_STRING_SIZES + size - FM_STRING_LEAST);
}

static inline bool fm_string_class_copies(int class)
{
	return class / FM_STRING_SIZES == 2;
}

#endif
