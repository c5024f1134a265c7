/* Results of `squeeze`, as text and JSON. */
#ifndef FATHOM_REPORT_SQUEEZE_H
#define FATHOM_REPORT_SQUEEZE_H

#include <jansson.h>
#include <stdio.h>

#include "squeeze/squeeze.h"

void fm_squeeze_print(const struct fm_squeeze *squeeze, unsigned width, int verbosity, FILE *output);

/* docs/schemas/squeeze.schema.json: a new reference, NULL when out of memory. */
json_t *fm_squeeze_json(const struct fm_squeeze *squeeze);

/* Prints the prediction for two programs that share the cache. */
void fm_squeeze_pair_print(const struct fm_squeeze *const squeezes[2], const struct fm_squeeze_pair *pair,
                           FILE *output);
json_t *fm_squeeze_pair_json(const struct fm_squeeze *const squeezes[2], const struct fm_squeeze_pair *pair);

#endif
