/* Formats. A writer prints an analysis and computes nothing; a new format is one file and one line in writers.def. */
#ifndef FATHOM_REPORT_WRITER_H
#define FATHOM_REPORT_WRITER_H

#include <stdio.h>

#include "fold/compare.h"
#include "fold/fold.h"
#include "patterns/analysis.h"
#include "patterns/runs.h"
#include "scale/scale.h"
#include "squeeze/squeeze.h"

struct fm_writer_options {
	unsigned width; /* columns */
	unsigned top;   /* rows of lists that may be long */
	int verbosity;
	const char *separator; /* of fields */
	bool curve;            /* for sampled references: only the miss-ratio curve */
	bool bandwidth_curve;  /* of memory, with the position of the program */
	bool moments_written;  /* the live run printed them */
	bool diagnosis;        /* the verdict with its evidence, and levels only */
	const char *recording; /* with diagnosis: where all of it is kept */
	bool no_source;        /* pages show no source files */
};

struct fm_writer {
	const char *name;
	/* "" if it can write, otherwise the missing part. NULL: it always can. */
	const char *(*lacks)(void);
	void (*stat)(const struct fm_analysis *analysis, const struct fm_writer_options *options, FILE *output);
	/* Sampled references: fold->samples has the tables. */
	void (*samples)(const struct fm_fold *fold, const struct fm_writer_options *options, FILE *output);
	bool rates; /* shows the fitted rates of folded regions (fm_fold_add_rates()) */
	/* Two recordings of them. NULL: not in this format. */
	void (*compared)(const struct fm_comparison *comparison, const struct fm_writer_options *options, FILE *output);
	/* Two runs of a program. NULL: not in this format. */
	void (*runs)(const struct fm_runs *runs, const struct fm_writer_options *options, FILE *output);
	/* Results of `squeeze`. NULL: not in this format. */
	void (*squeeze)(const struct fm_squeeze *squeeze, const struct fm_writer_options *options, FILE *output);
	/* Results of `scale`. NULL: not in this format. */
	void (*scale)(const struct fm_scale *scale, const struct fm_writer_options *options, FILE *output);
	/* Counts while the program runs: intervals from `first` on; for levels by counters, their picture. NULL: all
	 * output comes at the end. */
	void (*moment)(const struct fm_recording *recording, size_t first, const struct fm_judged *moment,
	               const struct fm_writer_options *options, FILE *output);
};

extern const struct fm_writer *const fm_writers[]; /* ended by NULL */

const struct fm_writer *fm_writer_find(const char *name);

#endif
