/* Levels, utilisation, cycles and patterns of a program, for people and scripts. */
#ifndef FATHOM_REPORT_PICTURE_TEXT_H
#define FATHOM_REPORT_PICTURE_TEXT_H

#include <jansson.h>
#include <stdio.h>

#include "patterns/patterns.h"
#include "report/stat_text.h"

/* The picture is of everything; the source gives those of threads and regions. */
void fm_picture_print(const struct fm_picture *picture, const struct fm_picture_source *source,
                      const struct fm_stat *stat, FILE *output, unsigned width, int verbose);

/* Adds elapsed, predicted and patterns to an object, and traffic to its levels and cycles, which are made when there
   are none. */
void fm_picture_to_json(const struct fm_picture *picture, json_t *object);

/* The same for a whole document of stat, with `native`, and for each of its threads and regions. A region that several
   threads ran gets one more entry for all of them, whose thread is null. */
void fm_picture_add_to_document(const struct fm_picture *picture, const struct fm_picture_source *source, json_t *root);

/* Is it the first entry of its name? */
bool fm_region_is_first(const struct fm_results *results, unsigned region);

#endif
