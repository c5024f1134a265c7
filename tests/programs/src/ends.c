/* Ends in many ways after some work: ends
 * segv|abort|term|status|quick|kill|fpe|ill|bus|unhandled-thread|main-thread-first */
#define _GNU_SOURCE
#include "counted.h"
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

static volatile int zero;

static void at_end(void)
{
	printf("at the end\n");
	fflush(stdout);
}

static void *later(void *nothing)
{
	usleep(100000);
	printf("%lu\n", work(20000000));
	exit(7);
	return nothing;
}

int main(int count, char **arguments)
{
	const char *how = count > 1 ? arguments[1] : "status";
	pthread_t thread;

	counted();
	atexit(at_end);
	at_quick_exit(at_end);
	printf("%lu\n", work(100000000));
	fprintf(stderr, "about to end\n");
	fflush(stdout);
	if (!strcmp(how, "segv"))
		*(volatile char *)(8 + (long)zero) = 1;
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "term"))
		raise(SIGTERM);
	if (!strcmp(how, "kill"))
		kill(getpid(), SIGKILL);
	if (!strcmp(how, "fpe"))
		return (int)(work(10) / (unsigned long)zero);
	if (!strcmp(how, "ill"))
		__asm__ volatile("ud2");
	if (!strcmp(how, "bus")) {
		int file = memfd_create("empty", MFD_CLOEXEC);
		*(volatile char *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) = 1;
	}
	if (!strcmp(how, "quick"))
		quick_exit(9);
	if (!strcmp(how, "_exit"))
		_exit(11);
	if (!strcmp(how, "thread")) {
		pthread_create(&thread, NULL, later, NULL);
		pthread_exit(NULL);
	}
	return 43;
}
