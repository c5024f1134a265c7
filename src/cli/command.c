#include "cli/command.h"
#include "cli/plain_output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/suggest.h"

volatile bool fm_interrupted;

static void on_interrupt(int number, siginfo_t *information, void *unused)
{
	(void)number, (void)information, (void)unused;
	fm_interrupted = true;
}

void fm_interrupt_install(void)
{
	/* SA_RESETHAND: the second Ctrl-C is not ours */
	struct sigaction action = {.sa_sigaction = on_interrupt, .sa_flags = (int)SA_RESETHAND | SA_SIGINFO};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

error_t fm_common_parse(int key, char *argument, struct fm_common *common)
{
	switch (key) {
	case 'o':
		common->output = argument;
		return 0;
	case 'x':
		common->separator = argument;
		return 0;
	case 'q':
		common->verbosity = -1;
		return 0;
	case 'v':
		common->verbosity++;
		return 0;
	case FM_KEY_JSON:
		common->json = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* argp hands one pointer to the parser; ours is wrapped so that help and bad arguments can be told apart. */
struct parse_state {
	const struct fm_command *command;
	void *input;
	bool help;
};

static struct fm_error bad_argument;

error_t fm_usage_error(const struct fm_error *error)
{
	bad_argument = *error;
	return EINVAL;
}

static error_t parse_wrapped(int key, char *argument, struct argp_state *state)
{
	struct parse_state *wrapped = state->input;
	error_t status;

	if (key == 'h') {
		wrapped->help = true;
		/* stop here: what follows may be wrong, the reader wants help */
		state->next = state->argc;
		return 0;
	}
	state->input = wrapped->input;
	status = wrapped->command->parser(key, argument, state);
	state->input = wrapped;
	return status;
}

enum { OPTIONS_MAX = 64 };

/* The verb's options and -h. */
static void collect_options(const struct fm_command *command, struct argp_option *ret_options)
{
	static const struct argp_option help = {"help", 'h', NULL, 0, "Print this help", -1};
	unsigned count = 0;

	memset(ret_options, 0, OPTIONS_MAX * sizeof(*ret_options));
	while (count < OPTIONS_MAX - 2 && (command->options[count].name || command->options[count].doc)) {
		ret_options[count] = command->options[count];
		count++;
	}
	ret_options[count] = help;
}

void fm_command_help(const struct fm_command *command, FILE *output)
{
	struct argp_option options[OPTIONS_MAX];
	struct argp argp = {.options = options, .args_doc = command->arguments};
	char name[64];
	char *doc = NULL;

	collect_options(command, options);
	if (asprintf(&doc, "%s%s%s", command->description, command->examples ? "\v" : "",
	             command->examples ? command->examples : "") < 0)
		doc = NULL;
	argp.doc = doc;
	snprintf(name, sizeof(name), "fathom %s", command->name);
	argp_help(&argp, output, ARGP_HELP_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC, name);
	free(doc);
}

static const struct argp_option *find_option(const struct argp_option *options, const char *word)
{
	size_t length = strcspn(word, "=");

	for (; options->name || options->doc; options++) {
		if (word[0] == '-' && word[1] == '-' && length > 2 && options->name &&
		    !strncmp(options->name, word + 2, length - 2))
			return options;
		if (word[0] == '-' && word[1] != '-' && word[1] == options->key)
			return options;
	}
	return NULL;
}

/* argp knows that something was wrong but not what: look again. */
static void explain_bad_word(const struct fm_command *command, const struct argp_option *options, int argc, char **argv)
{
	const char *names[OPTIONS_MAX];
	unsigned count = 0;
	const char *near;

	for (const struct argp_option *option = options; option->name || option->doc; option++)
		if (option->name)
			names[count++] = option->name;
	for (int i = 1; i < argc; i++) {
		const struct argp_option *option = argv[i][0] == '-' ? find_option(options, argv[i]) : NULL;
		bool value_inside = strchr(argv[i], '=') || (argv[i][1] != '-' && argv[i][2]);

		if (option && option->arg && !value_inside && i + 1 == argc) {
			fprintf(stderr, "fathom: %s: %s needs a value: %s\n", command->name, argv[i], option->doc);
			return;
		}
		if (option && !option->arg && strchr(argv[i], '=')) {
			fprintf(stderr, "fathom: %s: --%s takes no value\n", command->name, option->name);
			return;
		}
		if (option) {
			i += option->arg && !value_inside;
			continue;
		}
		if (command->runs_program && argv[i][0] != '-')
			break;
		near = strncmp(argv[i], "--", 2) ? NULL : fm_suggest(argv[i] + 2, names, count);
		fprintf(stderr, "fathom: %s: unknown option or argument \"%s\"%s%s%s: see 'fathom %s --help'\n",
		        command->name, argv[i], near ? ", did you mean --" : "", near ? near : "", near ? "?" : "",
		        command->name);
		return;
	}
	fprintf(stderr, "fathom: %s: wrong usage: see 'fathom %s --help'\n", command->name, command->name);
}

int fm_command_parse(const struct fm_command *command, int argc, char **argv, void *input)
{
	struct argp_option options[OPTIONS_MAX];
	struct argp argp = {.options = options, .parser = parse_wrapped};
	struct parse_state state = {.command = command, .input = input};
	int index = 0;
	error_t status;

	bad_argument.code = 0;
	collect_options(command, options);
	status = argp_parse(&argp, argc, argv,
	                    ARGP_NO_ERRS | ARGP_NO_HELP | ARGP_NO_EXIT | (command->runs_program ? ARGP_IN_ORDER : 0),
	                    &index, &state);
	if (state.help) {
		fm_command_help(command, stdout);
		return FM_EXIT_DONE;
	}
	if (!status && index >= argc)
		return -1;
	if (bad_argument.code)
		fprintf(stderr, "fathom: %s: %s\n", command->name, bad_argument.message);
	else if (status == ENOMEM)
		fprintf(stderr, "fathom: out of memory\n");
	else
		explain_bad_word(command, options, argc, argv);
	return FM_EXIT_USAGE;
}

int fm_report_error(const struct fm_error *error)
{
	fprintf(stderr, "fathom: %s\n", error->message);
	return error->code == EINVAL ? FM_EXIT_USAGE : error->code == ENOTSUP ? FM_EXIT_NOT_HERE : FM_EXIT_FAILED;
}

int fm_report_error_of_run(const struct fm_error *error)
{
	fprintf(stderr, "fathom: %s\n", error->message);
	switch (error->code) {
	case EINVAL:
		return FM_EXIT_USAGE;
	case ENOTSUP:
		return 124;
	case EACCES:
		return 126;
	case ENOENT:
		return 127;
	default:
		return 125;
	}
}

void fm_common_remark(void *common, const char *text)
{
	if (((const struct fm_common *)common)->verbosity >= 0)
		fprintf(stderr, "fathom: %s\n", text);
}

FILE *fm_common_open(const struct fm_common *common)
{
	int descriptor;
	FILE *output;

	if (!common->output || !strcmp(common->output, "-"))
		return stdout;
	descriptor = open(common->output, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
	output = descriptor < 0 ? NULL : fdopen(descriptor, "w");
	if (!output)
		fprintf(stderr, "fathom: cannot write %s: %s\n", common->output,
		        errno == ELOOP ? "it is a symbolic link" : strerror(errno));
	/* JSON is UTF-8 everywhere */
	return common->json ? output : fm_plain_output(output);
}

int fm_common_close(const struct fm_common *common, FILE *output)
{
	bool bad = fflush(output) || ferror(output);
	int code = errno;

	if (output != stdout && fclose(output)) {
		bad = true;
		code = errno;
	}
	if (!bad)
		return FM_EXIT_DONE;
	/* a reader that went away (head, less) is no failure of ours to report */
	if (code != EPIPE)
		fprintf(stderr, "fathom: cannot write %s: %s\n", common->output ? common->output : "standard output",
		        strerror(code));
	return FM_EXIT_FAILED;
}
