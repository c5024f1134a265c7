/* Buffers for measurements, with a choice of page size and NUMA node and all pages present. */
#ifndef FATHOM_MEASURE_BUFFER_H
#define FATHOM_MEASURE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/random.h"
#include "profile/curves.h"

struct fm_buffer {
	char *memory;
	size_t bytes;
	void *mapping;
	size_t mapped;
};

/* node -1: that of the calling thread. -ENOMEM with a message without memory. */
int fm_buffer_allocate(size_t bytes, enum fm_pages pages, int node, struct fm_buffer *ret_buffer,
                       struct fm_error *error);

/* fm_buffer_allocate() without touching the pages. */
int fm_buffer_reserve(size_t bytes, enum fm_pages pages, struct fm_buffer *ret_buffer, struct fm_error *error);
void fm_buffer_free(struct fm_buffer *buffer);

/* Bytes on huge pages; -1 if the kernel does not report them. */
long long fm_buffer_huge_bytes(const struct fm_buffer *buffer);

/* Tries to get huge pages. -ENOTSUP with a remedy without them. */
int fm_huge_pages_probe(struct fm_error *error);

/* Links the lines of the buffer to a random cycle of pointers, one per line. starts receives `count` lines at equal
   distances in the cycle. */
int fm_chain_build(const struct fm_buffer *buffer, struct fm_random *random, void **starts, unsigned count,
                   struct fm_error *error);

#endif
