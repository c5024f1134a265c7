/* Handlers of its own for the signals that a sampler may want: SIGPROF from a timer, SIGTRAP, SIGSEGV with a look at
   where it happened and a mended page, siglongjmp() out of SIGSEGV and SIGFPE, SIGURG sent to itself. */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

static volatile unsigned ticks, traps, faults, urgent, jumps, divisions;
static char *page;
static sigjmp_buf jump;
static uint64_t values[512];
extern const char faults_here[], goes_on_here[];

static void on_tick(int number)
{
	(void)number;
	ticks++;
}

static void on_trap(int number, siginfo_t *information, void *context)
{
	(void)number;
	(void)information;
	(void)context;
	traps++;
}

static void on_urgent(int number)
{
	(void)number;
	urgent++;
}

static void on_fault(int number, siginfo_t *information, void *pointer)
{
	ucontext_t *context = pointer;

	(void)number;
	faults++;
	if (information->si_addr != page + 8 || (const char *)context->uc_mcontext.gregs[REG_RIP] != faults_here)
		_exit(41);
	if (faults % 2)
		mprotect(page, 4096, PROT_READ | PROT_WRITE);
	else
		context->uc_mcontext.gregs[REG_RIP] = (greg_t)goes_on_here;
}

static void on_jump(int number)
{
	(void)number;
	siglongjmp(jump, 1);
}

static uint64_t work(unsigned count)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < count; i++)
		sum += values[i & 511] * i;
	return sum;
}

static void load(void)
{
	unsigned long value;

	__asm__ volatile(".globl faults_here\n"
	                 "faults_here:\n"
	                 "mov 8(%1), %0\n"
	                 ".globl goes_on_here\n"
	                 "goes_on_here:\n"
	                 : "=r"(value)
	                 : "r"(page)
	                 : "memory");
}

int main(void)
{
	struct sigaction action = {.sa_handler = on_tick}, before;
	struct itimerval timer = {{0, 2000}, {0, 2000}};
	volatile int zero = 0;
	volatile uint64_t sum = 0;

	memset(values, 1, sizeof(values));
	page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaction(SIGPROF, &action, NULL);
	action.sa_handler = on_urgent;
	sigaction(SIGURG, &action, NULL);
	action.sa_sigaction = on_trap;
	action.sa_flags = SA_SIGINFO;
	sigaction(SIGTRAP, &action, NULL);
	action.sa_sigaction = on_fault;
	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGSEGV, NULL, &before);
	if (before.sa_sigaction != on_fault)
		return 43;
	sigaction(SIGBUS, NULL, &before);
	if (before.sa_handler != SIG_DFL)
		return 44;
	setitimer(ITIMER_PROF, &timer, NULL);
	for (unsigned i = 0; i < 30000; i++) {
		mprotect(page, 4096, PROT_NONE);
		sum += work(3000);
		load();
		sum += work(3000);
		if (i % 10 == 0)
			__asm__ volatile("int3");
		if (i % 100 == 0)
			raise(SIGURG);
	}
	signal(SIGFPE, on_jump);
	signal(SIGSEGV, on_jump);
	mprotect(page, 4096, PROT_NONE);
	for (volatile unsigned i = 0; i < 5000; i++) {
		if (!sigsetjmp(jump, 1)) {
			sum += work(2000);
			zero = 100 / zero; /* not 1: that is no division to the compiler */
		} else {
			divisions++;
		}
		if (!sigsetjmp(jump, 1)) {
			sum += work(2000);
			sum += (uint64_t) * (volatile char *)page;
		} else {
			jumps++;
		}
	}
	printf("%d %u %u %u %u %u\n", ticks > 0, traps, faults, urgent, divisions, jumps);
	return sum == 0;
}
