/* Allocation tracking for the interposed functions (allocations.c). Nearly all allocations take the fast path: a
   countdown in thread-local memory. A release takes one lookup in the filter of live.h and another countdown. Neither
   writes shared data, and both end in a jump to the next function: an exception there needs no cleanup, and the
   program's stacks show no frame of the runtime.

   No state marks an allocator at work, and yet each allocation is counted once. A function is counted only if its
   successor does not call back the interposed ones (interpose/new.c). Requests of an allocator for itself are
   recognised by their caller (next.h). */
#ifndef FATHOM_RECORD_TRACKING_H
#define FATHOM_RECORD_TRACKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/live.h"
#include "record/self.h"

#define FM_LIKELY(condition) __builtin_expect(!!(condition), 1)

enum {
	FM_TRACKING_LARGE = 4096, /* from this size on all are kept … */
	FM_TRACKING_DENSE = 64,   /* … up to this interval of small ones; above, one in interval / 64 */
	FM_TRACKING_STEP = 4096,  /* calls after which a thread checks for a new interval */
};

struct fm_tracking {
	int64_t until_counted; /* releases until they are added to the calls */
	uint64_t counted_step; /* releases to be added then; 0: no release yet */
	uint64_t step;         /* length of the present countdown of fm_self.until_tracked; 0: none yet */
	uint64_t interval;     /* at its start: weight of the allocation at its end */
	bool hit;              /* the countdown ends with a kept allocation, not only with a check */
};
extern __thread struct fm_tracking fm_tracking __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Counts one call. True: the short way, nothing else is to be done. */
static inline __attribute__((always_inline)) bool fm_tracking_passes(size_t size)
{
	return FM_LIKELY(--fm_self.until_tracked >= 0) && FM_LIKELY(size < FM_TRACKING_LARGE);
}

static inline __attribute__((always_inline)) bool fm_tracking_release_passes(const void *address)
{
	return FM_LIKELY(!fm_live_maybe(address)) && FM_LIKELY(--fm_tracking.until_counted >= 0);
}

/* For a call off the short way: number of allocations that it represents; 0: not kept. `caller`: return address in the
   program. */
uint64_t fm_tracking_weight(size_t size, const void *caller);

/* Logs a kept allocation, before the program receives its address. */
void fm_tracking_keep(void *address, size_t size, enum fm_stream_allocator allocator, uint64_t weight,
                      const void *caller);

/* Keeps an allocation whose release failed. Size and weight are guessed. */
void fm_tracking_keep_again(void *address, const void *caller);

/* For a release off the short way: removes the address from the live set. Was it kept? Call it before the real release,
   after which another thread may get the address. */
bool fm_tracking_release(void *address);

/* Keep and release of mapped memory, which is not in the live set: each release is logged. */
void fm_tracking_keep_mapped(void *address, size_t size, const void *caller);
void fm_tracking_release_mapped(void *address, size_t size);

/* Start and end of a release that counts only if the call between them succeeds; its time is that of the start. */
void *fm_tracking_begin_release(void);
void fm_tracking_end_release(void *begun, void *address, size_t size);

/* The interposed malloc and free under names that the program cannot replace. */
void *fm_interposed_malloc(size_t size) __attribute__((visibility("hidden")));
void fm_interposed_free(void *address) __attribute__((visibility("hidden")));

/* Looks up the next operators, if any are loaded yet. */
void fm_interposed_new_open(void);

/* Is this code of an operator new: the interposed one, or one that gets its memory from malloc? */
bool fm_interposed_new_contains(uint64_t code);

#endif
