/* Files of an export are written beside their places and then renamed, so that each is complete or absent. The first
   file is renamed last: a tool that opens a trace finds its labels. */
#ifndef FATHOM_EXPORT_FILES_H
#define FATHOM_EXPORT_FILES_H

#include <limits.h>

#include "base/error.h"
#include "export/sink.h"

enum { FM_FILES_MAX = 3 };

struct fm_files {
	struct fm_sink sinks[FM_FILES_MAX];
	char paths[FM_FILES_MAX][PATH_MAX];
	char beside[FM_FILES_MAX][PATH_MAX]; /* "": written in place (devices and pipes) */
	unsigned count;
};

/* Opens one file per suffix (NULL-terminated). A single file has the path unchanged; several files get their suffixes,
   which replace the first suffix at the end of the path. -EEXIST: a symbolic link, a folder, the file `source`, or,
   unless `replace`, an existing file. */
int fm_files_open(struct fm_files *files, const char *path, const char *const *suffixes, bool replace,
                  const char *source, const volatile bool *stop, struct fm_error *error);

/* Uses an open stream, which stays open. */
void fm_files_use(struct fm_files *files, FILE *stream, const volatile bool *stop);

/* Closes the files. Renames them to their places unless `failed` is set or a write failed. */
int fm_files_finish(struct fm_files *files, bool failed, struct fm_error *error);

#endif
