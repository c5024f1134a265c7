/* Whom a finding concerns: threads and regions that show it themselves, and the source lines to look at. */
#ifndef FATHOM_REPORT_WHERE_H
#define FATHOM_REPORT_WHERE_H

#include "report/picture_text.h"

enum { FM_WHERE_THREADS = 16, FM_WHERE_REGIONS = 8, FM_WHERE_LINES = 3 };

struct fm_where {
	int threads[FM_WHERE_THREADS];
	unsigned thread_count;
	char regions[FM_WHERE_REGIONS][96];
	unsigned region_count;
	struct {
		char file[160]; /* its last part */
		int line;
		char function[160];
		double share; /* of what is looked for: misses, or transfers */
	} lines[FM_WHERE_LINES];
	unsigned line_count;
};

/* For each finding, in their order. Without a stat, which the exact engine gives, there are no lines. */
void fm_where_find(const struct fm_picture *picture, const struct fm_finding *findings, unsigned count,
                   const struct fm_picture_parts *parts, const struct fm_stat *stat, struct fm_where *ret_where);

/* "threads 1, 2; region sum; stream.c:20 (main)"; "" when there is nothing to say. Returns text. */
const char *fm_where_text(const struct fm_where *where, char *text, size_t size);

#endif
