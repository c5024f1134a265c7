/* Formats of other tools. An exporter writes what has been prepared, record by record, and keeps nothing of it; a new
   one is one file and one line in exporters.def. */
#ifndef FATHOM_EXPORT_EXPORTER_H
#define FATHOM_EXPORT_EXPORTER_H

#include "export/exported.h"
#include "export/files.h"

struct fm_exporter {
	const char *name;
	const char *suffixes[FM_FILES_MAX + 1]; /* of its files, ended by NULL */
	const char *opens;                      /* what to do with it: "wxparaver %s" */
	const char *words;                      /* one line, for people who choose */
	unsigned can;                           /* FM_EXPORT_…: one of these must be there; 0: anything does */
	bool folds, tables;                     /* knows these options */
	/* `sinks`: one for each suffix. What cannot be written is remembered there. */
	int (*write)(const struct fm_exported *exported, struct fm_sink *sinks, struct fm_error *error);
};

extern const struct fm_exporter *const fm_exporters[]; /* ended by NULL */

const struct fm_exporter *fm_exporter_find(const char *name);

struct fm_export {
	const struct fm_exporter *exporter;
	struct fm_export_options options;
	const char *source; /* path of the recording: it is not replaced, and gives the default names */
	const char *path;   /* NULL: named after the recording; "-": `standard` */
	FILE *standard;
	const volatile bool *stop; /* may be NULL */
};

/* `ret_path` is what was written, of several files the first; "" for `standard`. -EINVAL when the format does not suit
   the recording, with those that do; -EEXIST when something is in the way. */
int fm_export_run(const struct fm_export *export, const struct fm_recording *recording, char *ret_path, size_t size,
                  struct fm_error *error);

/* The formats that suit what a recording has: "csv, json". */
void fm_exporters_that_can(unsigned has, char *list, size_t size);

#endif
