/* Threads made by the clone system call itself, without libc: they share memory, work, and wake the first thread by
 * futex. */
#define _GNU_SOURCE
#include "counted.h"
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum {
	THREADS = 4,
	FLAGS = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_CHILD_CLEARTID
};
static unsigned long results[THREADS];
static int alive[THREADS];

/* No libc in here: the thread has no thread-local storage of its own. */
__attribute__((noinline)) void body(long number)
{
	results[number] = work(30000000 + (unsigned long)number);
}

static long start(long number, void *stack)
{
	long result;
	register int *cleared __asm__("r10") = &alive[number];

	__asm__ volatile("mov %6, %%r12\n syscall\n test %%rax, %%rax\n jnz 1f\n"
	                 "xor %%ebp, %%ebp\n mov %%r12, %%rdi\n call body\n"
	                 "mov $60, %%eax\n xor %%edi, %%edi\n syscall\n 1:"
	                 : "=a"(result)
	                 : "a"(SYS_clone), "D"((long)FLAGS), "S"(stack), "d"(NULL), "r"(cleared), "r"(number)
	                 : "rcx", "r11", "r12", "memory");
	return result;
}

int main(void)
{
	unsigned long sum = 0;

	counted();
	for (long i = 0; i < THREADS; i++) {
		char *stack = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);

		alive[i] = 1;
		if (start(i, stack + 65536 - 64) < 0)
			return 1;
	}
	for (int i = 0; i < THREADS; i++) {
		while (__atomic_load_n(&alive[i], __ATOMIC_ACQUIRE))
			syscall(SYS_futex, &alive[i], FUTEX_WAIT, 1, NULL, NULL, 0);
		sum = sum * 31 + results[i];
	}
	printf("%lu\n", sum);
	return 0;
}
