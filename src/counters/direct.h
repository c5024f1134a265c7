/* Reading a counter of the own thread without a system call, where kernel and processor allow it: x86 (rdpmc) and arm64
   (with kernel.perf_user_access=1). For code that measures itself in small pieces. */
#ifndef FATHOM_COUNTERS_DIRECT_H
#define FATHOM_COUNTERS_DIRECT_H

#include <stdbool.h>
#include <stdint.h>

#include "counters/event.h"

struct fm_direct {
	int file;
	void *page; /* the kernel's description of where the counter is now; NULL when there is none */
};

/* An event of the calling thread, counting from now on. When it cannot be read directly it can be read all the same, by
   a system call; fm_direct_is_direct() says which. */
int fm_direct_open(const struct fm_event *event, struct fm_direct *ret_direct, struct fm_error *error);
void fm_direct_close(struct fm_direct *direct);
bool fm_direct_is_direct(const struct fm_direct *direct);

/* The count so far; false when it could not be read. */
bool fm_direct_read(const struct fm_direct *direct, uint64_t *ret_value);

#endif
