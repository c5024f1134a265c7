/* Is memory at an address readable? The kernel answers without a fault, a file or a lock. */
#ifndef FATHOM_PRELOAD_READABLE_H
#define FATHOM_PRELOAD_READABLE_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "preload/calls.h"

#define FM_PAGE 4096ull

/* Is the page of this address readable? rt_sigprocmask copies the given set before it checks the operation. Operation
   -1 does not exist: nothing changes, and the error shows whether the set was readable. System call filters rarely
   forbid it. */
static inline bool fm_readable(uint64_t address)
{
	uint64_t page = address & -FM_PAGE;

	return page != 0 && fm_system_call(SYS_rt_sigprocmask, -1, (long)page, 0, 8, 0, 0) == -EINVAL;
}

#endif
