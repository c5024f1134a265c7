/* A handler on its own stack: mends page faults, survives an overflow of the stack by siglongjmp, nests. */
#define _GNU_SOURCE
#include "counted.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

static char *area;
static long mended, nested;
static sigjmp_buf back;
static volatile int deep;

static void mend(int number, siginfo_t *info, void *context)
{
	char *address = info->si_addr;

	(void)number;
	(void)context;
	if (address >= area && address < area + 256 * 4096) {
		mprotect((char *)((unsigned long)address & ~4095UL), 4096, PROT_READ | PROT_WRITE);
		mended++;
		raise(SIGUSR1);
		return;
	}
	siglongjmp(back, 1);
}

static void count_nested(int number)
{
	(void)number;
	nested++;
}

static int overflow(int depth)
{
	volatile char room[4096];

	room[0] = (char)depth;
	deep = depth;
	return overflow(depth + 1) + room[0];
}

int main(void)
{
	stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
	struct sigaction action = {.sa_sigaction = mend, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	struct rlimit limit = {256 * 1024, 256 * 1024};

	counted();
	setrlimit(RLIMIT_STACK, &limit);
	sigaltstack(&stack, NULL);
	sigaction(SIGSEGV, &action, NULL);
	signal(SIGUSR1, count_nested);
	area = mmap(NULL, 256 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 256; i++)
		area[i * 4096] = (char)i;
	for (int round = 0; round < 20; round++)
		if (!sigsetjmp(back, 1))
			overflow(0);
	printf("%ld mended, %ld nested, deep enough %d, %lu\n", mended, nested, deep > 10, work(80000000));
	return 0;
}
