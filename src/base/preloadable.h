/* Can a library be preloaded into a program? Not into static ones, those that get other rights, those of another C
   library or another processor. */
#ifndef FATHOM_BASE_PRELOADABLE_H
#define FATHOM_BASE_PRELOADABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* The file of a program as the shell would find it. -ENOENT, -EACCES with words. */
int fm_program_resolve(const char *name, char *ret_path, size_t size, struct fm_error *error);

/* Looks at the file, or at the interpreter of a script. -ENOTSUP with the reason and what does work; -EACCES for what
   is no program. `emulated`: the option that runs it in the emulator instead, for the message; NULL: there is none. */
int fm_preloadable_check(const char *path, const char *emulated, struct fm_error *error);

/* The same for a library that also stands before functions that allocate memory and before handlers of faults. */
int fm_preloadable_check_deep(const char *path, const char *emulated, struct fm_error *error);

/* Does the program itself, in its own code, ask for a filter of system calls (seccomp), which may end it for a call of
   ours? A library that is preloaded sees only those that go through the C library. */
bool fm_preloadable_filters(const char *path);

#endif
