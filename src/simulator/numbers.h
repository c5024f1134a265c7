/* Structures of 64-bit counts only, added and subtracted as a whole. */
#ifndef FATHOM_SIMULATOR_NUMBERS_H
#define FATHOM_SIMULATOR_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

static inline void fm_numbers_add(void *target, const void *other, size_t bytes)
{
	for (size_t i = 0; i < bytes / sizeof(uint64_t); i++)
		((uint64_t *)target)[i] += ((const uint64_t *)other)[i];
}

static inline void fm_numbers_subtract(void *target, const void *other, size_t bytes)
{
	for (size_t i = 0; i < bytes / sizeof(uint64_t); i++)
		((uint64_t *)target)[i] -= ((const uint64_t *)other)[i];
}

#endif
