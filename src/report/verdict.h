/* The verdict about a program: what limits it, in a few lines, and for scripts. */
#ifndef FATHOM_REPORT_VERDICT_H
#define FATHOM_REPORT_VERDICT_H

#include <jansson.h>
#include <stdio.h>

#include "patterns/analysis.h"

/* At most ten lines; nothing without a verdict. `evidence`: also by which method, and contradictions. */
void fm_verdict_text(const struct fm_analysis *analysis, bool evidence, unsigned width, FILE *output);

json_t *fm_verdict_json(const struct fm_analysis *analysis);

#endif
