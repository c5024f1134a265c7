/* Memory that others than the process may see or change. */
#ifndef FATHOM_TRACE_MAPPINGS_H
#define FATHOM_TRACE_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FM_MAPPINGS = 64 };

struct fm_mappings {
	struct {
		uint64_t start, end;
	} shared[FM_MAPPINGS];
	unsigned count;
};

/* The lines of /proc/self/maps, in any parts. False: too many, or the kernel accesses the memory of the process on its
   own (io_uring, asynchronous input and output). */
struct fm_mappings_reader {
	struct fm_mappings *mappings;
	char line[64]; /* its beginning */
	unsigned length;
	uint64_t latest; /* eight bytes of the line */
	bool by_kernel;  /* the line names memory that the kernel accesses on its own */
	bool clock;      /* the line names the kernel's clock */
	bool refused;
};
void fm_mappings_feed(struct fm_mappings_reader *reader, const char *text, size_t length);

bool fm_mappings_read(struct fm_mappings *ret_mappings);

#endif
