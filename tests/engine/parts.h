/* Files of samples, read with every length checked. */
#ifndef FATHOM_TESTS_ENGINE_PARTS_H
#define FATHOM_TESTS_ENGINE_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "record/stream.h"

struct part {
	struct fm_stream_process process;
	struct fm_stream_entry **entries; /* each with its body, in the order of the file */
	unsigned count;
	void *bytes;
};

/* The file of samples of a process in the folder, by number; the first that began of those. */
bool part_read(const char *folder, unsigned index, struct part *ret_part);
void part_free(struct part *part);

/* The next sample from *at on; NULL: no more. */
const struct fm_stream_sample *part_sample(const struct part *part, unsigned *at, uint32_t *ret_thread);

/* The addresses of a stack, or NULL. */
const uint64_t *part_stack(const struct part *part, uint32_t number, unsigned *ret_count);

#endif
