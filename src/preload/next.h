/* The next functions after the interposed ones: the C library's, or those of another preloaded library. They are looked
   up when the library is loaded: later the thread may be in a signal handler or in the loader. Interposed functions
   that may be called earlier look them up first. */
#ifndef FATHOM_PRELOAD_NEXT_H
#define FATHOM_PRELOAD_NEXT_H

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/types.h>

#include "preload/calls.h"

typedef int fm_mask_function(int how, const sigset_t *set, sigset_t *before);
typedef void fm_jump_function(struct __jmp_buf_tag *buffer, int value);

struct fm_next {
#define NEXT(type, name, arguments) type(*name) arguments;
#include "preload/next.def"
#undef NEXT
};
extern struct fm_next fm_next HIDDEN;

void fm_next_find_all(void);

/* Looks up all functions of the table. The last entry marks the table as complete. */
static inline void fm_next_find(void)
{
	if (__builtin_expect(!fm_next.dlclose, 0))
		fm_next_find_all();
}

/* Sets each function of the list that exists; the others keep their value. */
struct fm_next_name {
	const char *name;
	size_t offset; /* of the function pointer in the table */
};
void fm_next_look_up(void *functions, const struct fm_next_name *names, size_t count);

#endif
