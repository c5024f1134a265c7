/* What the laboratory measured: how much of the time waits for cache lines, in the whole program and by place. */
#ifndef FATHOM_REPORT_LABORATORY_H
#define FATHOM_REPORT_LABORATORY_H

#include <jansson.h>
#include <stdio.h>

#include "model/picture.h"

/* Nothing if there was no laboratory. `by_place`: also a table of source lines. */
void fm_laboratory_text(const struct fm_picture *picture, bool by_place, unsigned width, FILE *output);

/* Null if there was no laboratory. */
json_t *fm_laboratory_json(const struct fm_picture *picture);

#endif
