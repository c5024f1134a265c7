/* Pins itself to core 5, then to 23, within a region; and two threads, one before it begins, one by itself. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "fathom.h"

static volatile long numbers[1000];

static void work(void)
{
	for (int i = 0; i < 100000; i++)
		(void)numbers[i % 1000];
}

static int pin(int core)
{
	cpu_set_t wanted, got;

	CPU_ZERO(&wanted);
	CPU_SET(core, &wanted);
	if (sched_setaffinity(0, sizeof(wanted), &wanted) || !CPU_ISSET(core, &wanted) || CPU_COUNT(&wanted) != 1)
		return 1;
	if (sched_getaffinity(0, sizeof(got), &got) || !CPU_EQUAL(&got, &wanted))
		return 1;
	return 0;
}

static void *pinned_before(void *unused)
{
	work();
	return unused;
}

static void *pins_itself(void *unused)
{
	work();
	return pin(19) ? (void *)1 : unused;
}

int main(void)
{
	pthread_t threads[2];
	pthread_attr_t attributes;
	cpu_set_t wanted;
	void *failed[2];
	int status = pin(5);

	fathom_region_begin("moving");
	work();
	status |= pin(23);
	work();
	fathom_region_end("moving");
	CPU_ZERO(&wanted);
	CPU_SET(7, &wanted);
	pthread_attr_init(&attributes);
	pthread_attr_setaffinity_np(&attributes, sizeof(wanted), &wanted);
	status |= pthread_create(&threads[0], &attributes, pinned_before, NULL);
	status |= pthread_join(threads[0], &failed[0]);
	status |= pthread_create(&threads[1], NULL, pins_itself, NULL);
	status |= pthread_join(threads[1], &failed[1]);
	return status || failed[0] || failed[1];
}
