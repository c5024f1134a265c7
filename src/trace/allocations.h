/* Where heap memory was allocated, for the names of heap objects. All large allocations are kept, and a random one of
   every FM_TRACE_ALLOCATION_STEP bytes of small ones. Releases are not noted: the consumer lets the latest allocation
   of an address win. */
#ifndef FATHOM_TRACE_ALLOCATIONS_H
#define FATHOM_TRACE_ALLOCATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/shared.h"

/* Bytes of small allocations until the next kept one. */
extern __thread int64_t fm_allocations_left __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* The fast path of an allocation: true if it is not kept. */
static inline __attribute__((always_inline)) bool fm_allocations_pass(size_t size)
{
	return __builtin_expect(size < FM_TRACE_ALLOCATION_LARGE, 1) &&
	       __builtin_expect((fm_allocations_left -= (int64_t)size) >= 0, 1);
}

/* Keeps an allocation off the fast path. `caller`: return address in the program. */
void fm_allocations_keep(const void *address, size_t size, const void *caller) __attribute__((noinline));

/* Can call stacks be walked in this process? */
bool fm_allocations_can_unwind(void);

/* Before the first thread of the process is traced; in a forked child with a file of its own. Failures only mean that
   heap objects have no names. */
void fm_allocations_open(void);
void fm_allocations_forked(void);

#endif
