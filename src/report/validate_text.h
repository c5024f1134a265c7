/* What was found about events, for people, scripts and browsers. */
#ifndef FATHOM_REPORT_VALIDATE_TEXT_H
#define FATHOM_REPORT_VALIDATE_TEXT_H

#include <jansson.h>
#include <stdio.h>

#include "trust/metrics.h"
#include "trust/tables.h"

/* All tables within `width` columns; more detail with verbose. */
void fm_validation_print(const struct fm_validation *validation, FILE *output, unsigned width, int verbose);

/* The whole story of one event, with a picture. */
void fm_validation_explain(const struct fm_validation *validation, unsigned event, FILE *output, unsigned width);

/* One event per line: name, class, quantity, factor, mean, smallest and largest error, formula, reason. */
void fm_validation_print_separated(const struct fm_validation *validation, FILE *output, const char *separator);

/* The members events, resources, metrics, stalls, errors, imbalance, sharing. */
void fm_validation_to_json(const struct fm_validation *validation, json_t *root);

/* One page that needs nothing else. */
int fm_validation_to_html(const struct fm_validation *validation, FILE *output);

#endif
