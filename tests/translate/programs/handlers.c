/* Signal handlers of the program's own: what they see, what they change, and how they are left. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef SA_RESTORER /* set by the C library */
#define SA_RESTORER 0x04000000
#endif

enum { ROUNDS = 60, WORK = 240000, MAGIC = 0x5eed };

extern const char faulting[], after_fault[], after_trap[];
static volatile sig_atomic_t profiled, trapped, faulted, wrong, once, nested, alternate, alarms;
static int ends[2];
static char *page, stack[65536];
static sigjmp_buf jump;
static uint64_t numbers[512];

static void check(int holds, int bit)
{
	if (!holds)
		wrong |= bit;
}

static void on_profile(int number)
{
	(void)number;
	profiled++;
}

static void on_trap(int number, siginfo_t *information, void *context)
{
	(void)number;
	(void)information;
	trapped++;
	check(((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] == (greg_t)after_trap, 1);
}

/* Mends the fault in one of two ways. All registers must be the program's. */
static void on_fault(int number, siginfo_t *information, void *memory)
{
	greg_t *registers = ((ucontext_t *)memory)->uc_mcontext.gregs;

	(void)number;
	check(information->si_addr == page + 8, 2);
	check(registers[REG_RIP] == (greg_t)faulting, 4);
	check(registers[REG_RCX] == MAGIC && registers[REG_R11] == MAGIC + 1 && registers[REG_RDX] == (greg_t)page, 8);
	if (faulted++ & 1)
		registers[REG_RIP] = (greg_t)after_fault;
	else
		mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

static void on_jump(int number)
{
	(void)number;
	siglongjmp(jump, 1);
}

static void on_alternate(int number)
{
	char here;

	(void)number;
	check(&here >= stack && &here < stack + sizeof(stack), 16);
	alternate++;
}

static void on_once(int number)
{
	struct sigaction now;

	sigaction(number, NULL, &now);
	check(now.sa_handler == SIG_DFL, 32);
	once++;
}

/* A signal in a handler, and a jump inside of the inner one. */
static void on_outer(int number)
{
	sigset_t mask;

	(void)number;
	sigprocmask(SIG_BLOCK, NULL, &mask);
	check(sigismember(&mask, SIGUSR1) && sigismember(&mask, SIGHUP) && !sigismember(&mask, SIGUSR2), 64);
	raise(SIGUSR2);
	nested++;
}

static void on_inner(int number)
{
	sigjmp_buf here;

	(void)number;
	if (!sigsetjmp(here, 0))
		siglongjmp(here, 1);
	nested += 1000;
}

static void handle(int number, struct sigaction action)
{
	struct sigaction old;

	check(!sigaction(number, &action, NULL) && !sigaction(number, NULL, &old), 128);
	check(old.sa_sigaction == action.sa_sigaction && (old.sa_flags & ~SA_RESTORER) == action.sa_flags &&
	          sigismember(&old.sa_mask, SIGHUP) == sigismember(&action.sa_mask, SIGHUP),
	      256);
}

static void on_alarm(int number)
{
	(void)number;
	if (write(ends[1], "x", 1) == 1)
		alarms++;
}

/* Signals in a system call that blocks: it goes on, or says that it was interrupted. */
static void block(void)
{
	struct itimerval interval = {{0, 2000}, {0, 2000}}, none = {{0, 0}, {0, 0}};
	char byte;

	check(!pipe(ends), 512);
	handle(SIGALRM, (struct sigaction){.sa_handler = on_alarm, .sa_flags = SA_RESTART});
	setitimer(ITIMER_REAL, &interval, NULL);
	for (int i = 0; i < 10; i++)
		check(read(ends[0], &byte, 1) == 1, 1024);
	handle(SIGALRM, (struct sigaction){.sa_handler = on_profile});
	while (read(ends[0], &byte, 1) == 1)
		;
	check(errno == EINTR, 2048);
	setitimer(ITIMER_REAL, &none, NULL);
}

static uint64_t work(uint64_t sum)
{
	for (int i = 0; i < WORK; i++)
		sum = sum * 5 + numbers[i & 511];
	return sum;
}

int main(void)
{
	struct itimerval interval = {{0, 10000}, {0, 10000}};
	struct sigaction outer = {.sa_handler = on_outer};
	stack_t other = {.ss_sp = stack, .ss_size = sizeof(stack)};
	volatile uint64_t sum = 0;
	volatile int jumps = 0;

	page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 512; i++)
		numbers[i] = (uint64_t)i * i;
	signal(SIGPROF, on_profile);
	handle(SIGTRAP, (struct sigaction){.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO});
	handle(SIGSEGV, (struct sigaction){.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO});
	setitimer(ITIMER_PROF, &interval, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t value = 0;

		mprotect(page, 4096, PROT_NONE);
		sum = work(sum);
		__asm__ volatile("mov %2, %%ecx\n"
		                 "lea 1(%%rcx), %%r11\n"
		                 "faulting: mov 8(%%rdx), %0\n"
		                 "after_fault:"
		                 : "+a"(value)
		                 : "d"(page), "i"(MAGIC)
		                 : "rcx", "r11", "memory");
		sum = work(sum + value);
		if (i % 10 == 0)
			__asm__ volatile("int3\nafter_trap:");
	}
	signal(SIGSEGV, on_jump);
	mprotect(page, 4096, PROT_NONE);
	for (int i = 0; i < ROUNDS; i++)
		if (!sigsetjmp(jump, 1)) {
			sum = work(sum);
			sum += (uint64_t) * (volatile char *)page;
		} else {
			jumps++;
		}
	sigaltstack(&other, NULL);
	handle(SIGUSR1, (struct sigaction){.sa_handler = on_alternate, .sa_flags = SA_ONSTACK});
	raise(SIGUSR1);
	/* a jump from the other stack */
	handle(SIGSEGV, (struct sigaction){.sa_handler = on_jump, .sa_flags = SA_ONSTACK});
	for (int i = 0; i < ROUNDS; i++)
		if (!sigsetjmp(jump, 1)) {
			sum = work(sum);
			sum += (uint64_t) * (volatile char *)page;
		} else {
			jumps++;
		}
	handle(SIGUSR1, (struct sigaction){.sa_handler = on_once, .sa_flags = SA_RESETHAND});
	raise(SIGUSR1);
	sigaddset(&outer.sa_mask, SIGHUP);
	handle(SIGUSR1, outer);
	handle(SIGUSR2, (struct sigaction){.sa_handler = on_inner, .sa_flags = 0});
	raise(SIGUSR1);
	block();
	sum = work(sum);
	printf(
	    "profiled %d trapped %d faulted %d jumped %d alternate %d once %d nested %d alarms %d wrong %d sum %lu\n",
	    profiled > 0, trapped, faulted, jumps, alternate, once, nested, alarms >= 10, wrong, (unsigned long)sum);
	return wrong != 0;
}
