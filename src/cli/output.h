/* Where and in which format a verb writes. */
#ifndef FATHOM_CLI_OUTPUT_H
#define FATHOM_CLI_OUTPUT_H

#include "cli/command.h"
#include "report/writer.h"

struct fm_output {
	const struct fm_common *common;
	const struct fm_writer *writer;
	struct fm_writer_options options;
	FILE *file; /* NULL until it is opened */
	bool failed;
};

/* By --json, -x, else text. */
void fm_output_choose(struct fm_output *output, const struct fm_common *common, unsigned top);

/* Opens the file when it is not; false after a message. */
bool fm_output_open(struct fm_output *output);

/* Analyse what `stat` recorded and write it. 0, or 1 after a message. */
int fm_output_stat(struct fm_output *output, const struct fm_recording *recording);

/* The same for a program that was squeezed. */
int fm_output_squeeze(struct fm_output *output, const struct fm_recording *recording);

/* The same for sampled references; `filter` may be NULL. 2 when nothing matches the filter. */
int fm_output_samples(struct fm_output *output, const struct fm_recording *recording,
                      const struct fm_samples_filter *filter);

/* Two recordings of sampled references. */
int fm_output_comparison(struct fm_output *output, const struct fm_recording *first, const struct fm_recording *second,
                         const struct fm_samples_filter *filter);

#endif
