/* Straight code that loads lines: it disturbs branch predictors as little as possible. */
#ifndef FATHOM_TRACE_X86_64_PLACING_H
#define FATHOM_TRACE_X86_64_PLACING_H

#include <stdint.h>
#include <string.h>

enum { FM_PLACING_LOAD = 9, FM_PLACING_RETURN = 1 /* bytes of code */ };

static inline uint8_t *fm_placing_load(uint8_t *at, uint64_t address)
{
	*at++ = 0xa1; /* mov address, %eax */
	memcpy(at, &address, sizeof(address));
	return at + sizeof(address);
}

static inline void fm_placing_return(uint8_t *at)
{
	*at = 0xc3;
}

/* Later instructions begin when the loads are complete. */
static inline void fm_placing_run(const uint8_t *code)
{
	__asm__ volatile("call *%0\n"
	                 "lfence"
	                 :
	                 : "r"(code)
	                 : "rax", "memory");
}

/* The time stamp when all before is complete, as code in the cache reads it. */
static inline uint64_t fm_placing_clock(void)
{
	uint32_t low, high;

	__asm__ volatile("lfence\n"
	                 "rdtsc"
	                 : "=a"(low), "=d"(high)
	                 :
	                 : "memory");
	return (uint64_t)high << 32 | low;
}

#endif
