/* Memory to measure on: page size and NUMA node chosen, every page present. */
#ifndef FATHOM_MACHINE_BUFFER_H
#define FATHOM_MACHINE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/random.h"

enum fm_pages {
	FM_PAGES_HUGE,  /* 2 MiB, transparent */
	FM_PAGES_SMALL, /* 4 KiB */
	FM_PAGES_COUNT
};

struct fm_buffer {
	char *memory;
	size_t bytes;
	void *mapping;
	size_t mapped;
};

const char *fm_pages_name(enum fm_pages pages);

/* node -1: wherever the calling thread runs. -ENOMEM with a message when there is not enough memory. */
int fm_buffer_allocate(size_t bytes, enum fm_pages pages, int node, struct fm_buffer *ret_buffer,
                       struct fm_error *error);

/* The same with no page present yet. */
int fm_buffer_reserve(size_t bytes, enum fm_pages pages, struct fm_buffer *ret_buffer, struct fm_error *error);
void fm_buffer_free(struct fm_buffer *buffer);

/* How many of its bytes are on huge pages; -1: the kernel does not say. */
long long fm_buffer_huge_bytes(const struct fm_buffer *buffer);

/* Do we get huge pages when we ask for them? Tried, not read from a setting. -ENOTSUP with the remedy if not. */
int fm_huge_pages_probe(struct fm_error *error);

/* Link the lines of the buffer to one random cycle of pointers, one per line, so that no order can be predicted.
   starts receives `count` places spread evenly over the cycle. */
int fm_chain_build(const struct fm_buffer *buffer, struct fm_random *random, void **starts, unsigned count,
                   struct fm_error *error);

#endif
