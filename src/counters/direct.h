/* Reads of a counter of the own thread without a system call, if kernel and processor allow it: x86 (rdpmc) and arm64
   (with kernel.perf_user_access=1). For short stretches of code. */
#ifndef FATHOM_COUNTERS_DIRECT_H
#define FATHOM_COUNTERS_DIRECT_H

#include <stdbool.h>
#include <stdint.h>

#include "counters/event.h"

struct fm_direct {
	int file;
	void *page; /* the kernel's page with the location of the counter; NULL: none */
};

/* Starts an event of the calling thread. fm_direct_is_direct(): true if it is read directly, not by a system call. */
int fm_direct_open(const struct fm_event *event, struct fm_direct *ret_direct, struct fm_error *error);
void fm_direct_close(struct fm_direct *direct);
bool fm_direct_is_direct(const struct fm_direct *direct);

/* The count; false if it could not be read. */
bool fm_direct_read(const struct fm_direct *direct, uint64_t *ret_value);

#endif
