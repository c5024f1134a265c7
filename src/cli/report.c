#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "observe/sampled.h"
#include "recording/store.h"

enum {
	KEY_TOP = FM_KEY_OWN,
	KEY_OBJECT,
	KEY_THREAD,
	KEY_REGION,
	KEY_TIME,
	KEY_CURVE,
	KEY_BANDWIDTH_CURVE,
	KEY_HTML,
	KEY_NO_SOURCE
};

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
    {"html", KEY_HTML, "FILE", 0, "Write the report as one HTML page with everything inside", 0},
    {"no-source", KEY_NO_SOURCE, NULL, 0, "Of --html: without pieces of source files", 0},
    FM_OPTION_OUTPUT,
    FM_OPTION_JSON,
    FM_OPTION_SEPARATOR,
    FM_OPTION_QUIET,
    FM_OPTION_VERBOSE,
    {0},
};

struct input {
	struct fm_common common;
	const char *files[2]; /* the second is compared with the first */
	uint64_t top;
	bool curve, bandwidth_curve, no_source;
	const char *html;
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
	case KEY_HTML:
		input->html = argument;
		return 0;
	case KEY_NO_SOURCE:
		input->no_source = true;
		return 0;
	case ARGP_KEY_ARG:
		if (input->files[1]) {
			fm_error_set(&error, EINVAL, "two recordings can be compared, not three: %s, %s, %s",
			             input->files[0], input->files[1], argument);
			return fm_usage_error(&error);
		}
		input->files[input->files[0] != NULL] = argument;
		return 0;
	case ARGP_KEY_END:
		if (!input->files[0])
			fm_error_set(&error, EINVAL, "there is no recording to report: fathom report run.fathom");
		else if (input->html && (input->common.json || input->common.separator || input->common.output ||
		                         input->curve || input->bandwidth_curve))
			fm_error_set(&error, EINVAL,
			             "--html writes a page with everything in it: no --json, -x, -o, --curve or "
			             "--bandwidth-curve beside it");
		else if (input->no_source && !input->html)
			fm_error_set(&error, EINVAL, "--no-source is for --html");
		else
			return 0;
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
	if (!has_filter(filter) && recording->squeezes_count)
		return fm_output_squeeze(output, recording);
	if (!has_filter(filter))
		return fm_output_stat(output, recording);
	fm_error_set(&error, EINVAL,
	             "--object, --thread, --region and --time choose sampled references: this recording has none");
	return fm_report_error(&error);
}

static int load(const char *path, const struct fm_common *common, struct fm_recording **ret_recording)
{
	struct fm_recording *recording;
	struct fm_error error;
	char remark[4400];

	if (fm_store_load(path, &recording, &error))
		return fm_report_error(&error);
	/* one whose tool was killed, or is at work */
	if (fm_sampled_recover(path, recording, remark, sizeof(remark), &error)) {
		fm_recording_free(recording);
		fm_report_error(&error);
		return FM_EXIT_FAILED;
	}
	if (*remark && common->verbosity >= 0)
		fprintf(stderr, "fathom: %s\n", remark);
	*ret_recording = recording;
	return 0;
}

static int compare(struct fm_output *output, const struct input *input, const struct fm_recording *first,
                   const struct fm_recording *second)
{
	struct fm_error error;

	if (!*first->sampling.sampler || !*second->sampling.sampler)
		fm_error_set(&error, EINVAL, "only sampled references can be compared: %s has none",
		             input->files[*first->sampling.sampler ? 1 : 0]);
	else if (input->curve || input->bandwidth_curve || !output->writer->compared)
		fm_error_set(&error, EINVAL, "two recordings are compared as text or --json, without curves");
	else
		return fm_output_comparison(output, first, second, &input->filter);
	return fm_report_error(&error);
}

static int run(const struct fm_command *command, int argc, char **argv)
{
	struct input input = {.top = 10};
	struct fm_recording *recordings[2] = {NULL, NULL};
	struct fm_output output;
	int code = fm_command_parse(command, argc, argv, &input);

	if (code >= 0)
		return code;
	if (input.html && *fm_writer_find("html")->lacks()) {
		struct fm_error error;

		fm_error_set(&error, ENOTSUP, "--html is not in this build: %s", fm_writer_find("html")->lacks());
		return fm_report_error(&error);
	}
	code = load(input.files[0], &input.common, &recordings[0]);
	if (!code && input.files[1])
		code = load(input.files[1], &input.common, &recordings[1]);
	if (!code && recordings[0]) {
		fm_output_choose(&output, &input.common, (unsigned)input.top);
		if (input.html) {
			input.common.output = input.html;
			output.writer = fm_writer_find("html");
			output.options.no_source = input.no_source;
		}
		output.options.curve = input.curve;
		output.options.bandwidth_curve = input.bandwidth_curve;
		code = recordings[1] ? compare(&output, &input, recordings[0], recordings[1])
		                     : print(&output, recordings[0], &input.filter);
	}
	fm_recording_free(recordings[0]);
	fm_recording_free(recordings[1]);
	return code;
}

const struct fm_command fm_verb_report = {
    .name = "report",
    .summary = "print a recording again: text, a page, JSON or separated values, on any machine",
    .arguments = "FILE [FILE2]",
    .description =
        "Prints what was recorded, as the verb that recorded it did. A recording has everything inside: the machine "
        "profile, "
        "the names of functions, lines and variables. It can be opened on another machine, without the program.\n\n"
        "Of sampled references (fathom record) it tells objects, routines, lines and threads, each with its share, the "
        "levels that served it and its mean cost. Instances of marked regions are folded into one: phases, streams, "
        "working sets and what could be changed. With two recordings it tells what got faster, which object, which "
        "level.\n\n"
        "The file is an SQLite database with documented tables (docs/recording.md): any SQL tool can read it.",
    .examples = "Examples:\n"
                "  fathom stat --record run.fathom -- ./program    observe and keep\n"
                "  fathom report run.fathom                        the same text again\n"
                "  fathom report --json run.fathom                 for scripts\n"
                "  fathom report --object grid run.fathom          sampled references to one object\n"
                "  fathom report --curve run.fathom                misses of caches of any size\n"
                "  fathom report before.fathom after.fathom        what got faster\n"
                "  fathom report run.fathom --html run.html        one page to look at in a browser\n"
                "  sqlite3 run.fathom 'SELECT * FROM functions ORDER BY misses_3 DESC LIMIT 5'",
    .options = options,
    .parser = parse,
    .run = run,
};
