/* What the interposed functions ask of allocations.c. The short way of an allocation, which nearly all take, is a count
   down in thread-local memory; of a release, one look into the filter of live.h and another count down. Neither writes
   anything that other threads read, and both end in a jump to the next function: there is nothing to undo when that
   one throws, and no frame of ours in the program's stacks.

   No state says that an allocator is at work. An allocation is counted once all the same, because a function is only
   counted when the one after it does not come back through ours (interpose/new.c), and because what an allocator asks
   for itself is known by where it is called from (next.h). */
#ifndef FATHOM_RECORD_TRACKING_H
#define FATHOM_RECORD_TRACKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/live.h"
#include "record/self.h"

#define FM_LIKELY(condition) __builtin_expect(!!(condition), 1)

enum {
	FM_TRACKING_LARGE = 4096, /* from here on each is kept, … */
	FM_TRACKING_DENSE = 64,   /* … up to this interval of the small ones; beyond, one in interval / 64 */
	FM_TRACKING_STEP = 4096,  /* calls after which a thread looks whether anything changed */
};

struct fm_tracking {
	int64_t until_counted; /* releases before the one with which they are added to the calls */
	uint64_t counted_step; /* how many they are with it; 0: nothing has been released yet */
	uint64_t step;         /* how long the present count down of fm_self.until_tracked was; 0: none has begun */
	uint64_t interval;     /* when it began: the weight of the allocation that it ends with */
	bool hit;              /* it does end with one that is kept, not only with another look */
};
extern __thread struct fm_tracking fm_tracking __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Counts one call. True: nothing else is to be done. */
static inline __attribute__((always_inline)) bool fm_tracking_passes(size_t size)
{
	return FM_LIKELY(--fm_self.until_tracked >= 0) && FM_LIKELY(size < FM_TRACKING_LARGE);
}

static inline __attribute__((always_inline)) bool fm_tracking_release_passes(const void *address)
{
	return FM_LIKELY(!fm_live_maybe(address)) && FM_LIKELY(--fm_tracking.until_counted >= 0);
}

/* For a call that did not pass: how many allocations it stands for; 0: it is not kept. `caller`: where the program
   called from. */
uint64_t fm_tracking_weight(size_t size, const void *caller);

/* It is kept. The address has not been given to the program yet. */
void fm_tracking_keep(void *address, size_t size, enum fm_stream_allocator allocator, uint64_t weight,
                      const void *caller);

/* It was released and is not, because what should have released it failed. Its size and weight are guessed. */
void fm_tracking_keep_again(void *address, const void *caller);

/* For a release that did not pass, before the memory is really released: somebody else may be given it at once. Whether
   it was kept. */
bool fm_tracking_release(void *address);

/* The same for mapped memory, which is not in the live set: each release is written. */
void fm_tracking_keep_mapped(void *address, size_t size, const void *caller);
void fm_tracking_release_mapped(void *address, size_t size);

/* A release that is only true if what comes between these two succeeds; its time is that of the first. */
void *fm_tracking_begin_release(void);
void fm_tracking_end_release(void *begun, void *address, size_t size);

/* The interposed malloc and free by names that mean them, whatever the program has. */
void *fm_interposed_malloc(size_t size) __attribute__((visibility("hidden")));
void fm_interposed_free(void *address) __attribute__((visibility("hidden")));

/* Finds the next operators, if there are any yet. */
void fm_interposed_new_open(void);

/* Whether this is code of an operator new, ours or one that gets its memory from malloc. */
bool fm_interposed_new_contains(uint64_t code);

#endif
