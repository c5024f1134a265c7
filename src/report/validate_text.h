/* Results of the validation of events, as text, JSON, separated values and HTML. */
#ifndef FATHOM_REPORT_VALIDATE_TEXT_H
#define FATHOM_REPORT_VALIDATE_TEXT_H

#include <jansson.h>
#include <stdio.h>

#include "trust/metrics.h"
#include "trust/tables.h"

/* Prints all tables within `width` columns, with more detail if `verbose`. */
void fm_validation_print(const struct fm_validation *validation, FILE *output, unsigned width, int verbose);

/* Prints all details of one event, with a plot. */
void fm_validation_explain(const struct fm_validation *validation, unsigned event, FILE *output, unsigned width);

/* Prints one event per line: name, class, quantity, factor, mean, smallest and largest error, formula, reason. */
void fm_validation_print_separated(const struct fm_validation *validation, FILE *output, const char *separator);

/* Sets the members events, resources, metrics, stalls, errors, imbalance, sharing. */
void fm_validation_to_json(const struct fm_validation *validation, json_t *root);

/* Writes one self-contained page. 0 or a negative errno. */
int fm_validation_to_html(const struct fm_validation *validation, FILE *output);

#endif
