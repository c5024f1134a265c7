/* Stacks that are left and come back to: longjmp through many frames, coroutines. */
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

enum { JUMPS = 20000, COROUTINES = 8, SWITCHES = 5000 };

static jmp_buf target;
static ucontext_t main_context, contexts[COROUTINES];
static uint64_t results[COROUTINES];

static int __attribute__((noinline)) descend(int depth, int value)
{
	volatile int local = depth;

	if (!depth)
		longjmp(target, value);
	return descend(depth - 1, value) + local;
}

static void coroutine(int number)
{
	double fraction = number;

	for (int i = 0; i < SWITCHES; i++) {
		for (int k = 0; k < 50; k++)
			results[number] = results[number] * 31 + (uint64_t)(number * i + k);
		fraction = fraction * 0.5 + i;
		swapcontext(&contexts[number], number + 1 < COROUTINES ? &contexts[number + 1] : &main_context);
	}
	results[number] += (uint64_t)fraction;
}

int main(void)
{
	static volatile uint64_t sum;
	static volatile int i;

	for (i = 0; i < JUMPS; i++) {
		int value = setjmp(target);

		if (!value)
			descend(i % 40, i % 7 + 1);
		else
			sum += (uint64_t)value;
	}
	for (int number = 0; number < COROUTINES; number++) {
		getcontext(&contexts[number]);
		contexts[number].uc_stack.ss_sp = malloc(65536);
		contexts[number].uc_stack.ss_size = 65536;
		contexts[number].uc_link = number + 1 < COROUTINES ? &contexts[number + 1] : &main_context;
		makecontext(&contexts[number], (void (*)(void))coroutine, 1, number);
	}
	for (int k = 0; k <= SWITCHES; k++)
		swapcontext(&main_context, &contexts[0]);
	for (int number = 0; number < COROUTINES; number++)
		sum = sum * 31 + results[number];
	printf("%lu\n", (unsigned long)sum);
	return 0;
}
