/* Shared by all verbs: the table of verbs, option parsing, exit codes. A verb is one file with a struct fm_command and
   one line in commands.def. */
#ifndef FATHOM_CLI_COMMAND_H
#define FATHOM_CLI_COMMAND_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

/* Exit codes. */
enum {
	FM_EXIT_DONE = 0,
	FM_EXIT_FAILED = 1,
	FM_EXIT_USAGE = 2,
	FM_EXIT_NOT_HERE = 3,     /* cannot be measured here */
	FM_EXIT_CONDITION = 4,    /* a condition of 'report --fail-if' holds */
	FM_EXIT_RUN_FAILED = 125, /* of verbs that run a program */
};

/* Destination of an option's value, for options that need no parsing code of the verb. */
struct fm_setting {
	int key; /* 0 ends a table */
	enum fm_setting_kind { FM_SETTING_TEXT, FM_SETTING_FLAG, FM_SETTING_NUMBER, FM_SETTING_DURATION } kind;
	size_t offset;        /* in the verb's struct input */
	uint64_t least, most; /* of a number */
};

/* A text, a bool set to true, a uint64_t within limits, a double in seconds. */
#define FM_TEXT(key, member)                                               \
	{                                                                  \
		key, FM_SETTING_TEXT, offsetof(struct input, member), 0, 0 \
	}
#define FM_FLAG(key, member)                                               \
	{                                                                  \
		key, FM_SETTING_FLAG, offsetof(struct input, member), 0, 0 \
	}
#define FM_NUMBER(key, member, least, most)                                         \
	{                                                                           \
		key, FM_SETTING_NUMBER, offsetof(struct input, member), least, most \
	}
#define FM_DURATION(key, member)                                               \
	{                                                                      \
		key, FM_SETTING_DURATION, offsetof(struct input, member), 0, 0 \
	}

/* The input of a verb with options begins with its struct fm_common. */
struct fm_command {
	const char *name;
	const char *summary;     /* a line of the list of verbs */
	const char *arguments;   /* shown after the options in the usage line, or NULL */
	const char *description; /* purpose and how to read the output; printed before the options */
	const char *examples;    /* printed after the options */
	const struct argp_option *options;
	const struct fm_setting *settings; /* NULL: none */
	/* Parses an option without a setting, or an argument (ARGP_KEY_ARG). 0, -errno with a message, or
	   ARGP_ERR_UNKNOWN. NULL: none. */
	int (*parse)(void *input, int key, char *argument, struct fm_error *error);
	/* Called after the last option: checks the combination of options. 0 or -errno. May be NULL. */
	int (*check)(void *input, struct fm_error *error);
	/* Offset in the input of a char *const *: the program and its arguments, which end the options. 0: no
	   program. */
	size_t program;
	int (*run)(const struct fm_command *command, int argc, char **argv);
};

extern const struct fm_command *const fm_commands[];

const struct fm_command *fm_command_find(const char *name);

/* Options of many verbs: FM_OPTION_ lines in the table of options enable them. */
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

#define FM_OPTIONS_PRINTING FM_OPTION_OUTPUT, FM_OPTION_JSON, FM_OPTION_SEPARATOR, FM_OPTION_QUIET, FM_OPTION_VERBOSE

/* Parses options into `input`. Returns -1 if the verb continues, otherwise the exit code: help was printed, or the
   usage was wrong and is explained. */
int fm_command_parse(const struct fm_command *command, int argc, char **argv, void *input);

void fm_command_help(const struct fm_command *command, FILE *output);

/* "fathom: message" on stderr; returns the exit code for the error. */
int fm_report_error(const struct fm_error *error);

/* fm_report_error() for a verb that runs a program, with codes unlike usual exit statuses: 125 failed, 124 cannot be
   measured here, 126 program not executable, 127 program not found, 2 wrong usage. */
int fm_report_error_of_run(const struct fm_error *error);

/* "fathom: text" on stderr, unless -q. For observations: `common` is a const struct fm_common. */
void fm_common_remark(void *common, const char *text);

/* Standard output, or the file of -o; a symbolic link is not followed. NULL after a message. */
FILE *fm_common_open(const struct fm_common *common);

/* Columns for text: the width of the terminal, at most 100. */
unsigned fm_common_width(FILE *output);

/* Closes the output, with a message if the disk is full. Returns the exit code. */
int fm_common_close(const struct fm_common *common, FILE *output);

/* Set by SIGINT and SIGTERM after fm_interrupt_install(), so that work can stop cleanly. A second signal ends the
   process. */
extern volatile bool fm_interrupted;
void fm_interrupt_install(void);

/* Parses a share such as "3%" or "0.03", from 0.1 % to `most`. */
int fm_command_parse_overhead(const char *text, double most, double *ret_share, struct fm_error *error);

#endif
