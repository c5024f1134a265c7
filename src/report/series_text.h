/* Levels and cycles over time, as strips that show how much of each was used when, and as JSON. */
#ifndef FATHOM_REPORT_SERIES_TEXT_H
#define FATHOM_REPORT_SERIES_TEXT_H

#include <jansson.h>
#include <stdio.h>

#include "model/picture.h"

/* Moments one after the other; false after the last. */
struct fm_series_source {
	void *context;
	bool (*moment)(void *context, unsigned index, struct fm_picture *ret_picture, double *ret_at);
	const char *time; /* "simulated time" */
};

/* Of a run of the exact engine. */
struct fm_series_source fm_series_exact(struct fm_picture_source *source);

void fm_series_print(const struct fm_series_source *source, FILE *output, unsigned width);

/* An array of {"seconds", "levels", "cycles"}. */
json_t *fm_series_to_json(const struct fm_series_source *source);

#endif
