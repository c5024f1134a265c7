/* A program forbids itself system calls, which would apply to ours as well. */
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>

#include "preload/hooks.h"

/* Filters need either privileges, or the promise not to gain any, which comes first. */
static void note(long number, long first)
{
	if (number == SYS_prctl && first == PR_SET_NO_NEW_PRIVS)
		fm_hook_filter(true);
	if (number == SYS_seccomp ? first == SECCOMP_SET_MODE_STRICT || first == SECCOMP_SET_MODE_FILTER
	                          : number == SYS_prctl && first == PR_SET_SECCOMP)
		fm_hook_filter(false);
}

#define GATHER(last, count, array)                       \
	va_list list;                                    \
	long array[count];                               \
                                                         \
	va_start(list, last);                            \
	for (unsigned i = 0; i < (unsigned)(count); i++) \
		(array)[i] = va_arg(list, long);         \
	va_end(list);

EXPORTED int prctl(int option, ...)
{
	GATHER(option, 4, more)

	fm_next_find();
	note(SYS_prctl, option);
	return fm_next.prctl(option, more[0], more[1], more[2], more[3]);
}

EXPORTED long syscall(long number, ...)
{
	GATHER(number, 6, more)

	fm_next_find();
	note(number, more[0]);
	return fm_next.syscall(number, more[0], more[1], more[2], more[3], more[4], more[5]);
}
