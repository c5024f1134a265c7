/* Threads that come and go: so many over the program's life, so many of them alive at once, as in "2000/50". Each reads
   a thousand numbers and writes a hundred. With "2000/50/" the program is killed while the last of them live. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static volatile long numbers[1000], written[100];
static pthread_barrier_t barrier, never;
static int stay;

static void *work(void *argument)
{
	for (int i = 0; i < 1000; i++)
		(void)numbers[i];
	for (int i = 0; i < 100; i++)
		written[i] = i;
	pthread_barrier_wait(&barrier);
	if (stay)
		pthread_barrier_wait(&never);
	return argument;
}

int main(int argc, char **argv)
{
	int total = 2000, alive = 1;
	char end = 0;
	pthread_t *threads;
	pthread_attr_t attributes;

	if (argc > 1)
		sscanf(argv[1], "%d/%d%c", &total, &alive, &end);
	threads = calloc((size_t)alive, sizeof(*threads));

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 64 << 10);
	pthread_barrier_init(&barrier, NULL, (unsigned)alive + 1);
	pthread_barrier_init(&never, NULL, (unsigned)alive + 1);
	for (int begun = 0; begun < total; begun += alive) {
		stay = end && begun + alive >= total;
		for (int i = 0; i < alive; i++)
			if (pthread_create(&threads[i], &attributes, work, NULL))
				return 1;
		pthread_barrier_wait(&barrier);
		if (stay)
			raise(SIGKILL);
		for (int i = 0; i < alive; i++)
			pthread_join(threads[i], NULL);
	}
	return 0;
}
