/* The allocating functions of C, which those of C++ call. */
#include <stdlib.h>

#include "preload/allocator.h"
#include "trace/allocations.h"

#define SLOWLY static __attribute__((noinline, cold))
#define CALLER __builtin_return_address(0)

void *memalign(size_t alignment, size_t size);
void *pvalloc(size_t size);
void cfree(void *address);

static void *keep(void *address, size_t size, const void *caller)
{
	fm_allocations_keep(address, size, caller);
	return address;
}

SLOWLY void *malloc_slowly(size_t size, const void *caller)
{
	return keep(fm_next_allocator.malloc(size), size, caller);
}

EXPORTED void *malloc(size_t size)
{
	return fm_allocations_pass(size) ? fm_next_allocator.malloc(size) : malloc_slowly(size, CALLER);
}

SLOWLY void *calloc_slowly(size_t count, size_t size, const void *caller)
{
	return keep(fm_next_allocator.calloc(count, size), count * size, caller);
}

EXPORTED void *calloc(size_t count, size_t size)
{
	size_t total;

	/* too many bytes for a size_t: the next one fails */
	if (__builtin_mul_overflow(count, size, &total) || fm_allocations_pass(total))
		return fm_next_allocator.calloc(count, size);
	return calloc_slowly(count, size, CALLER);
}

SLOWLY void *realloc_slowly(void *old, size_t size, const void *caller)
{
	void *address;

	if (!fm_allocator_is_reserve(old))
		return keep(fm_next_allocator.realloc(old, size), size, caller);
	address = fm_next_allocator.malloc(size);
	for (size_t i = 0; address && i < fm_allocator_reserve_size(old) && i < size; i++)
		((volatile char *)address)[i] = ((const char *)old)[i];
	return address;
}

EXPORTED void *realloc(void *old, size_t size)
{
	if (!fm_allocator_is_reserve(old) && fm_allocations_pass(size))
		return fm_next_allocator.realloc(old, size);
	return realloc_slowly(old, size, CALLER);
}

EXPORTED void *memalign(size_t alignment, size_t size)
{
	void *address = fm_next_allocator.memalign(alignment, size);

	return fm_allocations_pass(size) ? address : keep(address, size, CALLER);
}

EXPORTED void *aligned_alloc(size_t alignment, size_t size)
{
	void *address = fm_next_allocator.aligned_alloc(alignment, size);

	return fm_allocations_pass(size) ? address : keep(address, size, CALLER);
}

EXPORTED int posix_memalign(void **ret_address, size_t alignment, size_t size)
{
	int error = fm_next_allocator.posix_memalign(ret_address, alignment, size);

	if (!error && !fm_allocations_pass(size))
		fm_allocations_keep(*ret_address, size, CALLER);
	return error;
}

EXPORTED void *valloc(size_t size)
{
	return keep(fm_next_allocator.valloc(size), size, CALLER);
}

EXPORTED void *pvalloc(size_t size)
{
	return keep(fm_next_allocator.pvalloc(size), size, CALLER);
}

EXPORTED void free(void *address)
{
	if (__builtin_expect(!fm_allocator_is_reserve(address), 1))
		fm_next_allocator.free(address);
}

/* Old programs call it; the C library has none to link with any more. */
EXPORTED void cfree(void *address)
{
	free(address);
}
