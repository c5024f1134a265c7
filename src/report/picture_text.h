/* Levels, utilisation, cycles and patterns of a program, for people and scripts. */
#ifndef FATHOM_REPORT_PICTURE_TEXT_H
#define FATHOM_REPORT_PICTURE_TEXT_H

#include <jansson.h>
#include <stdio.h>

#include "patterns/patterns.h"
#include "report/stat_text.h"

void fm_picture_print(const struct fm_picture *picture, const struct fm_stat *stat, FILE *output, unsigned width,
                      int verbose);

/* Adds elapsed, predicted, native, and patterns to a document of stat, and traffic to its levels and cycles. */
void fm_picture_to_json(const struct fm_picture *picture, json_t *root);

#endif
