/* Places of a finding: threads and regions with the same finding, and source lines. */
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
		char file[256]; /* last part of the path */
		int64_t line;
		char function[FM_FUNCTION];
		double share; /* of the misses or transfers */
	} lines[FM_WHERE_LINES];
	unsigned line_count;
};

struct fm_analysis;

/* Places for each finding of the whole, in their order, from the analysed parts. Source lines: from exact counting
   only. */
void fm_where_find(const struct fm_analysis *analysis, struct fm_where *ret_where);

/* Writes "threads 1, 2; region sum; stream.c:20 (main)", or "" without a place. Returns `text`. */
const char *fm_where_text(const struct fm_where *where, char *text, size_t size);

#endif
