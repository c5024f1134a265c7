/* What all verbs share: the table of verbs, option parsing, exit codes.

   A verb is one file with a struct fm_command and one line in commands.def. */
#ifndef FATHOM_CLI_COMMAND_H
#define FATHOM_CLI_COMMAND_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

/* Exit codes of verbs that do not run a program. */
enum {
	FM_EXIT_DONE = 0,
	FM_EXIT_FAILED = 1,
	FM_EXIT_USAGE = 2,
	FM_EXIT_NOT_HERE = 3, /* cannot be measured here */
};

struct fm_command {
	const char *name;
	const char *summary;     /* one line, for the list of verbs */
	const char *arguments;   /* what follows the options in the usage line, or NULL */
	const char *description; /* what it does and how to read it; printed before the options */
	const char *examples;    /* printed after them */
	bool runs_program;       /* options end where the program begins, with or without -- */
	const struct argp_option *options;
	argp_parser_t parser;
	int (*run)(const struct fm_command *command, int argc, char **argv);
};

extern const struct fm_command *const fm_commands[];

const struct fm_command *fm_command_find(const char *name);

/* Options many verbs understand. Put the FM_OPTION_ lines you want into the option table and call fm_common_parse()
   for keys you do not know. */
struct fm_common {
	const char *output; /* -o */
	bool json;
	const char *separator; /* -x, NULL when not given */
	int verbosity;         /* -q is -1, -v adds 1 */
};

enum {
	FM_KEY_JSON = 0x1000,
	FM_KEY_OWN, /* first key for the options of a verb */
};

#define FM_OPTION_OUTPUT                                                                \
	{                                                                               \
		"output", 'o', "FILE", 0, "Write to FILE instead of standard output", 1 \
	}
#define FM_OPTION_JSON                                                                           \
	{                                                                                        \
		"json", FM_KEY_JSON, NULL, 0, "One JSON object (docs/schemas has its schema)", 1 \
	}
#define FM_OPTION_SEPARATOR                                                                         \
	{                                                                                           \
		"separator", 'x', "SEP", 0,                                                         \
		    "One figure per line, fields separated by SEP, for spreadsheets and scripts", 1 \
	}
#define FM_OPTION_QUIET                                                               \
	{                                                                             \
		"quiet", 'q', NULL, 0, "No progress, no remarks on standard error", 1 \
	}
#define FM_OPTION_VERBOSE                                                  \
	{                                                                  \
		"verbose", 'v', NULL, 0, "More detail; repeat for more", 1 \
	}

error_t fm_common_parse(int key, char *argument, struct fm_common *common);

/* Parse options into `input`, which the verb's parser gets as state->input. Returns -1 when the verb shall go on,
   otherwise the exit code: help was printed, or the usage was wrong and has been explained. */
int fm_command_parse(const struct fm_command *command, int argc, char **argv, void *input);

/* For parsers: note a message for an argument that does not do, and fail. */
error_t fm_usage_error(const struct fm_error *error);

void fm_command_help(const struct fm_command *command, FILE *output);

/* "fathom: message" on stderr; returns the exit code for the error. */
int fm_report_error(const struct fm_error *error);

/* The same for a verb that runs a program, whose exit status must not be mistaken for ours: 125 failed, 124 cannot be
   measured here, 126 and 127 for a program that cannot be run or is not there, 2 for wrong usage. */
int fm_report_error_of_run(const struct fm_error *error);

/* "fathom: text" on stderr, unless -q. For observations: `common` is a struct fm_common. */
void fm_common_remark(void *common, const char *text);

/* Standard output or the file of -o, opened for writing without following a symbolic link; NULL after a message. */
FILE *fm_common_open(const struct fm_common *common);

/* Close it; a full disk shows here. Returns the exit code. */
int fm_common_close(const struct fm_common *common, FILE *output);

/* Set by SIGINT and SIGTERM once installed, so that work can stop cleanly. A second signal ends at once. */
extern volatile bool fm_interrupted;
void fm_interrupt_install(void);

#endif
