/* Rows of sampled references: objects, routines, lines, regions, threads. Each kind is described once for text, JSON,
   -x and the HTML page. */
#ifndef FATHOM_REPORT_SAMPLE_ROWS_H
#define FATHOM_REPORT_SAMPLE_ROWS_H

#include <jansson.h>

#include "samples/samples.h"

struct fm_row_text {
	const char *heading;
	void (*text)(const struct fm_samples *samples, const void *row, char *text, size_t size);
};

struct fm_sample_rows {
	const char *name, *singular;
	size_t rows, count; /* in struct fm_samples */
	size_t row_bytes;
	size_t served; /* in a row */
	json_t *(*json)(const struct fm_samples *samples, const void *row, bool page);
	void (*say)(const struct fm_samples *samples, const void *row, bool brief, char *text, size_t size);
	const char *title;                   /* of the table in the text */
	size_t inclusive;                    /* in a row: a struct fm_served with callees; 0: none */
	struct fm_row_text before[2], after; /* further columns of the text */
	struct {
		const char *heading;
		size_t figure; /* in a row */
	} shares[2];           /* columns in percent, before the levels */
	size_t least;          /* rows, for a table in the text */
};

enum fm_sample_kind { FM_ROWS_OBJECTS, FM_ROWS_ROUTINES, FM_ROWS_REGIONS, FM_ROWS_LINES, FM_ROWS_THREADS, FM_ROWS };
extern const struct fm_sample_rows fm_sample_rows[FM_ROWS];

size_t fm_sample_rows_count(const struct fm_samples *samples, const struct fm_sample_rows *kind);
const char *fm_sample_row(const struct fm_samples *samples, const struct fm_sample_rows *kind, size_t index);

/* Members "objects" … "threads" for the page or for `report --json`, at most `most` rows of each. */
void fm_sample_rows_set(json_t *root, const struct fm_samples *samples, size_t most, bool page);

/* A thread as JSON: process, thread, name. */
json_t *fm_thread_json(const struct fm_samples *samples, uint32_t index);

#endif
