/* Threads created one after another, each with a little work: sequence COUNT */
#include "counted.h"
#include <pthread.h>

static unsigned long sum;

static void *one(void *number)
{
	sum = sum * 31 + work(1000 + (unsigned long)number % 10);
	return NULL;
}

int main(int count, char **arguments)
{
	long threads = atol(count > 1 ? arguments[1] : "10000");

	counted();
	for (long i = 0; i < threads; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, one, (void *)i))
			return 1;
		pthread_join(thread, NULL);
	}
	printf("%lu\n", sum);
	return 0;
}
