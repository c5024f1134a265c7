/* Loads from two arrays, three to one, in a function of its own; by one thread, by two, or by a child too. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fathom.h"

enum { COUNT = 1 << 15, ROUNDS = 40000 };

static volatile long three[COUNT], one[COUNT];
static _Alignas(64) volatile char copied[1 << 14];
static _Alignas(64) volatile char copy[1 << 14];

static __attribute__((noinline)) void mix(void)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		(void)three[3 * i % COUNT];
		(void)three[(3 * i + 1) % COUNT];
		(void)three[(3 * i + 2) % COUNT];
		(void)one[i * 8 % COUNT];
	}
}

static void *work(void *argument)
{
	mix();
	return argument;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	pthread_t thread;

	/* the time stamp is the host's: an earlier one of it is in the past, and not far */
	if (!strncmp(how, "clock=", 6)) {
		unsigned long long before = strtoull(how + 6, NULL, 10), now = __builtin_ia32_rdtsc();

		return now < before || now - before > 1ull << 40;
	}
	if (!strcmp(how, "threads") && pthread_create(&thread, NULL, work, NULL))
		return 1;
	if (!strcmp(how, "fork")) {
		pid_t child = fork();
		int status;

		if (!child) {
			mix();
			_exit(7);
		}
		if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7)
			return 2;
	}
	fathom_region_begin("mix");
	mix();
	fathom_region_end("mix");
	if (!strcmp(how, "threads"))
		pthread_join(thread, NULL);
	if (!strcmp(how, "string"))
		__asm__ volatile("rep movsb" : : "S"(copied), "D"(copy), "c"(sizeof(copy)) : "memory");
	if (!strcmp(how, "execute")) {
		execl(argv[0], argv[0], "", (char *)NULL);
		return 3;
	}
	return 0;
}
