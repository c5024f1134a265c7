/* Many short threads. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 5000, AT_ONCE = 10 };

static uint64_t values[1024];

static void *work(void *argument)
{
	uint64_t sum = (uint64_t)(uintptr_t)argument;
	char *text;

	for (unsigned i = 0; i < 20000; i++)
		sum += values[i & 1023] * i;
	text = malloc(100 + sum % 50);
	if (text)
		text[0] = 1;
	free(text);
	return (void *)(uintptr_t)sum;
}

int main(void)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < 1024; i++)
		values[i] = i * 7;
	for (unsigned i = 0; i < THREADS; i += AT_ONCE) {
		pthread_t threads[AT_ONCE];

		for (unsigned k = 0; k < AT_ONCE; k++)
			if (pthread_create(&threads[k], NULL, work, (void *)(uintptr_t)(i + k)))
				return 1;
		for (unsigned k = 0; k < AT_ONCE; k++) {
			void *result;

			pthread_join(threads[k], &result);
			sum += (uint64_t)(uintptr_t)result;
		}
	}
	printf("%lu\n", (unsigned long)sum);
	return 0;
}
