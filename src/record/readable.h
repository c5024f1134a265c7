/* Is there memory at an address? Asked of the kernel without a fault, a file or a lock. */
#ifndef FATHOM_RECORD_READABLE_H
#define FATHOM_RECORD_READABLE_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/system_call.h"

#define FM_PAGE 4096ull

/* The page of this address. rt_sigprocmask copies the set it is given before it looks at what to do with it: there is
   no such thing to do as -1, so nothing changes, and the error tells whether the set could be read. Hardly any filter
   of system calls forbids it. */
static inline bool fm_readable(uint64_t address)
{
	uint64_t page = address & -FM_PAGE;

	return page != 0 && fm_system_call(SYS_rt_sigprocmask, -1, (long)page, 0, 8, 0, 0) == -EINVAL;
}

#endif
