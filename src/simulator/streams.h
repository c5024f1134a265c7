/* What a stream prefetcher remembers. */
#ifndef FATHOM_SIMULATOR_STREAMS_H
#define FATHOM_SIMULATOR_STREAMS_H

#include <stdint.h>

/* A stream the prefetcher follows: lines of one page, in one direction. */
struct stream {
	uint64_t page; /* plus one */
	uint64_t last;
	int direction;
	unsigned confidence;
	uint64_t ahead;  /* the last line prefetched */
	uint64_t beyond; /* … into the last cache only */
	uint64_t used;   /* for replacement */
};

struct fm_stream_table {
	uint64_t clock;
	unsigned count;
	struct stream streams[];
};

#endif
