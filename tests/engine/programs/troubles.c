/* One trouble at a time, each in the region "work": troubles strided|tlb|numa|waiting. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fathom.h"

enum { PAGE = 4096, LINE = 64 };

static double sum;

/* One number of every second line, in order: prefetchers foresee it, and most of what they bring is for nothing. */
static void strided(void)
{
	size_t bytes = 24 << 20;
	char *data = malloc(bytes);

	memset(data, 1, bytes);
	fathom_region_begin("work");
	for (size_t at = 0; at < bytes; at += 2ul * LINE)
		sum += *(double *)(data + at);
	fathom_region_end("work");
	free(data);
}

/* One line of each of many pages, over and over, each after the one before: the lines fit into the second cache, spread
   over all its sets, and their translations nowhere. */
static void tlb(void)
{
	enum { PAGES = 2048, PASSES = 20 };
	char *data = calloc(PAGES, PAGE);
	size_t page = 0;

	fathom_region_begin("work");
	for (size_t i = 0; i < (size_t)PASSES * PAGES; i++)
		page = (page * 1029 + 1 + (size_t)data[page * PAGE + page / 8 % (PAGE / LINE) * LINE]) % PAGES;
	fathom_region_end("work");
	sum = (double)page;
	free(data);
}

static double *shared;
enum { SHARED = 1 << 20 };

static void *read_shared(void *argument)
{
	double own = 0;

	(void)argument;
	fathom_region_begin("work");
	for (int pass = 0; pass < 3; pass++)
		for (size_t i = 0; i < SHARED; i++)
			own += shared[i];
	fathom_region_end("work");
	sum += own;
	return NULL;
}

/* Written first by one thread, read by another, which is on another socket when the cores are chosen so. */
static void numa(void)
{
	pthread_t reader;

	shared = malloc(SHARED * sizeof(*shared));
	for (size_t i = 0; i < SHARED; i++)
		shared[i] = 1;
	pthread_create(&reader, NULL, read_shared, NULL);
	pthread_join(reader, NULL);
	free(shared);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *take_turns(void *argument)
{
	for (int i = 0; i < 15; i++) {
		pthread_mutex_lock(&lock);
		usleep(1500);
		sum += i;
		pthread_mutex_unlock(&lock);
	}
	return argument;
}

/* Two threads that hold a lock while they sleep. */
static void waiting(void)
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, take_turns, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} troubles[] = {{"strided", strided}, {"tlb", tlb}, {"numa", numa}, {"waiting", waiting}};

	for (size_t i = 0; argc > 1 && i < sizeof(troubles) / sizeof(troubles[0]); i++)
		if (!strcmp(argv[1], troubles[i].name)) {
			troubles[i].run();
			printf("%g\n", sum);
			return 0;
		}
	return 2;
}
