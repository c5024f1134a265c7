/* Uses itself the signals that tools like to use: own_signals trap|prof|alarm|timer|segv|queue. */
#define _GNU_SOURCE
#include "counted.h"
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>

static volatile sig_atomic_t seen;
static volatile long values;

static void handler(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	seen++;
	values += info->si_value.sival_int;
}

static void skip_fault(int number, siginfo_t *info, void *context)
{
	ucontext_t *registers = context;

	(void)number;
	seen += info->si_addr == (void *)64;
	/* movl $1, 64: eleven bytes */
	registers->uc_mcontext.gregs[REG_RIP] += 11;
}

int main(int count, char **arguments)
{
	const char *what = count > 1 ? arguments[1] : "trap";
	struct itimerval every = {{0, 1000}, {0, 1000}};
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART};
	unsigned long value = 0;

	counted();
	if (!strcmp(what, "trap")) {
		sigaction(SIGTRAP, &action, NULL);
		for (int i = 0; i < 1000; i++) {
			__asm__ volatile("int3");
			value = value * 31 + work(100000);
		}
		printf("%d traps %lu\n", (int)seen, value);
	} else if (!strcmp(what, "prof") || !strcmp(what, "alarm")) {
		int real = !strcmp(what, "alarm");

		sigaction(real ? SIGALRM : SIGPROF, &action, NULL);
		setitimer(real ? ITIMER_REAL : ITIMER_PROF, &every, NULL);
		while (seen < 20)
			value = work(100000);
		setitimer(real ? ITIMER_REAL : ITIMER_PROF, &(struct itimerval){0}, NULL);
		printf("enough %lu\n", value);
	} else if (!strcmp(what, "timer")) {
		struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 3};
		timer_t timer;

		sigaction(SIGRTMIN + 3, &action, NULL);
		timer_create(CLOCK_MONOTONIC, &event, &timer);
		timer_settime(timer, 0, &(struct itimerspec){{0, 1000000}, {0, 1000000}}, NULL);
		while (seen < 50)
			value = work(100000);
		timer_delete(timer);
		printf("enough %lu\n", value);
	} else if (!strcmp(what, "segv")) {
		action.sa_sigaction = skip_fault;
		sigaction(SIGSEGV, &action, NULL);
		for (int i = 0; i < 1000; i++) {
			__asm__ volatile("movl $1, 64" ::: "memory");
			value = value * 31 + work(100000);
		}
		printf("%d faults %lu\n", (int)seen, value);
	} else {
		sigaction(SIGRTMIN + 5, &action, NULL);
		for (int i = 0; i < 1000; i++)
			sigqueue(getpid(), SIGRTMIN + 5, (union sigval){.sival_int = i});
		printf("%d signals %ld %lu\n", (int)seen, values, work(100000000));
	}
	return 0;
}
