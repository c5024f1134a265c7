#include <string.h>

#include "cli/command.h"

static const struct argp_option options[] = {{0}};

struct input {
	struct fm_common common;
	const char *verb;
};

static int parse(void *target, int key, char *argument, struct fm_error *error)
{
	struct input *input = target;

	(void)error;
	if (key != ARGP_KEY_ARG || input->verb)
		return ARGP_ERR_UNKNOWN;
	input->verb = argument;
	return 0;
}

static int run(const struct fm_command *command, int argc, char **argv)
{
	struct input input = {0};
	const struct fm_command *about = command;
	int code = fm_command_parse(command, argc, argv, &input);

	if (code >= 0)
		return code;
	if (input.verb) {
		about = fm_command_find(input.verb);
		if (!about) {
			fprintf(stderr, "fathom: there is no verb \"%s\": 'fathom --help' lists the verbs\n",
			        input.verb);
			return FM_EXIT_USAGE;
		}
	}
	fm_command_help(about, stdout);
	return FM_EXIT_DONE;
}

const struct fm_command fm_verb_help = {
    .name = "help",
    .summary = "explain a verb",
    .arguments = "[VERB]",
    .description = "Explain a verb, as 'fathom VERB --help' does.",
    .options = options,
    .parse = parse,
    .run = run,
};
