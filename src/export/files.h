/* The files of an export: written beside their places and then renamed, so that there are whole ones or none. The last
   one is renamed first and the first one last: who opens a trace finds its labels. */
#ifndef FATHOM_EXPORT_FILES_H
#define FATHOM_EXPORT_FILES_H

#include <limits.h>

#include "base/error.h"
#include "export/sink.h"

enum { FM_FILES_MAX = 3 };

struct fm_files {
	struct fm_sink sinks[FM_FILES_MAX];
	char paths[FM_FILES_MAX][PATH_MAX];
	char beside[FM_FILES_MAX][PATH_MAX]; /* "": written in place, as devices and pipes are */
	unsigned count;
};

/* `suffixes` are ended by NULL. One file has the path as it is; of several each gets its suffix, instead of the first
   one if the path ends in that. Refused (-EEXIST): symbolic links, folders, the file `source` itself, and, unless
   `replace`, whatever is there. */
int fm_files_open(struct fm_files *files, const char *path, const char *const *suffixes, bool replace,
                  const char *source, const volatile bool *stop, struct fm_error *error);

/* A stream that is open already, and stays so. */
void fm_files_use(struct fm_files *files, FILE *stream, const volatile bool *stop);

/* Closes them, and puts them into their places unless `failed` or something could not be written. */
int fm_files_finish(struct fm_files *files, bool failed, struct fm_error *error);

#endif
