/* Interposed functions of the C library: mapped memory and stacks of threads get pages while some are left. Functions
   that install filters of system calls stop the runtime, which makes such calls. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "coloured/self.h"
#include "preload/hooks.h"

enum { THREAD_STACK_PAGES = 8 };

static void give(char *address, size_t bytes)
{
	size_t pages = (bytes + FM_PAGE_BYTES - 1) / FM_PAGE_BYTES;
	unsigned filled;
	int problem = errno;

	/* a part of a large mapping would be squeezed and the rest not: then rather nothing, which is said; and where
	   each page would be a mapping of its own, the program could not resize it */
	if (!fm_coloured.moves || pages > fm_coloured.page_count - fm_coloured.next || !fm_coloured_enter()) {
		__atomic_add_fetch(&fm_coloured.process->left_bytes, bytes, __ATOMIC_RELAXED);
		return;
	}
	filled = fm_coloured_fill(address, (unsigned)pages, FM_COLOURED_LOSE);
	fm_coloured_leave();
	__atomic_add_fetch(&fm_coloured.process->others, filled, __ATOMIC_RELAXED);
	errno = problem;
}

EXPORTED void *mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset)
{
	long result = fm_system_call(SYS_mmap, (long)address, (long)bytes, protection, flags, file, offset);

	if (fm_failed(result)) {
		errno = (int)-result;
		return MAP_FAILED;
	}
	if (fm_coloured.process && fm_coloured.pages && !address && protection == (PROT_READ | PROT_WRITE) &&
	    (flags & ~(MAP_POPULATE | MAP_STACK)) == (MAP_PRIVATE | MAP_ANONYMOUS))
		give((char *)result, bytes);
	return (void *)result;
}

EXPORTED void *mmap64(void *address, size_t bytes, int protection, int flags, int file, off_t offset)
{
	return mmap(address, bytes, protection, flags, file, offset);
}

struct start {
	void *(*function)(void *);
	void *argument;
};

/* The end of this thread's stack; NULL: not known. */
static const char *lowest_of_stack(void)
{
	pthread_attr_t attributes;
	size_t bytes, guard = 0;
	void *lowest = NULL;

	if (pthread_getattr_np(pthread_self(), &attributes))
		return NULL;
	if (pthread_attr_getstack(&attributes, &lowest, &bytes) || pthread_attr_getguardsize(&attributes, &guard))
		lowest = NULL;
	pthread_attr_destroy(&attributes);
	return lowest ? (const char *)lowest + guard : NULL;
}

static void *start_thread(void *context)
{
	struct start start = *(struct start *)context;
	const char *lowest;

	free(context);
	if (fm_coloured_enter()) {
		lowest = lowest_of_stack();
		if (lowest && fm_coloured.process)
			__atomic_add_fetch(&fm_coloured.process->others,
			                   fm_coloured_fill_stack(THREAD_STACK_PAGES, lowest), __ATOMIC_RELAXED);
		fm_coloured_leave();
	}
	return start.function(start.argument);
}

EXPORTED int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *),
                            void *argument)
{
	struct start *start;
	int r;

	fm_next_find();
	start = fm_coloured.process && fm_coloured.pages ? malloc(sizeof(*start)) : NULL;
	if (!start)
		return fm_next.pthread_create(thread, attributes, function, argument);
	*start = (struct start){function, argument};
	r = fm_next.pthread_create(thread, attributes, start_thread, start);
	if (r)
		free(start);
	return r;
}

/* The promise comes first, and a filter may follow at once. */
void fm_hook_filter(bool promised)
{
	(void)promised;
	fm_coloured_be_quiet();
}
