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
#include <sys/syscall.h>
#include <time.h>

#define EXPORTED __attribute__((visibility("default")))

/* The result, or a negative errno. */
static inline long fm_call(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
	                 : "=a"(result)
	                 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
	                 : "rcx", "r11", "memory");
	return result;
}

static inline bool fm_failed(long result)
{
	return result < 0 && result > -4096;
}

static inline uint64_t fm_ticks(void)
{
	return __builtin_ia32_rdtsc();
}

static inline uint64_t fm_clock_ns(long clock)
{
	struct timespec time = {0};

	fm_call(SYS_clock_gettime, clock, (long)&time, 0, 0, 0, 0);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static inline pid_t fm_thread_id(void)
{
	return (pid_t)fm_call(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

static inline pid_t fm_process_id(void)
{
	return (pid_t)fm_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

/* The signals that are blocked from now on; returns those that were before. */
static inline uint64_t fm_change_mask(uint64_t mask)
{
	uint64_t before = 0;

	fm_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, (long)&before, sizeof(mask), 0, 0);
	return before;
}

static inline uint64_t fm_block_all(void)
{
	return fm_change_mask(~(uint64_t)0);
}

static inline void fm_wake(uint32_t *futex)
{
	fm_call(SYS_futex, (long)futex, FUTEX_WAKE, INT32_MAX, 0, 0, 0);
}

static inline void fm_wait(uint32_t *futex, uint32_t value, long nanoseconds)
{
	struct timespec timeout = {0, nanoseconds};

	fm_call(SYS_futex, (long)futex, FUTEX_WAIT, value, (long)&timeout, 0, 0);
}

/* Memory of our own; NULL: none. */
void *fm_map(size_t size, long flags, long file);

#endif
