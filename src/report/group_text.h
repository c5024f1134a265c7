/* The metrics of a performance group, for people and scripts. */
#ifndef FATHOM_REPORT_GROUP_TEXT_H
#define FATHOM_REPORT_GROUP_TEXT_H

#include <jansson.h>
#include <stdio.h>

#include "counters/group.h"

/* From the counts of its events, all threads together; NAN where there is none. */
void fm_group_print(const struct fm_group *group, const double *counts, double seconds, double frequency, FILE *output);
json_t *fm_group_to_json(const struct fm_group *group, const double *counts, double seconds, double frequency);

#endif
