/* Reports of 'fathom scale': text and JSON. */
#ifndef FATHOM_REPORT_SCALE_H
#define FATHOM_REPORT_SCALE_H

#include <jansson.h>
#include <stdio.h>

#include "scale/scale.h"

void fm_scale_print(const struct fm_scale *scale, unsigned width, int verbosity, FILE *output);

/* docs/schemas/scale.schema.json: a new reference, NULL when out of memory. */
json_t *fm_scale_json(const struct fm_scale *scale);

#endif
