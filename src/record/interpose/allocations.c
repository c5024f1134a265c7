/* The allocating functions of C, and those that map memory. Part of what is preloaded only. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "record/mappings.h"
#include "preload/allocator.h"
#include "record/tracking.h"

#define SLOWLY static __attribute__((noinline, cold))
#define CALLER __builtin_return_address(0)

void *memalign(size_t alignment, size_t size);
void *pvalloc(size_t size);
void cfree(void *address);

static void *keep(void *address, size_t size, uint64_t weight, const void *caller)
{
	if (address && weight)
		fm_tracking_keep(address, size, FM_ALLOCATED_HEAP, weight, caller);
	return address;
}

SLOWLY void *malloc_slowly(size_t size, const void *caller)
{
	uint64_t weight = fm_tracking_weight(size, caller);

	return keep(fm_next_allocator.malloc(size), size, weight, caller);
}

void *fm_interposed_malloc(size_t size)
{
	if (fm_tracking_passes(size))
		return fm_next_allocator.malloc(size);
	return malloc_slowly(size, CALLER);
}

EXPORTED void *malloc(size_t size) __attribute__((alias("fm_interposed_malloc")));

SLOWLY void *calloc_slowly(size_t count, size_t size, const void *caller)
{
	size_t total = count * size;
	uint64_t weight = fm_tracking_weight(total, caller);

	return keep(fm_next_allocator.calloc(count, size), total, weight, caller);
}

EXPORTED void *calloc(size_t count, size_t size)
{
	size_t total;

	/* too many bytes for a size_t: the next one fails */
	if (__builtin_mul_overflow(count, size, &total) || fm_tracking_passes(total))
		return fm_next_allocator.calloc(count, size);
	return calloc_slowly(count, size, CALLER);
}

SLOWLY void *realloc_slowly(void *old, size_t size, const void *caller)
{
	uint64_t weight;
	bool released;
	void *address;

	if (fm_allocator_is_reserve(old)) {
		size_t old_size = fm_allocator_reserve_size(old);

		address = fm_next_allocator.malloc(size);
		for (size_t i = 0; address && i < old_size && i < size; i++)
			((volatile char *)address)[i] = ((const char *)old)[i];
		return address;
	}
	weight = fm_tracking_weight(size, caller);
	/* One that fails for sure must not end what it leaves as it is. */
	released = size <= PTRDIFF_MAX && fm_live_maybe(old) && fm_tracking_release(old);
	address = fm_next_allocator.realloc(old, size);
	if (!address && size && released)
		fm_tracking_keep_again(old, caller);
	return keep(address, size, weight, caller);
}

EXPORTED void *realloc(void *old, size_t size)
{
	if (FM_LIKELY(!fm_live_maybe(old))) {
		if (fm_tracking_passes(size))
			return fm_next_allocator.realloc(old, size);
	} else {
		fm_self.until_tracked--;
	}
	return realloc_slowly(old, size, CALLER);
}

EXPORTED void *reallocarray(void *old, size_t count, size_t size)
{
	size_t total;

	/* That of the C library would come back to our realloc, and the caller would be the library. */
	if (__builtin_mul_overflow(count, size, &total)) {
		errno = ENOMEM;
		return NULL;
	}
	fm_self.until_tracked--;
	return realloc_slowly(old, total, CALLER);
}

SLOWLY void *memalign_slowly(size_t alignment, size_t size, const void *caller)
{
	uint64_t weight = fm_tracking_weight(size, caller);

	return keep(fm_next_allocator.memalign(alignment, size), size, weight, caller);
}

EXPORTED void *memalign(size_t alignment, size_t size)
{
	if (fm_tracking_passes(size))
		return fm_next_allocator.memalign(alignment, size);
	return memalign_slowly(alignment, size, CALLER);
}

SLOWLY void *aligned_alloc_slowly(size_t alignment, size_t size, const void *caller)
{
	uint64_t weight = fm_tracking_weight(size, caller);

	return keep(fm_next_allocator.aligned_alloc(alignment, size), size, weight, caller);
}

