/* System calls for libraries that are loaded into other people's programs: they keep errno, take no lock, and no
   library stands before them. */
#ifndef FATHOM_BASE_SYSTEM_CALL_H
#define FATHOM_BASE_SYSTEM_CALL_H

#include <stdbool.h>
#include <sys/syscall.h>

/* The result, or a negative errno. */
static inline long fm_system_call(long number, long a, long b, long c, long d, long e, long f)
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

#endif
