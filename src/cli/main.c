#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/version.h"
#include "base/launch.h"
#include "base/leftovers.h"
#include "base/own_limits.h"
#include "cli/command.h"
#include "cli/plain_output.h"
#include "base/suggest.h"
#include "kernels/kernel.h"

#define COMMAND(name) extern const struct fm_command fm_verb_##name;
#include "cli/commands.def"
#undef COMMAND

const struct fm_command *const fm_commands[] = {
#define COMMAND(name) &fm_verb_##name,
#include "cli/commands.def"
#undef COMMAND
    NULL,
};

const struct fm_command *fm_command_find(const char *name)
{
	for (const struct fm_command *const *command = fm_commands; *command; command++)
		if (!strcmp((*command)->name, name))
			return *command;
	return NULL;
}

static void print_overview(FILE *output)
{
	fputs("Fathom shows how a program uses the memory hierarchy and suggests improvements.\n"
	      "It works with and without hardware counters.\n\n"
	      "Usage: fathom -- PROGRAM [ARGUMENT...]    what limits the program\n"
	      "       fathom VERB [OPTION...]\n\n",
	      output);
	for (const struct fm_command *const *command = fm_commands; *command; command++)
		fprintf(output, "  %-10s %s\n", (*command)->name, (*command)->summary);
	fputs("\n'fathom VERB --help' explains a verb. Start with 'fathom -- PROGRAM'.\n", output);
}

/* For the shell completions: verbs, or the options of a verb, one per line. */
static int print_completions(const char *verb)
{
	const struct fm_command *command = verb ? fm_command_find(verb) : NULL;

	if (!command) {
		for (const struct fm_command *const *each = fm_commands; *each; each++)
			puts((*each)->name);
		return FM_EXIT_DONE;
	}
	for (const struct argp_option *option = command->options; option->name || option->doc; option++) {
		if (option->flags & OPTION_HIDDEN)
			continue;
		if (option->name)
			printf("--%s\n", option->name);
		if (option->key > 0 && option->key < 0x80)
			printf("-%c\n", option->key);
	}
	puts("--help\n-h");
	return FM_EXIT_DONE;
}

static int run(int argc, char **argv)
{
	const struct fm_command *command;
	struct fm_error error;

	setlocale(LC_CTYPE, "");
	fm_plain_output_standard();
	if (argc < 2) {
		print_overview(stderr);
		return FM_EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		print_overview(stdout);
		return FM_EXIT_DONE;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts("fathom " FM_VERSION);
		return FM_EXIT_DONE;
	}
	if (!strcmp(argv[1], "--complete"))
		return print_completions(argc > 2 ? argv[2] : NULL);
	/* the main job needs no verb: fathom -- PROGRAM */
	command = !strcmp(argv[1], "--") ? &fm_verb_diagnose : fm_command_find(argv[1]);
	if (command && !strcmp(argv[1], "--")) {
		argc++;
		argv--;
	}
	if (!command) {
		enum { COUNT = sizeof(fm_commands) / sizeof(fm_commands[0]) - 1 };
		const char *names[COUNT];
		const char *near;

		for (unsigned i = 0; i < COUNT; i++)
			names[i] = fm_commands[i]->name;
		if (strchr(argv[1], '/')) {
			fprintf(stderr, "fathom: there is no verb \"%s\": a program follows \"--\": fathom -- %s\n",
			        argv[1], argv[1]);
			return FM_EXIT_USAGE;
		}
		near = fm_suggest(argv[1], names, COUNT);
		fprintf(stderr, "fathom: there is no verb \"%s\"%s%s%s: 'fathom --help' lists the verbs\n", argv[1],
		        near ? ", did you mean \"" : "", near ? near : "", near ? "\"?" : "");
		return FM_EXIT_USAGE;
	}
	if (fm_isa_read_mask(&error))
		return fm_report_error(&error);
	fm_leftovers_remove();
	return command->run(command, argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
	fm_launch_remember_signals();
	/* writing into a closed pipe or beyond a limit is reported as an error, not by a signal */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	fm_own_limits_raise();
	return fm_own_limits_on_stack(run, argc, argv);
}
