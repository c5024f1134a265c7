/* Forty threads that come and go, four at a time; each reads the same array. */
#include <pthread.h>

static volatile long numbers[1000];

static void *work(void *argument)
{
	for (int i = 0; i < 1000; i++)
		(void)numbers[i];
	return argument;
}

int main(void)
{
	for (int round = 0; round < 10; round++) {
		pthread_t threads[4];

		for (int i = 0; i < 4; i++)
			if (pthread_create(&threads[i], NULL, work, NULL))
				return 1;
		for (int i = 0; i < 4; i++)
			pthread_join(threads[i], NULL);
	}
	return 0;
}
