#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "windows/estimate.h"

enum {
	KEY_TOP = FM_KEY_OWN,
	KEY_OBJECT,
	KEY_THREAD,
	KEY_REGION,
	KEY_TIME,
	KEY_CURVE,
	KEY_BANDWIDTH_CURVE,
	KEY_HTML,
	KEY_NO_SOURCE,
	KEY_FAIL_IF
};

enum { CONDITIONS_MAX = 16 };

static const struct argp_option options[] = {
    {"top", KEY_TOP, "N", 0, "List the N heaviest functions, lines and shared lines; default 10", 0},
    {"object", KEY_OBJECT, "NAME", 0,
     "Of sampled references: only references to objects whose name contains NAME or matches a pattern with *", 0},
    {"thread", KEY_THREAD, "THREAD", 0, "… only of the thread with this number or name", 0},
    {"region", KEY_REGION, "NAME", 0,
     "… only in the marked region NAME; without such a region, in the function NAME and its callees", 0},
    {"time", KEY_TIME, "A-B", 0, "… only from A to B seconds after the beginning; A or B may be omitted", 0},
    {"curve", KEY_CURVE, NULL, 0, "Of sampled references: draw the miss ratio over cache size, instead of the tables",
     0},
    {"bandwidth-curve", KEY_BANDWIDTH_CURVE, NULL, 0,
     "Of 'fathom stat': also draw memory latency over memory traffic, with the program's position", 0},
    {"html", KEY_HTML, "FILE", 0, "Write the report as one self-contained HTML page", 0},
    {"no-source", KEY_NO_SOURCE, NULL, 0, "With --html: without excerpts of source files", 0},
    {"fail-if", KEY_FAIL_IF, "CAUSE>PERCENT", 0,
     "For scripts: exit status 4 if this cause certainly takes more of the run time, such as 'latency:memory>20'; with "
     "two recordings that of the second, or 'time>5': it takes longer by more than this. May be repeated",
     0},
    FM_OPTIONS_PRINTING,
    {0},
};

