/* The functions that come after ours: the C library's, or those of an allocator that is preloaded or linked. */
#ifndef FATHOM_RECORD_NEXT_H
#define FATHOM_RECORD_NEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Can be called from the beginning: each begins as one that finds them all. */
struct fm_next {
	void *(*malloc)(size_t size);
	void *(*calloc)(size_t count, size_t size);
	void *(*realloc)(void *address, size_t size);
	void *(*memalign)(size_t alignment, size_t size);
	void *(*aligned_alloc)(size_t alignment, size_t size);
	int (*posix_memalign)(void **ret_address, size_t alignment, size_t size);
	void *(*valloc)(size_t size);
	void *(*pvalloc)(size_t size);
	void (*free)(void *address);
	size_t (*malloc_usable_size)(void *address); /* 0 where there is none */
	void *(*mmap)(void *address, size_t size, int protection, int flags, int file, off_t offset);
	void *(*mremap)(void *address, size_t old_size, size_t size, int flags, void *new_address);
	int (*munmap)(void *address, size_t size);
};
extern struct fm_next fm_next __attribute__((visibility("hidden")));

/* Once; later it does nothing. */
void fm_next_find(void);

/* While they are being found there is a small reserve, because dlsym allocates. Released by nobody; the addresses are
 * suspect in live.h. */
bool fm_next_is_reserve(const void *address);
size_t fm_next_reserve_size(const void *address);

/* Where the code of the allocator is, unless it is the C library's (which never calls interposed functions for its own
   heap): what is mapped or allocated from there is for its own use. Called once, when all libraries are there. */
void fm_next_locate(const void *allocator);
bool fm_next_is_allocator(const void *code);

/* Whether two functions are in the same library. */
bool fm_next_together(const void *function, const void *other);

#endif
