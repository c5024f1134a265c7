/* Formats. A writer prints an analysis and computes nothing; a new format is one file and one line in writers.def. */
#ifndef FATHOM_REPORT_WRITER_H
#define FATHOM_REPORT_WRITER_H

#include <stdio.h>

#include "fold/compare.h"
#include "fold/fold.h"
#include "patterns/analysis.h"
#include "squeeze/squeeze.h"

struct fm_writer_options {
	unsigned width; /* columns */
	unsigned top;   /* rows of lists that may be long */
	int verbosity;
	const char *separator; /* of fields */
	bool curve;            /* of sampled references: the misses of caches of any size, and nothing else */
	bool bandwidth_curve;  /* of memory, and the program's place on it */
	bool moments_written;  /* they were, while they came */
	bool no_source;        /* pages show no source files */
};

struct fm_writer {
	const char *name;
	/* "" when it can write; else what it lacks. NULL: it always can. */
	const char *(*lacks)(void);
	void (*stat)(const struct fm_analysis *analysis, const struct fm_writer_options *options, FILE *output);
	/* Sampled references: fold->samples has the tables. */
	void (*samples)(const struct fm_fold *fold, const struct fm_writer_options *options, FILE *output);
	bool rates; /* it shows the fitted rates of folded regions (fm_fold_tell_rates()) */
	/* Two recordings of them. NULL: not in this format. */
	void (*compared)(const struct fm_comparison *comparison, const struct fm_writer_options *options, FILE *output);
	/* What taking cache and bandwidth away has told. NULL: not in this format. */
	void (*squeeze)(const struct fm_squeeze *squeeze, const struct fm_writer_options *options, FILE *output);
	/* What has just been counted, while the program still runs: intervals from `first` on, and, where levels are
	   told by counters, their picture. NULL: everything comes at the end. */
	void (*moment)(const struct fm_recording *recording, size_t first, const struct fm_judged *moment,
	               const struct fm_writer_options *options, FILE *output);
};

extern const struct fm_writer *const fm_writers[]; /* ended by NULL */

const struct fm_writer *fm_writer_find(const char *name);

#endif