struct input {
	struct fm_common common;
	const char *files[2]; /* the second is compared with the first */
	uint64_t top;
	bool curve, bandwidth_curve, no_source;
	const char *html;
	struct fm_samples_filter filter;
	struct fm_condition conditions[CONDITIONS_MAX];
	unsigned condition_count;
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

static const struct fm_setting settings[] = {
    FM_NUMBER(KEY_TOP, top, 1, 100000),
    FM_TEXT(KEY_OBJECT, filter.object),
    FM_TEXT(KEY_THREAD, filter.thread),
    FM_TEXT(KEY_REGION, filter.region),
    FM_FLAG(KEY_CURVE, curve),
    FM_FLAG(KEY_BANDWIDTH_CURVE, bandwidth_curve),
    FM_TEXT(KEY_HTML, html),
    FM_FLAG(KEY_NO_SOURCE, no_source),
    {0},
};

static int parse(void *target, int key, char *argument, struct fm_error *error)
{
	struct input *input = target;

	if (key == KEY_TIME)
		return parse_time(argument, &input->filter, error);
	if (key == KEY_FAIL_IF) {
		if (input->condition_count == CONDITIONS_MAX)
			return fm_error_set(error, EINVAL, "--fail-if: at most %d conditions", CONDITIONS_MAX);
		return fm_condition_parse(argument, &input->conditions[input->condition_count++], error);
	}
	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	if (input->files[1])
		return fm_error_set(error, EINVAL, "at most two recordings can be compared, not three: %s, %s, %s",
		                    input->files[0], input->files[1], argument);
	input->files[input->files[0] != NULL] = argument;
	return 0;
}

static int check(void *target, struct fm_error *error)
{
	const struct input *input = target;

	if (!input->files[0])
		return fm_error_set(error, EINVAL, "no recording given: fathom report run.fathom");
	if (input->html && (input->common.json || input->common.separator || input->common.output || input->curve ||
	                    input->bandwidth_curve))
		return fm_error_set(
		    error, EINVAL, "--html writes a complete page: omit --json, -x, -o, --curve and --bandwidth-curve");
	for (unsigned i = 0; i < input->condition_count; i++)
		if (!input->files[1] && !strcmp(input->conditions[i].name, "time"))
			return fm_error_set(error, EINVAL, "--fail-if 'time>%g' compares two recordings: one was given",
			                    input->conditions[i].percent);
	if (input->no_source && !input->html)
		return fm_error_set(error, EINVAL, "--no-source needs --html");
	return 0;
}

/* The printer depends on the kind of recording. */
static int print(struct fm_output *output, const struct fm_recording *recording, const struct fm_samples_filter *filter)
{
	struct fm_error error;

	if (output->options.curve && !recording->curves_count) {
		fm_error_set(&error, EINVAL,
		             *recording->sampling.sampler
		                 ? "--curve: this recording has too few windows of references: record at least one "
		                   "second of processor time, without --no-curve and --sampler exact"
		                 : "--curve needs sampled references: this recording has none; use 'fathom record'");
		return fm_report_error(&error);
	}
	if (output->options.curve && has_filter(filter)) {
		fm_error_set(&error, EINVAL,
		             "--curve covers the whole program: omit --object, --thread, --region and --time");
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
	if (!has_filter(filter) && recording->scales_count)
		return fm_output_scale(output, recording);
	if (!has_filter(filter))
		return fm_output_stat(output, recording);
	fm_error_set(&error, EINVAL,
	             "--object, --thread, --region and --time select sampled references: this recording has none");
	return fm_report_error(&error);
}

static int compare(struct fm_output *output, const struct input *input, const struct fm_recording *first,
                   const struct fm_recording *second)
{
	struct fm_error error;

	if (input->curve || input->bandwidth_curve || !output->writer->compared)
		fm_error_set(&error, EINVAL, "two recordings are compared as text or --json, without curves");
	else if (!*first->sampling.sampler != !*second->sampling.sampler)
		fm_error_set(&error, EINVAL,
		             "two recordings of the same verb can be compared: %s has sampled references",
		             input->files[*first->sampling.sampler ? 0 : 1]);
	else if (*first->sampling.sampler)
		return fm_output_comparison(output, first, second, &input->filter);
	else if (first->squeezes_count || second->squeezes_count || first->scales_count || second->scales_count)
		fm_error_set(&error, EINVAL, "recordings of squeeze and scale cannot be compared");
	else if (has_filter(&input->filter))
		fm_error_set(
		    &error, EINVAL,
		    "--object, --thread, --region and --time select sampled references: these recordings have none");
	else
		return fm_output_runs(output, first, second);
	return fm_report_error(&error);
}

static int test_conditions(const struct input *input, const struct fm_recording *first,
                           const struct fm_recording *second)
{
	struct fm_error error;

	if (!*first->sampling.sampler && !first->squeezes_count && !first->scales_count)
		return fm_output_conditions(input->conditions, input->condition_count, first, second);
	fm_error_set(&error, EINVAL, "--fail-if needs a recording of 'fathom -- PROGRAM' or 'fathom stat --record'");
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
	code = FM_EXIT_DONE;
	for (unsigned i = 0; !code && i < 2 && input.files[i]; i++) {
		code = fm_output_load(input.files[i], &input.common, &recordings[i]);
		/* a recording of an earlier version has none */
		if (!code)
			fm_estimates_keep(recordings[i]);
	}
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
		if (!code && input.condition_count)
			code = test_conditions(&input, recordings[0], recordings[1]);
	}
	fm_recording_free(recordings[0]);
	fm_recording_free(recordings[1]);
	return code;
}

const struct fm_command fm_verb_report = {
    .name = "report",
    .summary = "print a recording: text, a page, JSON or separated values, on any machine",
    .arguments = "FILE [FILE2]",
    .description =
        "Prints a recording as the recording verb did. A recording is self-contained: it includes the machine profile "
        "and the names of functions, lines and variables. It can be opened on another machine, without the program.\n\n"
        "For sampled references (fathom record), the report lists objects, routines, lines and threads. Each has its "
        "share, the levels that served it and its mean cost. Instances of marked regions are folded into one, which "
        "shows phases, streams, working sets and possible improvements. With two recordings, the report shows the "
        "differences in time by object and level.\n\n"
        "The file is an SQLite database with documented tables (docs/recording.md): any SQL tool can read it.",
    .examples = "Examples:\n"
                "  fathom stat --record run.fathom -- ./program    observe and keep\n"
                "  fathom report run.fathom                        the same text again\n"
                "  fathom report --json run.fathom                 for scripts\n"
                "  fathom report --object grid run.fathom          sampled references to one object\n"
                "  fathom report --curve run.fathom                misses of caches of any size\n"
                "  fathom report before.fathom after.fathom        compare two recordings\n"
                "  fathom report --fail-if 'time>5' --fail-if 'latency>30' before.fathom after.fathom\n"
                "  fathom report run.fathom --html run.html        one page for a browser\n"
                "  sqlite3 run.fathom 'SELECT * FROM functions ORDER BY misses_3 DESC LIMIT 5'",
    .options = options,
    .settings = settings,
    .parse = parse,
    .check = check,
    .run = run,
};
