#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "cli/command.h"
#include "export/exporter.h"
#include "observe/sampled.h"
#include "recording/store.h"

enum { KEY_TABLE = FM_KEY_OWN, KEY_FOLDED };

static const struct argp_option options[] = {
    {"format", 'f', "FORMAT", 0, "The format: paraver, perfetto, speedscope, callgrind, csv or json", 0},
    {"folded", KEY_FOLDED, NULL, 0,
     "Of paraver: one instance of each region, made of all of them, instead of what happened when", 0},
    {"table", KEY_TABLE, "NAME", 0,
     "Of csv: this table of the recording (docs/recording.md lists them) instead of what it is about", 0},
    {"output", 'o', "FILE", 0,
     "Write to FILE, and replace it if it is there; '-' is standard output. Default: the recording's name with the "
     "ending of the format, in this folder, if there is no such file yet",
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

static error_t unknown_format(const char *name)
{
	char list[120], suggestion[64] = "";
	const char *names[16];
	struct fm_error error;
	unsigned count = 0;
	const char *near;

	for (; count < 16 && fm_exporters[count]; count++)
		names[count] = fm_exporters[count]->name;
	near = fm_suggest(name, names, count);
	/* by the ending of its files */
	for (unsigned i = 0; i < count; i++)
		for (const char *const *suffix = fm_exporters[i]->suffixes; *suffix; suffix++)
			if (**suffix == '.' && !strcmp(*suffix + 1, name))
				near = names[i];
	if (near)
		snprintf(suggestion, sizeof(suggestion), "; did you mean %s?", near);
	fm_exporters_that_can(~0u, list, sizeof(list));
	fm_error_set(&error, EINVAL, "--format %s: there is no such format%s It can be %s", name,
	             *suggestion ? suggestion : ".", list);
	return fm_usage_error(&error);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct input *input = state->input;
	struct fm_error error;
	char list[120];

	switch (key) {
	case 'f':
		input->exporter = fm_exporter_find(argument);
		return input->exporter ? 0 : unknown_format(argument);
	case KEY_FOLDED:
		input->options.folded = true;
		return 0;
	case KEY_TABLE:
		input->options.table = argument;
		return 0;
	case ARGP_KEY_ARG:
		if (input->file) {
			fm_error_set(&error, EINVAL, "one recording at a time: %s or %s", input->file, argument);
			return fm_usage_error(&error);
		}
		input->file = argument;
		return 0;
	case ARGP_KEY_END:
		if (!input->file)
			fm_error_set(&error, EINVAL,
			             "there is no recording to export: fathom export run.fathom --format perfetto");
		else if (!input->exporter) {
			fm_exporters_that_can(~0u, list, sizeof(list));
			fm_error_set(&error, EINVAL, "choose a format: --format FORMAT, one of %s", list);
		} else
			return 0;
		return fm_usage_error(&error);
	default:
		return fm_common_parse(key, argument, &input->common);
	}
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
	char remark[4400], path[PATH_MAX] = "";
	int code = fm_command_parse(command, argc, argv, &input), r;

	if (code >= 0)
		return code;
	fm_interrupt_install();
	if (fm_store_load(input.file, &recording, &error))
		return fm_report_error(&error);
	if (fm_sampled_recover(input.file, recording, remark, sizeof(remark), &error)) {
		fm_recording_free(recording);
		fm_report_error(&error);
		return FM_EXIT_FAILED;
	}
	if (*remark && input.common.verbosity >= 0)
		fprintf(stderr, "fathom: %s\n", remark);
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
        "Writes what was recorded in the format of another tool.\n\n"
        "  paraver     .prv, .pcf and .row for Paraver: every sample with address,\n"
        "              level, cost, object and callers; event types of BSC's tools;\n"
        "              with --folded one instance of each region, made of all\n"
        "  perfetto    .pftrace for https://ui.perfetto.dev: threads as tracks, regions\n"
        "              as slices, samples as instants, levels over time as counters\n"
        "  speedscope  .speedscope.json for https://www.speedscope.app: call stacks\n"
        "  callgrind   .callgrind for KCachegrind and callgrind_annotate: costs by\n"
        "              function, line and call\n"
        "  csv         one row for each sample, with all names; or one table (--table)\n"
        "  json        the whole recording, table by table\n\n"
        "All are for recordings of 'fathom record'. One of 'fathom stat' has no samples: json always works, csv nearly "
        "always, callgrind where the engine ran, paraver and perfetto with intervals (stat -I).\n\n"
        "A sample stands for some processor time, its weight: to compare functions or objects, add weights, do not "
        "count "
        "samples. Levels are the most likely ones. Files are written completely or not at all.",
    .examples = "Examples:\n"
                "  fathom record -o run.fathom -- ./program\n"
                "  fathom export run.fathom --format perfetto\n"
                "  fathom export run.fathom --format callgrind -o run.cg\n"
                "  fathom export run.fathom --format csv -o - | head\n"
                "  fathom export run.fathom --format csv --table memories -o objects.csv\n"
                "  fathom export run.fathom --format paraver -o traces/run.prv\n"
                "  fathom export run.fathom --format paraver --folded -o folded.prv",
    .options = options,
    .parser = parse,
    .run = run,
};
