#include "export/exporter.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define EXPORTER(identifier) extern const struct fm_exporter fm_exporter_##identifier;
#include "export/exporters.def"
#undef EXPORTER

const struct fm_exporter *const fm_exporters[] = {
#define EXPORTER(identifier) &fm_exporter_##identifier,
#include "export/exporters.def"
#undef EXPORTER
    NULL,
};

const struct fm_exporter *fm_exporter_find(const char *name)
{
	for (unsigned i = 0; fm_exporters[i]; i++)
		if (!strcmp(fm_exporters[i]->name, name))
			return fm_exporters[i];
	return NULL;
}

void fm_exporters_that_can(unsigned has, char *list, size_t size)
{
	size_t used = 0;

	*list = '\0';
	for (unsigned i = 0; fm_exporters[i]; i++)
		if ((!fm_exporters[i]->can || fm_exporters[i]->can & has) && used < size)
			used +=
			    (size_t)snprintf(list + used, size - used, "%s%s", used ? ", " : "", fm_exporters[i]->name);
}

/* Checks that the format suits the contents of the recording. */
static int suit(const struct fm_exporter *exporter, const struct fm_exported *exported, struct fm_error *error)
{
	const struct fm_recorded_sampling *sampling = &exported->recording->sampling;
	char others[120];

	if (!exporter->can || exporter->can & exported->has)
		return 0;
	fm_exporters_that_can(exported->has, others, sizeof(others));
	if (*sampling->sampler)
		return fm_error_set(
		    error, EINVAL,
		    "the recording has no samples: the program was too short, or could not be sampled; record it "
		    "longer or with a higher --overhead ('fathom report' shows the losses). It can be written as: %s",
		    others);
	if (exporter->can & FM_EXPORT_SERIES)
		return fm_error_set(
		    error, EINVAL,
		    "%s needs data over time, but this recording of 'fathom stat' has only totals: 'fathom record' "
		    "samples references, 'fathom stat -I MS --record' counts in intervals. These sums can be written "
		    "as: %s",
		    exporter->name, others);
	return fm_error_set(
	    error, EINVAL,
	    "%s needs %s, but this recording of 'fathom stat' has none: 'fathom record' samples references. This "
	    "recording can be written as: %s",
	    exporter->name,
	    exporter->can & FM_EXPORT_LINES ? "sampled references or source lines" : "sampled references", others);
}

/* "FOLDER/run.fathom" becomes "run.prv" in the working directory. */
static void default_path(const struct fm_export *export, char *path, size_t size)
{
	const char *name = strrchr(export->source, '/');
	size_t length;

	name = name ? name + 1 : export->source;
	length = strlen(name);
	if (length > 7 && !strcmp(name + length - 7, ".fathom"))
		length -= 7;
	snprintf(path, size, "%.*s%s", (int)length, name, export->exporter->suffixes[0]);
}

static int write_files(const struct fm_export *export, const struct fm_exported *exported, char *ret_path, size_t size,
                       struct fm_error *error)
{
	const struct fm_exporter *exporter = export->exporter;
	struct fm_files files;
	char path[PATH_MAX];
	int r = 0;

	if (export->path && !strcmp(export->path, "-")) {
		if (exporter->suffixes[1])
			return fm_error_set(
			    error, EINVAL,
			    "%s has several files, so it cannot be written to standard output: name them with "
			    "-o NAME%s",
			    exporter->name, exporter->suffixes[0]);
		fm_files_use(&files, export->standard, export->stop);
		*ret_path = '\0';
	} else {
		default_path(export, path, sizeof(path));
		r = fm_files_open(&files, export->path ? export->path : path, exporter->suffixes, export->path != NULL,
		                  export->source, export->stop, error);
		if (r)
			return r;
		snprintf(ret_path, size, "%s", files.paths[0]);
	}
	r = exporter->write(exported, files.sinks, error);
	if (r) {
		fm_files_finish(&files, true, NULL);
		return r;
	}
	return fm_files_finish(&files, false, error);
}

int fm_export_run(const struct fm_export *export, const struct fm_recording *recording, char *ret_path, size_t size,
                  struct fm_error *error)
{
	const struct fm_exporter *exporter = export->exporter;
	struct fm_exported exported;
	int r;

	if (export->options.folded && !exporter->folds)
		return fm_error_set(error, EINVAL, "--folded needs --format paraver, not %s", exporter->name);
	if (export->options.table && !exporter->tables)
		return fm_error_set(error, EINVAL, "--table needs --format csv, not %s", exporter->name);
	r = fm_exported_prepare(recording, &export->options, &exported, error);
	if (r)
		return r;
	r = suit(exporter, &exported, error);
	if (!r && export->options.folded && !(exported.has & FM_EXPORT_SAMPLES))
		r = fm_error_set(
		    error, EINVAL,
		    "--folded folds sampled references, and this recording has none: 'fathom record' samples them");
	if (!r)
		r = write_files(export, &exported, ret_path, size, error);
	fm_exported_free(&exported);
	return r;
}
