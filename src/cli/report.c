#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "observe/sampled.h"
#include "recording/store.h"

enum { KEY_TOP = FM_KEY_OWN, KEY_OBJECT, KEY_THREAD, KEY_REGION, KEY_TIME, KEY_CURVE, KEY_BANDWIDTH_CURVE };

static const struct argp_option options[] = {
    {"top", KEY_TOP, "N", 0, "List the N heaviest functions, lines and shared lines; default 10", 0},
    {"object", KEY_OBJECT, "NAME", 0,
     "Of sampled references: only to objects with NAME in their name, or a pattern with *", 0},
    {"thread", KEY_THREAD, "THREAD", 0, "… only of the thread with this number or name", 0},
    {"region", KEY_REGION, "NAME", 0,
     "… only in the marked region NAME; if there is none, in the function NAME and what it calls", 0},
    {"time", KEY_TIME, "A-B", 0, "… only from A to B seconds after the beginning; either may be left out", 0},
    {"curve", KEY_CURVE, NULL, 0,
     "Of sampled references: draw the share that misses a cache of any size, instead of the tables", 0},
    {"bandwidth-curve", KEY_BANDWIDTH_CURVE, NULL, 0,
     "Of 'fathom stat': also draw the latency of memory against its traffic, and the program's place there", 0},
    FM_OPTION_OUTPUT,
    FM_OPTION_JSON,
    FM_OPTION_SEPARATOR,
    FM_OPTION_QUIET,
    FM_OPTION_VERBOSE,
    {0},
};

struct input {
	struct fm_common common;
	const char *file;
	uint64_t top;
	bool curve, bandwidth_curve;
	struct fm_samples_filter filter;
};

/* "1.5-3", "1.5-", "-3" */
static int parse_time(const char *text, struct fm_samples_filter *filter, struct fm_error *error)
{
	const char *dash = strchr(text, '-');
	bool good = dash && text[1];
	char *end;

	filter->timed = true;
	filter->begin = 0;
	filter->end = INFINITY;
	if (good && dash != text) {
		filter->begin = strtod(text, &end);
		good = end == dash;
	}
	if (good && dash[1]) {
		filter->end = strtod(dash + 1, &end);
		good = !*end;
	}
	if (!good || !(filter->begin >= 0 && filter->begin < filter->end))
		return fm_error_set(error, EINVAL, "--time takes seconds from A to B, such as 1.5-3: \"%s\"", text);
	return 0;
}

static bool has_filter(const struct fm_samples_filter *filter)
{
	return filter->object || filter->thread || filter->region || filter->timed;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct input *input = state->input;
	struct fm_error error;

	switch (key) {
	case KEY_TOP:
		return fm_text_parse_unsigned(argument, "--top", 1, 100000, &input->top, &error)
		           ? fm_usage_error(&error)
		           : 0;
	case KEY_OBJECT:
		input->filter.object = argument;
		return 0;
	case KEY_THREAD:
		input->filter.thread = argument;
		return 0;
	case KEY_REGION:
		input->filter.region = argument;
		return 0;
	case KEY_TIME:
		return parse_time(argument, &input->filter, &error) ? fm_usage_error(&error) : 0;
	case KEY_CURVE:
		input->curve = true;
		return 0;
	case KEY_BANDWIDTH_CURVE:
		input->bandwidth_curve = true;
		return 0;
	case ARGP_KEY_ARG:
		if (input->file) {
			fm_error_set(&error, EINVAL, "one recording at a time: %s or %s", input->file, argument);
			return fm_usage_error(&error);
		}
		input->file = argument;
		return 0;
	case ARGP_KEY_END:
		if (input->file)
			return 0;
		fm_error_set(&error, EINVAL, "there is no recording to report: fathom report run.fathom");
		return fm_usage_error(&error);
	default:
		return fm_common_parse(key, argument, &input->common);
	}
}

/* By what was recorded. */
static int print(struct fm_output *output, const struct fm_recording *recording, const struct fm_samples_filter *filter)
{
	struct fm_error error;

	if (output->options.curve && !recording->curves_count) {
		fm_error_set(&error, EINVAL,
		             *recording->sampling.sampler
		                 ? "--curve needs some windows of references, and this recording has too few: it "
		                   "is too short (a second or more of processor time is needed), or was made with "
		                   "--no-curve or --sampler exact"
		                 : "--curve draws sampled references: this recording has none");
		return fm_report_error(&error);
	}
	if (output->options.curve && has_filter(filter)) {
		fm_error_set(&error, EINVAL,
		             "--curve is of the whole program: no --object, --thread, --region, --time");
		return fm_report_error(&error);
	}
	if (output->options.bandwidth_curve && (*recording->sampling.sampler || !recording->profile)) {
		fm_error_set(&error, EINVAL,
		             "--bandwidth-curve needs the levels of a program on a measured machine: this recording of "
		             "%s",
		             *recording->sampling.sampler ? "references has none" : "a run has no machine profile");
		return fm_report_error(&error);
	}
	if (*recording->sampling.sampler)
		return fm_output_samples(output, recording, filter);
	if (!has_filter(filter))
		return fm_output_stat(output, recording);
	fm_error_set(&error, EINVAL,
	             "--object, --thread, --region and --time choose sampled references: this recording has none");
	return fm_report_error(&error);
}

static int run(const struct fm_command *command, int argc, char **argv)
{
	struct input input = {.top = 10};
	struct fm_recording *recording;
	struct fm_output output;
	struct fm_error error;
	char remark[4400];
	int code = fm_command_parse(command, argc, argv, &input);

	if (code >= 0)
		return code;
	if (fm_store_load(input.file, &recording, &error))
		return fm_report_error(&error);
	/* one whose tool was killed, or is at work */
	if (fm_sampled_recover(input.file, recording, remark, sizeof(remark), &error)) {
		fm_recording_free(recording);
		fm_report_error(&error);
		return FM_EXIT_FAILED;
	}
	if (*remark && input.common.verbosity >= 0)
		fprintf(stderr, "fathom: %s\n", remark);
	fm_output_choose(&output, &input.common, (unsigned)input.top);
	output.options.curve = input.curve;
	output.options.bandwidth_curve = input.bandwidth_curve;
	code = print(&output, recording, &input.filter);
	fm_recording_free(recording);
	return code;
}

const struct fm_command fm_verb_report = {
    .name = "report",
    .summary = "print a recording again: text, JSON or separated values, on any machine",
    .arguments = "FILE",
    .description =
        "Prints what was recorded, as the verb that recorded it did. A recording has everything inside: the machine "
        "profile, "
        "the names of functions, lines and variables. It can be opened on another machine, without the program.\n\n"
        "Of sampled references (fathom record) it tells objects, routines, lines and threads, each with its share, the "
        "levels that served it and its mean cost.\n\n"
        "The file is an SQLite database with documented tables (docs/recording.md): any SQL tool can read it.",
    .examples = "Examples:\n"
                "  fathom stat --record run.fathom -- ./program    observe and keep\n"
                "  fathom report run.fathom                        the same text again\n"
                "  fathom report --json run.fathom                 for scripts\n"
                "  fathom report --object grid run.fathom          sampled references to one object\n"
                "  fathom report --curve run.fathom                misses of caches of any size\n"
                "  sqlite3 run.fathom 'SELECT * FROM functions ORDER BY misses_3 DESC LIMIT 5'",
    .options = options,
    .parser = parse,
    .run = run,
};
