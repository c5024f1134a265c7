/* Formats of other tools. An exporter writes the prepared data record by record. A new exporter is one file and one
   line in exporters.def. */
#ifndef FATHOM_EXPORT_EXPORTER_H
#define FATHOM_EXPORT_EXPORTER_H

#include "export/exported.h"
#include "export/files.h"

struct fm_exporter {
	const char *name;
	const char *suffixes[FM_FILES_MAX + 1]; /* suffixes of the files, NULL-terminated */
	const char *opens;                      /* command that opens it: "wxparaver %s" */
	const char *words;                      /* one line, for the help text */
	unsigned can;                           /* FM_EXPORT_…: required contents, at least one; 0: any recording */
	bool folds, tables;                     /* supported options */
	/* `sinks`: one for each suffix; they keep the first error. */
	int (*write)(const struct fm_exported *exported, struct fm_sink *sinks, struct fm_error *error);
};

extern const struct fm_exporter *const fm_exporters[]; /* ended by NULL */

const struct fm_exporter *fm_exporter_find(const char *name);

struct fm_export {
	const struct fm_exporter *exporter;
	struct fm_export_options options;
	const char *source; /* path of the recording, which is not replaced; also the source of default names */
	const char *path;   /* NULL: named after the recording; "-": `standard` */
	FILE *standard;
	const volatile bool *stop; /* may be NULL */
};

/* `ret_path`: the written file, the first of several, or "" for `standard`. -EINVAL: the format does not suit the
   recording; the message lists suitable formats. -EEXIST: a file is in the way. */
int fm_export_run(const struct fm_export *export, const struct fm_recording *recording, char *ret_path, size_t size,
                  struct fm_error *error);

/* Formats that suit the contents of a recording: "csv, json". */
void fm_exporters_that_can(unsigned has, char *list, size_t size);

#endif
