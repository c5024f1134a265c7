/* Coroutines by makecontext and swapcontext, on stacks of their own, moved between threads: coroutines COUNT */
#include "counted.h"
#include <pthread.h>
#include <ucontext.h>

enum { COROUTINES = 8 };
static ucontext_t scheduler, coroutine[COROUTINES];
static unsigned long values[COROUTINES];
static int times;

static void body(int number)
{
	for (int i = 0; i < times; i++) {
		values[number] = values[number] * 31 + work(100) + (unsigned long)number;
		swapcontext(&coroutine[number], &scheduler);
	}
}

static void *rounds(void *nothing)
{
	for (int i = 0; i < times / 2; i++)
		for (int number = 0; number < COROUTINES; number++)
			swapcontext(&scheduler, &coroutine[number]);
	return nothing;
}

int main(int count, char **arguments)
{
	unsigned long sum = 0;
	pthread_t thread;

	times = atoi(count > 1 ? arguments[1] : "10000");
	counted();
	for (int number = 0; number < COROUTINES; number++) {
		getcontext(&coroutine[number]);
		coroutine[number].uc_stack.ss_sp = malloc(65536);
		coroutine[number].uc_stack.ss_size = 65536;
		coroutine[number].uc_link = &scheduler;
		makecontext(&coroutine[number], (void (*)(void))body, 1, number);
	}
	rounds(NULL);
	pthread_create(&thread, NULL, rounds, NULL);
	pthread_join(thread, NULL);
	for (int number = 0; number < COROUTINES; number++)
		sum = sum * 31 + values[number];
	printf("%lu\n", sum);
	return 0;
}
