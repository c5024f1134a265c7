/* Functions that stand before the C library's: memory that is mapped, and stacks of threads, get pages as long as some
   are left. And those by which a program forbids itself system calls, which would be ours as well. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "coloured/self.h"

#define EXPORTED __attribute__((visibility("default")))

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
	static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	struct start *start;
	int r;

	if (!next)
		next = (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(RTLD_NEXT,
		                                                                                      "pthread_create");
	start = fm_coloured.process && fm_coloured.pages ? malloc(sizeof(*start)) : NULL;
	if (!start)
		return next(thread, attributes, function, argument);
	*start = (struct start){function, argument};
	r = next(thread, attributes, start_thread, start);
	if (r)
		free(start);
	return r;
}

/* Filters need either rights, or the promise not to gain any, which comes first. */
static bool is_filter(long number, long first)
{
	return number == SYS_seccomp ? first == SECCOMP_SET_MODE_STRICT || first == SECCOMP_SET_MODE_FILTER
	                             : number == SYS_prctl && (first == PR_SET_SECCOMP || first == PR_SET_NO_NEW_PRIVS);
}

EXPORTED long syscall(long number, ...)
{
	long arguments[6], result;
	__builtin_va_list list;

	__builtin_va_start(list, number);
	for (unsigned i = 0; i < 6; i++)
		arguments[i] = __builtin_va_arg(list, long);
	__builtin_va_end(list);
	if (is_filter(number, arguments[0]))
		fm_coloured_be_quiet();
	result =
	    fm_system_call(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
	if (fm_failed(result)) {
		errno = (int)-result;
		return -1;
	}
	return result;
}

EXPORTED int prctl(int option, ...)
{
	long arguments[4];
	__builtin_va_list list;

	__builtin_va_start(list, option);
	for (unsigned i = 0; i < 4; i++)
		arguments[i] = __builtin_va_arg(list, long);
	__builtin_va_end(list);
	return (int)syscall(SYS_prctl, (long)option, arguments[0], arguments[1], arguments[2], arguments[3]);
}
