/* System calls that keep errno, that nobody interposes, and that take no lock; and what else takes one instruction.

   The library is loaded into other people's programs. It depends on base (headers) and translate only, calls nothing
   that may take a lock the program may hold, never prints, never ends the program, and keeps errno. */
#ifndef FATHOM_NATIVE_CALLS_H
#define FATHOM_NATIVE_CALLS_H

#include <linux/futex.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/system_call.h"

#define EXPORTED __attribute__((visibility("default")))

static inline uint64_t fm_ticks(void)
{
	return __builtin_ia32_rdtsc();
}

/* Processor time of any thread of the process, as the kernel numbers such clocks. */
#define FM_CLOCK_OF_THREAD(thread) ((long)(int)(~(uint32_t)(thread) << 3 | 6))

static inline uint64_t fm_clock_ns(long clock)
{
	struct timespec time = {0};

	fm_system_call(SYS_clock_gettime, clock, (long)&time, 0, 0, 0, 0);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static inline pid_t fm_thread_id(void)
{
	return (pid_t)fm_system_call(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

static inline pid_t fm_process_id(void)
{
	return (pid_t)fm_system_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

/* The signals that are blocked from now on; returns those that were before. */
static inline uint64_t fm_change_mask(uint64_t mask)
{
	uint64_t before = 0;

	fm_system_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, (long)&before, sizeof(mask), 0, 0);
	return before;
}

static inline uint64_t fm_block_all(void)
{
	return fm_change_mask(~(uint64_t)0);
}

static inline void fm_wake(uint32_t *futex)
{
	fm_system_call(SYS_futex, (long)futex, FUTEX_WAKE, INT32_MAX, 0, 0, 0);
}

static inline void fm_wait(uint32_t *futex, uint32_t value, long nanoseconds)
{
	struct timespec timeout = {0, nanoseconds};

	fm_system_call(SYS_futex, (long)futex, FUTEX_WAIT, value, (long)&timeout, 0, 0);
}

/* Memory of our own; NULL: none. */
void *fm_map(size_t size, long flags, long file);

#endif
