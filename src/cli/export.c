#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "cli/output.h"
#include "export/exporter.h"

enum { KEY_TABLE = FM_KEY_OWN, KEY_FOLDED };

static const struct argp_option options[] = {
    {"format", 'f', "FORMAT", 0, "The format: paraver, perfetto, speedscope, callgrind, csv or json", 0},
    {"folded", KEY_FOLDED, NULL, 0,
     "With paraver: one folded instance of each region, combined from all instances, instead of the course of time", 0},
    {"table", KEY_TABLE, "NAME", 0,
     "With csv: this table of the recording (docs/recording.md lists the tables) instead of the samples or counts", 0},
    {"output", 'o', "FILE", 0,
     "Write to FILE and replace an existing file; '-' is standard output. Default: the recording's name with the "
     "ending of the format, in the current directory, if no such file exists",
     1},
    FM_OPTION_QUIET,
    {0},
};

struct input {
	struct fm_common common;
	const char *file;
	const struct fm_exporter *exporter;
	struct fm_export_options options;
};

static int unknown_format(const char *name, struct fm_error *error)
{
	char list[120], suggestion[64] = "";
	const char *names[16];
	unsigned count = 0;
	const char *near;

	for (; count < 16 && fm_exporters[count]; count++)
		names[count] = fm_exporters[count]->name;
	near = fm_suggest(name, names, count);
	/* by the ending of files */
	for (unsigned i = 0; i < count; i++)
		for (const char *const *suffix = fm_exporters[i]->suffixes; *suffix; suffix++)
			if (**suffix == '.' && !strcmp(*suffix + 1, name))
				near = names[i];
	if (near)
		snprintf(suggestion, sizeof(suggestion), "; did you mean %s?", near);
	fm_exporters_that_can(~0u, list, sizeof(list));
	return fm_error_set(error, EINVAL, "--format %s: unknown format%s Formats: %s", name,
	                    *suggestion ? suggestion : ".", list);
}

static const struct fm_setting settings[] = {
    FM_FLAG(KEY_FOLDED, options.folded),
    FM_TEXT(KEY_TABLE, options.table),
    {0},
};

static int parse(void *target, int key, char *argument, struct fm_error *error)
{
	struct input *input = target;

	if (key == 'f') {
		input->exporter = fm_exporter_find(argument);
		return input->exporter ? 0 : unknown_format(argument, error);
	}
	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	if (input->file)
		return fm_error_set(error, EINVAL, "one recording at a time: %s or %s", input->file, argument);
	input->file = argument;
	return 0;
}

static int check(void *target, struct fm_error *error)
{
	const struct input *input = target;
	char list[120];

	if (!input->file)
		return fm_error_set(error, EINVAL, "no recording given: fathom export run.fathom --format perfetto");
	if (input->exporter)
		return 0;
	fm_exporters_that_can(~0u, list, sizeof(list));
	return fm_error_set(error, EINVAL, "choose a format: --format FORMAT, one of %s", list);
}

static void say_what_was_written(const struct input *input, const char *path)
{
	const struct fm_exporter *exporter = input->exporter;

	if (input->common.verbosity < 0 || !*path)
		return;
	fprintf(stderr, "fathom: wrote %s", path);
	for (unsigned i = 1; exporter->suffixes[i]; i++)
		fprintf(stderr, "%s its %s", exporter->suffixes[i + 1] ? "," : " and", exporter->suffixes[i]);
	fprintf(stderr, "; for %s\n", exporter->opens);
}

static int run(const struct fm_command *command, int argc, char **argv)
{
	struct input input = {0};
	struct fm_recording *recording;
	struct fm_export export;
	struct fm_error error;
	char path[PATH_MAX] = "";
	int code = fm_command_parse(command, argc, argv, &input), r;

	if (code >= 0)
		return code;
	fm_interrupt_install();
	code = fm_output_load(input.file, &input.common, &recording);
	if (code)
		return code;
	export = (struct fm_export){.exporter = input.exporter,
	                            .options = input.options,
	                            .source = input.file,
	                            .path = input.common.output,
	                            .standard = stdout,
	                            .stop = &fm_interrupted};
	r = fm_export_run(&export, recording, path, sizeof(path), &error);
	fm_recording_free(recording);
	if (r)
		return fm_report_error(&error);
	say_what_was_written(&input, path);
	return FM_EXIT_DONE;
}

const struct fm_command fm_verb_export = {
    .name = "export",
    .summary = "write a recording for other tools: Paraver, Perfetto, speedscope, KCachegrind, CSV, JSON",
    .arguments = "FILE --format FORMAT",
    .description =
        "Writes a recording in the format of another tool.\n\n"
        "  paraver     .prv, .pcf and .row for Paraver: every sample with address,\n"
        "              level, cost, object and callers; event types of BSC's tools;\n"
        "              with --folded one combined instance of each region\n"
        "  perfetto    .pftrace for https://ui.perfetto.dev: threads as tracks, regions\n"
        "              as slices, samples as instants, levels over time as counters\n"
        "  speedscope  .speedscope.json for https://www.speedscope.app: call stacks\n"
        "  callgrind   .callgrind for KCachegrind and callgrind_annotate: costs by\n"
        "              function, line and call\n"
        "  csv         one row for each sample, with all names; or one table (--table)\n"
        "  json        the whole recording, table by table\n\n"
        "All formats accept recordings of 'fathom record'. Recordings of 'fathom stat' have no samples: json always "
        "works, csv nearly always, callgrind where the engine ran, paraver and perfetto with intervals (stat -I).\n\n"
        "Each sample has a weight, the processor time that it represents. To compare functions or objects, add "
        "weights; do not count samples. Each level is the most likely one. Files are written completely or not at all.",
    .examples = "Examples:\n"
                "  fathom record -o run.fathom -- ./program\n"
                "  fathom export run.fathom --format perfetto\n"
                "  fathom export run.fathom --format callgrind -o run.cg\n"
                "  fathom export run.fathom --format csv -o - | head\n"
                "  fathom export run.fathom --format csv --table memories -o objects.csv\n"
                "  fathom export run.fathom --format paraver -o traces/run.prv\n"
                "  fathom export run.fathom --format paraver --folded -o folded.prv",
    .options = options,
    .settings = settings,
    .parse = parse,
    .check = check,
    .run = run,
};
