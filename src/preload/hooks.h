/* The events of a program that a preloaded library reacts to. Each library that links a file of preload/interpose
   defines the hooks of that file. */
#ifndef FATHOM_PRELOAD_HOOKS_H
#define FATHOM_PRELOAD_HOOKS_H

#include "preload/next.h"

/* interpose/signals.c. Does the library handle actions for this signal? If so, sigaction() and masks go through it. */
bool fm_hook_has_signal(int number);
int fm_hook_action(int number, const struct sigaction *action, struct sigaction *before);
int fm_hook_mask(fm_mask_function *next, int how, const sigset_t *set, sigset_t *before);

/* interpose/filters.c. The program is about to install a system call filter, which may end the program for a call of
   the runtime. `promised`: the program only gives up new privileges, a step before the filter. */
void fm_hook_filter(bool promised);

/* interpose/execute.c. */
struct fm_execution {
	const char *path;
	bool searched; /* the path is a name to search in PATH */
	char *const *arguments, *const *environment;
};
int fm_hook_execute(const struct fm_execution *execution);

/* Executes the program. Returns only on failure. */
int fm_execute_next(const struct fm_execution *execution);

/* The process ends without destructors. Never returns. */
__attribute__((noreturn)) void fm_hook_exit(int status);

/* allocator.c. The address is one of the reserve: it must not reach the next free(). */
void fm_hook_reserved(const void *address);

/* interpose/code.c. Code at these addresses may have changed; `unloaded`: a library was unloaded. */
void fm_hook_code_changed(uint64_t begin, uint64_t end, bool unloaded);

/* marks.c, for include/fathom.h. An object without a name loses its name. */
void fm_hook_region(bool begins, const char *name);
void fm_hook_object(const char *name, const void *address, unsigned long size, const char *group);

#endif
