/* A filter of system calls: seccomp prctl|raw|strict. prctl: through libc. raw: filter by system call instructions of
   its own. strict: only read, write and exit remain. The filter forbids what the program does not use, and ends it
   (SIGSYS) for what it never calls. */
#define _GNU_SOURCE
#include "counted.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static long call(long number, long a, long b, long c)
{
	long result;
	register long d __asm__("r10") = 0, e __asm__("r8") = 0;

	__asm__ volatile("syscall"
	                 : "=a"(result)
	                 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(d), "r"(e)
	                 : "rcx", "r11", "memory");
	return result;
}

#define ALLOW(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

int main(int count, char **arguments)
{
	struct sock_filter lines[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    ALLOW(read),
	    ALLOW(write),
	    ALLOW(exit),
	    ALLOW(exit_group),
	    ALLOW(fstat),
	    ALLOW(newfstatat),
	    ALLOW(brk),
	    ALLOW(mmap),
	    ALLOW(munmap),
	    ALLOW(rt_sigreturn),
	    ALLOW(getpid),
	    ALLOW(lseek),
	    ALLOW(futex),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog filter = {sizeof(lines) / sizeof(lines[0]), lines};
	const char *how = count > 1 ? arguments[1] : "prctl";
	char text[64];
	int length;
	long status;

	counted();
	length = snprintf(text, sizeof(text), "%lu before\n", work(50000000));
	if (write(1, text, (size_t)length) != length)
		return 1;
	if (!strcmp(how, "prctl")) {
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		status = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
	} else if (!strcmp(how, "raw")) {
		call(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0);
		status = call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)&filter);
	} else {
		status = call(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0);
	}
	length = snprintf(text, sizeof(text), "%lu after, %ld\n", work(100000000), status);
	if (write(1, text, (size_t)length) != length)
		return 1;
	/* exit, not exit_group: the only one that strict mode allows */
	return (int)call(SYS_exit, 5, 0, 0);
}
