/* Whom a finding concerns: threads and regions that show it themselves, and the source lines to look at. */
#ifndef FATHOM_PATTERNS_WHERE_H
#define FATHOM_PATTERNS_WHERE_H

#include "patterns/patterns.h"

enum { FM_WHERE_THREADS = 16, FM_WHERE_REGIONS = 8, FM_WHERE_LINES = 3 };

struct fm_where {
	int threads[FM_WHERE_THREADS];
	unsigned thread_count;
	char regions[FM_WHERE_REGIONS][96];
	unsigned region_count;
	struct {
		char file[256]; /* its last part */
		int64_t line;
		char function[FM_FUNCTION];
		double share; /* of what is looked for: misses, or transfers */
	} lines[FM_WHERE_LINES];
	unsigned line_count;
};

struct fm_analysis;

/* For each finding of the whole, in their order, from the parts that have been analysed. Only the exact engine knows
   source lines. */
void fm_where_find(const struct fm_analysis *analysis, struct fm_where *ret_where);

/* "threads 1, 2; region sum; stream.c:20 (main)"; "" when there is nothing to say. Returns text. */
const char *fm_where_text(const struct fm_where *where, char *text, size_t size);

#endif