EXPORTED void *aligned_alloc(size_t alignment, size_t size)
{
	if (fm_tracking_passes(size))
		return fm_next_allocator.aligned_alloc(alignment, size);
	return aligned_alloc_slowly(alignment, size, CALLER);
}

SLOWLY int posix_memalign_slowly(void **ret_address, size_t alignment, size_t size, const void *caller)
{
	uint64_t weight = fm_tracking_weight(size, caller);
	int error = fm_next_allocator.posix_memalign(ret_address, alignment, size);

	if (!error)
		keep(*ret_address, size, weight, caller);
	return error;
}

EXPORTED int posix_memalign(void **ret_address, size_t alignment, size_t size)
{
	if (fm_tracking_passes(size))
		return fm_next_allocator.posix_memalign(ret_address, alignment, size);
	return posix_memalign_slowly(ret_address, alignment, size, CALLER);
}

/* These two are rare: no short way. */
EXPORTED void *valloc(size_t size)
{
	uint64_t weight = fm_tracking_passes(size) ? 0 : fm_tracking_weight(size, CALLER);

	return keep(fm_next_allocator.valloc(size), size, weight, CALLER);
}

EXPORTED void *pvalloc(size_t size)
{
	uint64_t weight = fm_tracking_passes(size) ? 0 : fm_tracking_weight(size, CALLER);

	return keep(fm_next_allocator.pvalloc(size), size, weight, CALLER);
}

SLOWLY void free_slowly(void *address)
{
	if (fm_allocator_is_reserve(address))
		return;
	fm_tracking_release(address);
	fm_next_allocator.free(address);
}

void fm_interposed_free(void *address)
{
	if (fm_tracking_release_passes(address))
		fm_next_allocator.free(address);
	else
		free_slowly(address);
}

EXPORTED void free(void *address) __attribute__((alias("fm_interposed_free")));

/* Old programs call it; the C library has none to link with any more. */
EXPORTED void cfree(void *address)
{
	free_slowly(address);
}

EXPORTED void *mmap(void *address, size_t size, int protection, int flags, int file, off_t offset)
{
	void *mapped = fm_next_allocator.mmap(address, size, protection, flags, file, offset);

	if (mapped == MAP_FAILED)
		return mapped;
	if (flags & MAP_FIXED) {
		fm_mappings_changed(mapped, size);
		fm_tracking_release_mapped(mapped, size);
	}
	if (file >= 0 && !(flags & MAP_ANONYMOUS))
		fm_mappings_of_file(mapped, size, file);
	fm_tracking_keep_mapped(mapped, size, CALLER);
	return mapped;
}

EXPORTED void *mmap64(void *address, size_t size, int protection, int flags, int file, off_t offset)
    __attribute__((alias("mmap")));

EXPORTED void *mremap(void *address, size_t old_size, size_t size, int flags, ...)
{
	void *mapped, *begun = NULL, *new_address = NULL;

	if (flags & MREMAP_FIXED) {
		va_list arguments;

		va_start(arguments, flags);
		new_address = va_arg(arguments, void *);
		va_end(arguments);
	}
	/* Its old place may be somebody else's as soon as it has moved; but it may as well not move at all. An old size
	   of 0 makes a second mapping of the same memory. */
	if (old_size && !(flags & MREMAP_DONTUNMAP))
		begun = fm_tracking_begin_release();
	mapped = fm_next_allocator.mremap(address, old_size, size, flags, new_address);
	if (mapped == MAP_FAILED) {
		fm_tracking_end_release(begun, NULL, 0);
		return mapped;
	}
	fm_tracking_end_release(begun, address, old_size);
	fm_mappings_changed(address, old_size);
	if (flags & MREMAP_FIXED)
		fm_tracking_release_mapped(mapped, size);
	fm_tracking_keep_mapped(mapped, size, CALLER);
	return mapped;
}

EXPORTED int munmap(void *address, size_t size)
{
	/* before, since another thread may be given the place at once; these two are what makes it fail */
	if (size && (uintptr_t)address % 4096 == 0)
		fm_tracking_release_mapped(address, size);
	fm_mappings_changed(address, size);
	return fm_next_allocator.munmap(address, size);
}
