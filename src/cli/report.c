#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "recording/store.h"

enum { KEY_TOP = FM_KEY_OWN };

static const struct argp_option options[] = {
    {"top", KEY_TOP, "N", 0, "List the N heaviest functions, lines and shared lines; default 10", 0},
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
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct input *input = state->input;
	struct fm_error error;

	switch (key) {
	case KEY_TOP:
		return fm_text_parse_unsigned(argument, "--top", 1, 100000, &input->top, &error)
		           ? fm_usage_error(&error)
		           : 0;
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

static int run(const struct fm_command *command, int argc, char **argv)
{
	struct input input = {.top = 10};
	struct fm_recording *recording;
	struct fm_output output;
	struct fm_error error;
	int code = fm_command_parse(command, argc, argv, &input);

	if (code >= 0)
		return code;
	if (fm_store_load(input.file, &recording, &error))
		return fm_report_error(&error);
	fm_output_choose(&output, &input.common, (unsigned)input.top);
	code = fm_output_stat(&output, recording);
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
        "The file is an SQLite database with documented tables (docs/recording.md): any SQL tool can read it.",
    .examples = "Examples:\n"
                "  fathom stat --record run.fathom -- ./program    observe and keep\n"
                "  fathom report run.fathom                        the same text again\n"
                "  fathom report --json run.fathom                 for scripts\n"
                "  sqlite3 run.fathom 'SELECT * FROM functions ORDER BY misses_3 DESC LIMIT 5'",
    .options = options,
    .parser = parse,
    .run = run,
};
