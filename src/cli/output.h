/* Where and in which format a verb writes. */
#ifndef FATHOM_CLI_OUTPUT_H
#define FATHOM_CLI_OUTPUT_H

#include "cli/command.h"
#include "patterns/condition.h"
#include "report/writer.h"

struct fm_output {
	const struct fm_common *common;
	const struct fm_writer *writer;
	struct fm_writer_options options;
	FILE *file; /* NULL until it is opened */
	bool failed;
};

/* Chooses the format: --json, -x, else text. */
void fm_output_choose(struct fm_output *output, const struct fm_common *common, unsigned top);

/* Opens the file unless it is open; false after a message. */
bool fm_output_open(struct fm_output *output);

/* Analyses a recording of `stat` and prints it. 0, or 1 after a message. */
int fm_output_stat(struct fm_output *output, const struct fm_recording *recording);

/* fm_output_stat() for a recording of `squeeze`, or of `scale`. */
int fm_output_squeeze(struct fm_output *output, const struct fm_recording *recording);
int fm_output_scale(struct fm_output *output, const struct fm_recording *recording);

/* fm_output_stat() for sampled references; `filter` may be NULL. 2 if nothing matches the filter. */
int fm_output_samples(struct fm_output *output, const struct fm_recording *recording,
                      const struct fm_samples_filter *filter);

/* Compares two recordings of sampled references and prints the result. */
int fm_output_comparison(struct fm_output *output, const struct fm_recording *first, const struct fm_recording *second,
                         const struct fm_samples_filter *filter);

/* Compares two recordings of `stat` or `diagnose` and prints the result. */
int fm_output_runs(struct fm_output *output, const struct fm_recording *first, const struct fm_recording *second);

/* Tests conditions on one recording of `stat` or `diagnose`, or on two (`second` may be NULL), with a message for each
   that holds or cannot be decided. 0, FM_EXIT_CONDITION, or 1 after a message. */
int fm_output_conditions(const struct fm_condition *conditions, unsigned count, const struct fm_recording *first,
                         const struct fm_recording *second);

/* Loads a recording; adds the parts of an unfinished one. 0, or the exit code after a message. */
int fm_output_load(const char *path, const struct fm_common *common, struct fm_recording **ret_recording);

/* Before a program runs: installs signal handlers and checks that a recording at `path` (may be NULL) can be written. 0
   or -errno. */
int fm_run_check(const char *path, struct fm_error *error);

/* The exit code after a failed or cancelled run, with a message. */
int fm_run_failed(const struct fm_common *common, const struct fm_recording *recording, const struct fm_error *error);

/* Prints with one of the functions above and saves the recording at `path` (may be NULL). Returns the program's exit
   status, or 125 after a message. */
int fm_run_print(struct fm_output *output, const struct fm_recording *recording,
                 int (*print)(struct fm_output *output, const struct fm_recording *recording), const char *path);

#endif
