/* The runtime's state of the calling thread, in thread-local memory, one instruction away.

   The runtime is loaded into other programs. It depends on base (headers) and translate only. It calls nothing that may
   be interposed or may take a lock the program may hold. It never prints, never ends the program, and keeps errno. */
#ifndef FATHOM_RECORD_SELF_H
#define FATHOM_RECORD_SELF_H

#include "preload/calls.h"
#include "record/stream.h"

struct fm_self {
	/* > 0: code of the runtime runs in this thread and must not be entered again. Interposed functions then go
	   straight to the next one, and the timer gives up. Only this thread and its signal handlers use the
	   counter. */
	uint32_t inside;
	uint32_t number;  /* of this thread in its process, from 1; 0: no record yet */
	uint32_t process; /* process of the thread at that time: a forked child has another */
	uint16_t kind;    /* of the entry that is being written */
	uint16_t ended;
	/* log.c */
	uint8_t *at, *end; /* next entry, and end of the chunk; NULL: no chunk yet */
	/* allocations.c */
	int64_t until_tracked; /* allocations until the next small one is kept */
	uint64_t random;
	uint64_t calls, tracked; /* calls of allocating and releasing functions, not yet added to the process's */
	/* unwinding, costs and bursts keep their state behind these */
	uint64_t allocation_ticks;
	void *burst;
};

extern __thread struct fm_self fm_self __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Start and end of runtime code: between the two, signal handlers of this thread do no work of the runtime. */
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
