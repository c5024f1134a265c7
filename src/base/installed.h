/* Files that come with Fathom: where they are when it is installed, and in a build tree. Nothing is ever found in the
   current folder: a path that somebody typed, which has a slash, is theirs and not looked up here. */
#ifndef FATHOM_BASE_INSTALLED_H
#define FATHOM_BASE_INSTALLED_H

#include <stddef.h>

enum fm_installed_kind {
#define INSTALLED(identifier, variable, access, ...) FM_INSTALLED_##identifier,
#include "base/installed.def"
#undef INSTALLED
	FM_INSTALLED_COUNT
};

/* The file of that name, with its suffix, which can be read, or executed if it is a program. Looked for in the folder
   that the kind's variable of the environment names, if it is set, and nowhere else then; otherwise in the folders of
   installed.def. -ENOENT, or -EINVAL for a name that leads out of the folder. */
int fm_installed_find(enum fm_installed_kind kind, const char *name, char *ret_path, size_t size);

/* The first of these folders that is there, for those who list what it holds. -ENOENT. */
int fm_installed_folder(enum fm_installed_kind kind, char *ret_path, size_t size);

/* What people set to say where the kind is; NULL when there is no such variable. */
const char *fm_installed_variable(enum fm_installed_kind kind);

#endif
