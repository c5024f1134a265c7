/* A known number of references: known LOOPS [THREADS]. Each thread loads and stores LOOPS times before a region, in the
   region "inside" three times as often, and once more after it. Prints a sum. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "fathom.h"

static unsigned long loops;

/* 1 load, 1 store, 5 instructions each time */
static unsigned long work(unsigned long times)
{
	unsigned long values[2] = {1, 0}, value;

	__asm__ volatile("1:\n"
	                 "mov (%2), %0\n"
	                 "add $3, %0\n"
	                 "mov %0, 8(%2)\n"
	                 "dec %1\n"
	                 "jnz 1b\n"
	                 : "=&r"(value), "+r"(times)
	                 : "r"(values)
	                 : "memory");
	return values[1];
}

static void *run(void *unused)
{
	unsigned long sum = work(loops);

	(void)unused;
	fathom_region_begin("inside");
	sum += work(3 * loops);
	fathom_region_end("inside");
	return (void *)(sum + work(loops));
}

int main(int count, char **arguments)
{
	int thread_count = count > 2 ? atoi(arguments[2]) : 0;
	pthread_t threads[16];
	unsigned long sum = 0;
	void *result;

	loops = count > 1 ? strtoul(arguments[1], NULL, 10) : 1000;
	if (thread_count > 16)
		return 2;
	for (int i = 0; i < thread_count; i++)
		if (pthread_create(&threads[i], NULL, run, NULL))
			return 1;
	for (int i = 0; i < thread_count; i++) {
		pthread_join(threads[i], &result);
		sum += (unsigned long)result;
	}
	if (!thread_count)
		sum = (unsigned long)run(NULL);
	printf("%lu\n", sum);
	return 0;
}
