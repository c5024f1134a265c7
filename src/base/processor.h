/* Operations of the processor that C does not have. */
#ifndef FATHOM_BASE_PROCESSOR_H
#define FATHOM_BASE_PROCESSOR_H

#include <stdint.h>

/* The time stamp: a counter of constant rate, synchronous on all CPUs. */
static inline uint64_t fm_ticks(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#else
#error "a time stamp for this architecture"
#endif
}

/* Hint for a loop that waits for another thread. */
static inline void fm_pause(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* Evicts the line from all caches; complete after fm_flush_wait(). */
static inline void fm_flush_line(const void *line)
{
#if defined(__x86_64__)
	/* no builtin: builtins require enabled vector registers */
	__asm__ volatile("clflush %0" : : "m"(*(const char *)line) : "memory");
#elif defined(__aarch64__)
	__asm__ volatile("dc civac, %0" : : "r"(line) : "memory");
#endif
}

static inline void fm_flush_wait(void)
{
#if defined(__x86_64__)
	__asm__ volatile("mfence" : : : "memory");
#elif defined(__aarch64__)
	__asm__ volatile("dsb ish" : : : "memory");
#endif
}

static inline void fm_prefetch_to_write(const void *line)
{
#if defined(__x86_64__)
	/* the builtin may prefetch for reading; processors without prefetchw ignore the instruction */
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)line));
#else
	__builtin_prefetch(line, 1);
#endif
}

#endif
