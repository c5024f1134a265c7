/* Threads with a mutex, a condition and a barrier: pthreads THREADS MILLIONS */
#include "counted.h"
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_here = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static unsigned long sum, millions;
static int here, threads;

static void *one(void *number)
{
	unsigned long value = work(millions * 1000000 + (unsigned long)number);

	pthread_mutex_lock(&mutex);
	sum += value;
	if (++here == threads)
		pthread_cond_broadcast(&all_here);
	while (here < threads)
		pthread_cond_wait(&all_here, &mutex);
	pthread_mutex_unlock(&mutex);
	pthread_barrier_wait(&barrier);
	return number;
}

int main(int count, char **arguments)
{
	pthread_t thread[64];

	threads = atoi(count > 1 ? arguments[1] : "4");
	millions = strtoul(count > 2 ? arguments[2] : "10", NULL, 10);
	counted();
	pthread_barrier_init(&barrier, NULL, (unsigned)threads);
	for (long i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, one, (void *)i);
	for (long i = 0; i < threads; i++) {
		void *number;

		pthread_join(thread[i], &number);
		if ((long)number != i)
			return 1;
	}
	printf("%lu from %d threads\n", sum, here);
	return 0;
}
