/* What the runtime knows of the calling thread: in thread-local memory, so that it costs one instruction to reach.

   The runtime is loaded into other people's programs. It depends on base (headers) and translate only, calls nothing
   that may be interposed or may take a lock the program may hold, never prints, never ends the program, and keeps
   errno. */
#ifndef FATHOM_RECORD_SELF_H
#define FATHOM_RECORD_SELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/stream.h"

struct fm_self {
	/* > 0: code of the runtime is at work in this thread, and may not be entered again: interposed functions go
	   straight to the next one, the timer gives up. A plain counter: only this thread and its signal handlers use
	   it. */
	uint32_t inside;
	uint32_t number;  /* of this thread in its process, from 1; 0: it has no record yet */
	uint32_t process; /* whose thread it was then: a forked child has another */
	uint16_t kind;    /* of the entry that is being written */
	uint16_t ended;
	/* log.c */
	uint8_t *at, *end; /* where the next entry goes, and where the chunk ends; NULL: no chunk yet */
	/* allocations.c */
	int64_t until_tracked; /* allocations until the next small one is kept */
	uint64_t random;
	uint64_t calls, tracked; /* of allocating and releasing functions, not yet added to the process's */
	/* unwinding, costs and bursts keep theirs behind these */
	uint64_t allocation_ticks;
	void *burst;
};

extern __thread struct fm_self fm_self __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Between these two nothing of the runtime happens in signal handlers of this thread. */
static inline void fm_self_enter(void)
{
	fm_self.inside++;
	__asm__ volatile("" ::: "memory");
}

static inline void fm_self_leave(void)
{
	__asm__ volatile("" ::: "memory");
	fm_self.inside--;
}

static inline uint64_t fm_ticks(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

/* xorshift; never 0 once seeded. */
static inline uint64_t fm_self_random(void)
{
	uint64_t x = fm_self.random ? fm_self.random : fm_ticks() | 1;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return fm_self.random = x;
}

#endif
