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
#include "base/text.h"

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

static int parse_common(struct fm_common *common, int key, char *argument)
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

struct parse_state {
	const struct fm_command *command;
	char *input;
	bool help;
	struct fm_error error;
};

static int apply(const struct fm_setting *setting, const struct fm_command *command, char *input, char *argument,
                 struct fm_error *error)
{
	const struct argp_option *option = command->options;
	void *place = input + setting->offset;
	char name[40];

	switch (setting->kind) {
	case FM_SETTING_TEXT:
		*(const char **)place = argument;
		return 0;
	case FM_SETTING_FLAG:
		*(bool *)place = true;
		return 0;
	case FM_SETTING_DURATION:
		return fm_text_parse_duration(argument, place, error);
	default:
		while (option->key != setting->key)
			option++;
		if (option->key < FM_KEY_JSON)
			snprintf(name, sizeof(name), "-%c", option->key);
		else
			snprintf(name, sizeof(name), "--%s", option->name);
		return fm_text_parse_unsigned(argument, name, setting->least, setting->most, place, error);
	}
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct parse_state *parsing = state->input;
	const struct fm_command *command = parsing->command;
	const struct fm_setting *setting = command->settings;
	int r = ARGP_ERR_UNKNOWN;

	if (key == 'h') {
		parsing->help = true;
		/* stop here: the rest may be wrong, the reader wants help */
		state->next = state->argc;
		return 0;
	}
	if (key == ARGP_KEY_ARG && command->program) {
		*(char *const **)(parsing->input + command->program) = state->argv + state->next - 1;
		state->next = state->argc;
		return 0;
	}
	while (setting && setting->key && setting->key != key)
		setting++;
	if (key == ARGP_KEY_END)
		r = command->check ? command->check(parsing->input, &parsing->error) : 0;
	else if (key > ARGP_KEY_END)
		return ARGP_ERR_UNKNOWN;
	else if (setting && setting->key)
		r = apply(setting, command, parsing->input, argument, &parsing->error);
	else if (command->parse)
		r = command->parse(parsing->input, key, argument, &parsing->error);
	if (r == ARGP_ERR_UNKNOWN)
		r = parse_common((struct fm_common *)parsing->input, key, argument);
	return r < 0 ? EINVAL : r;
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

/* argp reports that an argument is wrong, but not which one: search for it. */
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
		if (command->program && argv[i][0] != '-')
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
	struct argp argp = {.options = options, .parser = parse};
	struct parse_state state = {.command = command, .input = input};
	int index = 0;
	error_t status;

	collect_options(command, options);
	status = argp_parse(&argp, argc, argv,
	                    ARGP_NO_ERRS | ARGP_NO_HELP | ARGP_NO_EXIT | (command->program ? ARGP_IN_ORDER : 0), &index,
	                    &state);
	if (state.help) {
		fm_command_help(command, stdout);
		return FM_EXIT_DONE;
	}
	if (!status && index >= argc)
		return -1;
	if (state.error.code)
		fprintf(stderr, "fathom: %s: %s\n", command->name, state.error.message);
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
		return FM_EXIT_RUN_FAILED;
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

unsigned fm_common_width(FILE *output)
{
	unsigned width = fm_text_columns(output == stdout ? STDOUT_FILENO : -1);

	return width < 100 ? width : 100;
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
	/* a reader that ended early (head, less) is no failure to report */
	if (code != EPIPE)
		fprintf(stderr, "fathom: cannot write %s: %s\n", common->output ? common->output : "standard output",
		        strerror(code));
	return FM_EXIT_FAILED;
}

int fm_command_parse_overhead(const char *text, double most, double *ret_share, struct fm_error *error)
{
	char *end;
	double value = strtod(text, &end);

	if (end != text && *end == '%') {
		value /= 100;
		end++;
	}
	if (end == text || *end || !(value >= 0.001 && value <= most))
		return fm_error_set(error, EINVAL,
		                    "--overhead takes a share from 0.1%% to %.0f%%, such as 3%% or 0.03, not \"%s\"",
		                    100 * most, text);
	*ret_share = value;
	return 0;
}
