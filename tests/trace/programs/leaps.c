/* Jumps out of handlers that run on the alternate stack, thousands of them, with ticks of the program's own beside:
   signals come at every point of a jump, and nothing on that stack may be overwritten. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/time.h>

enum { JUMPS = 2500, WORK = 12000 };

static sigjmp_buf jump;
static char stack[65536];
static volatile sig_atomic_t ticks;
static volatile int numbers[512];

static void on_tick(int number)
{
	(void)number;
	ticks++;
}

static void on_fault(int number)
{
	siglongjmp(jump, number);
}

int main(void)
{
	struct itimerval interval = {{0, 2000}, {0, 2000}};
	stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_ONSTACK};
	volatile char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	volatile int jumps = 0;

	signal(SIGPROF, on_tick);
	sigaltstack(&alternate, NULL);
	sigaction(SIGSEGV, &action, NULL);
	setitimer(ITIMER_PROF, &interval, NULL);
	for (volatile int i = 0; i < JUMPS; i++) {
		int number = sigsetjmp(jump, 1);

		for (int k = 0; !number && k < WORK; k++)
			numbers[k & 511]++;
		if (!number)
			numbers[0] += *page;
		jumps += number == SIGSEGV;
	}
	printf("jumps %d\n", jumps);
	return jumps != JUMPS;
}
