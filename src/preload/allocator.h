/* The next allocator: the C library's, or a preloaded or linked one. Its functions are called before any
   constructor. */
#ifndef FATHOM_PRELOAD_ALLOCATOR_H
#define FATHOM_PRELOAD_ALLOCATOR_H

#include <sys/types.h>

#include "preload/calls.h"

/* The next functions, callable from the beginning: each first points to a function that looks up all of them. */
struct fm_next_allocator {
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
extern struct fm_next_allocator fm_next_allocator HIDDEN;

/* Looks up the functions, once; later calls do nothing. */
void fm_next_allocator_find(void);

/* Is the address in the small reserve that serves dlsym during the lookup? It is never released. */
bool fm_allocator_is_reserve(const void *address);
size_t fm_allocator_reserve_size(const void *address);

/* Locates the code of the allocator, unless it is the C library's, which never calls interposed functions for its own
   heap. Requests from that code are for its own use. Called once, with all libraries loaded. */
void fm_allocator_locate(const void *allocator);
bool fm_allocator_has_code(const void *code);

/* Are the two functions in the same library? */
bool fm_allocator_together(const void *function, const void *other);

#endif
