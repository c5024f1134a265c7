/* Can a library be preloaded into a program? Not into static ones, those that get other rights, those of another C
   library or another processor. */
#ifndef FATHOM_BASE_PRELOADABLE_H
#define FATHOM_BASE_PRELOADABLE_H

#include <stddef.h>

#include "base/error.h"

/* The file of a program as the shell would find it. -ENOENT, -EACCES with words. */
int fm_program_resolve(const char *name, char *ret_path, size_t size, struct fm_error *error);

/* Looks at the file, or at the interpreter of a script. -ENOTSUP with the reason and what does work; -EACCES for what
   is no program. */
int fm_preloadable_check(const char *path, struct fm_error *error);

#endif
