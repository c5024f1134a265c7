/* Files of Fathom, in an installation or a build tree. The current folder is never searched. Names with a slash are
   paths of the user and not looked up here. */
#ifndef FATHOM_BASE_INSTALLED_H
#define FATHOM_BASE_INSTALLED_H

#include <stddef.h>

enum fm_installed_kind {
#define INSTALLED(identifier, variable, access, ...) FM_INSTALLED_##identifier,
#include "base/installed.def"
#undef INSTALLED
	FM_INSTALLED_COUNT
};

/* Finds a file by name and suffix that is readable, or executable if it is a program. If the environment variable of
   the kind is set, only its folder is searched, otherwise the folders of installed.def. -ENOENT, or -EINVAL for a name
   that leaves the folder. */
int fm_installed_find(enum fm_installed_kind kind, const char *name, char *ret_path, size_t size);

/* The first existing folder of the kind, for lists of its files. 0 or -ENOENT. */
int fm_installed_folder(enum fm_installed_kind kind, char *ret_path, size_t size);

/* The environment variable of the kind; NULL if it has none. */
const char *fm_installed_variable(enum fm_installed_kind kind);

#endif
