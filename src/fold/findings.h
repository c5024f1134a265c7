/* Suggested changes, from the streams of a program. */
#ifndef FATHOM_FOLD_FINDINGS_H
#define FATHOM_FOLD_FINDINGS_H

#include "fold/streams.h"

enum fm_fold_finding_kind {
#define FINDING(identifier, name, title) FM_FINDING_##identifier,
#include "fold/findings.def"
#undef FINDING
	FM_FINDING_COUNT
};

struct fm_fold_finding {
	enum fm_fold_finding_kind kind;
	double confidence; /* 0 … 1 */
	char title[200];
	char evidence[600];
	char advice[400];
	int64_t object; /* index in samples->objects, FM_FOLD_NONE */
	int64_t line;   /* index in samples->lines, FM_FOLD_NONE */
	int64_t region; /* index in fold->regions, FM_FOLD_NONE */
	/* share of the processor time, or of the simulated costs, that the advice would save */
	struct fm_figure worth;
};

int fm_fold_findings(struct fm_fold *fold);

const char *fm_fold_finding_name(enum fm_fold_finding_kind kind);

#endif
