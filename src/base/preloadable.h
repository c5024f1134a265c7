/* Checks if a library can be preloaded into a program: impossible for static programs, other privileges, another C
   library or another processor. */
#ifndef FATHOM_BASE_PRELOADABLE_H
#define FATHOM_BASE_PRELOADABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Finds the file of a program like a shell. -ENOENT or -EACCES with a message. */
int fm_program_resolve(const char *name, char *ret_path, size_t size, struct fm_error *error);

/* Checks the file, or the interpreter of a script. -ENOTSUP with the reason and a remedy; -EACCES if it is no program.
   `emulated`: the option for the emulator, for the message; NULL without one. */
int fm_preloadable_check(const char *path, const char *emulated, struct fm_error *error);

/* fm_preloadable_check() for a library that also interposes allocation and fault handlers. */
int fm_preloadable_check_deep(const char *path, const char *emulated, struct fm_error *error);

/* True if the program's own code installs a filter of system calls (seccomp), which may end it for a call of the
   library. Calls through the C library are not considered: the preloaded library intercepts them. */
bool fm_preloadable_filters(const char *path);

#endif
