#include "base/own_limits.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { RESOURCES = 6, STACK_BYTES = 16 << 20, THREAD_STACK_BYTES = 8 << 20 };
static const int resources[RESOURCES] = {RLIMIT_AS, RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_DATA, RLIMIT_STACK, RLIMIT_NOFILE};
static struct rlimit given[RESOURCES];
static bool changed[RESOURCES];

void fm_own_limits_raise(void)
{
	pthread_attr_t attributes;

	for (unsigned i = 0; i < RESOURCES; i++) {
		struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY}, soft;

		if (getrlimit(resources[i], &given[i]))
			continue;
		/* more files than usual would make loops over all of them slow */
		if (given[i].rlim_cur == RLIM_INFINITY || (resources[i] == RLIMIT_NOFILE && given[i].rlim_cur >= 1024))
			continue;
		soft = (struct rlimit){given[i].rlim_max, given[i].rlim_max};
		if (resources[i] == RLIMIT_NOFILE)
			none = (struct rlimit){1024, given[i].rlim_max > 1024 ? given[i].rlim_max : 1024};
		/* beyond the hard limit only where that is allowed */
		changed[i] = !setrlimit(resources[i], &none) || !setrlimit(resources[i], &soft);
	}
	/* glibc takes the size of threads' stacks from the limit that it found */
	if (!pthread_attr_init(&attributes)) {
		if (!pthread_attr_setstacksize(&attributes, THREAD_STACK_BYTES))
			pthread_setattr_default_np(&attributes);
		pthread_attr_destroy(&attributes);
	}
}

void fm_own_limits_give_back(void)
{
	for (unsigned i = 0; i < RESOURCES; i++)
		if (changed[i])
			setrlimit(resources[i], &given[i]);
}

int fm_own_limits_check(const struct fm_own_needs *needs, struct fm_error *error)
{
	const struct {
		int resource;
		rlim_t need, unit;
		const char *words;
		char option;
	} kinds[] = {{RLIMIT_AS, needs->memory, 1024, "addresses", 'v'},
	             {RLIMIT_DATA, needs->memory, 1024, "memory", 'd'},
	             {RLIMIT_FSIZE, needs->file, 1024, "sizes of files", 'f'},
	             {RLIMIT_CPU, needs->cpu, 1, "processor time", 't'}};

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct rlimit own;

		if (getrlimit(kinds[i].resource, &own) || own.rlim_cur >= kinds[i].need)
			continue;
		return fm_error_set(
		    error, ENOTSUP,
		    "the limit of %s (ulimit -%c %llu) also applies to fathom, which needs %llu. 'ulimit -S -%c' sets "
		    "a limit for the program alone",
		    kinds[i].words, kinds[i].option, (unsigned long long)(own.rlim_cur / kinds[i].unit),
		    (unsigned long long)(kinds[i].need / kinds[i].unit), kinds[i].option);
	}
	return 0;
}

static struct {
	int (*function)(int, char **);
	int argc;
	char **argv;
	int result;
	ucontext_t back;
} call;

static void enter(void)
{
	call.result = call.function(call.argc, call.argv);
}

int fm_own_limits_on_stack(int (*function)(int, char **), int argc, char **argv)
{
	void *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
	                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	ucontext_t there;

	if (stack == MAP_FAILED || getcontext(&there))
		return function(argc, argv);
	call.function = function;
	call.argc = argc;
	call.argv = argv;
	there.uc_stack = (stack_t){.ss_sp = stack, .ss_size = STACK_BYTES};
	there.uc_link = &call.back;
	makecontext(&there, enter, 0);
	if (swapcontext(&call.back, &there))
		return function(argc, argv);
	munmap(stack, STACK_BYTES);
	return call.result;
}
