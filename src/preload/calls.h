/* System calls that keep errno, take no lock and cannot be interposed, and other operations of one instruction.

   The preloaded libraries run inside other programs. They call nothing that may take a lock of the program, never
   print, never end the program, and keep errno. */
#ifndef FATHOM_PRELOAD_CALLS_H
#define FATHOM_PRELOAD_CALLS_H

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>

#include "base/processor.h"
#include "base/system_call.h"

#define EXPORTED __attribute__((visibility("default")))
#define HIDDEN __attribute__((visibility("hidden")))

/* The clock number of a thread's processor time, in the kernel's encoding. */
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

/* Sets the mask of blocked signals. Returns the mask before. */
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

/* Maps memory, private or of a file. NULL on failure. */
static inline void *fm_map(size_t size, long flags, long file)
{
	long result = fm_system_call(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE, flags, file, 0);

	return fm_failed(result) ? NULL : (void *)result;
}

/* Tables that a forked child can begin anew: it finds them empty, and fork() need not copy their pages. */
static inline void fm_empty_in_children(void *address, size_t size)
{
	fm_system_call(SYS_madvise, (long)address, (long)size, MADV_WIPEONFORK, 0, 0, 0);
}

/* The result of a system call as the C library's functions return it. */
static inline long fm_with_errno(long result)
{
	if (!fm_failed(result))
		return result;
	errno = (int)-result;
	return -1;
}

#endif
