/* Thread-local storage: _Thread_local, pthread keys with destructors, a large block of it. */
#include "counted.h"
#include <pthread.h>

static _Thread_local unsigned long mine = 5;
static _Thread_local char large[262144];
static pthread_key_t key;
static unsigned long sums[16], destroyed;

static void destroy(void *value)
{
	__atomic_add_fetch(&destroyed, (unsigned long)value, __ATOMIC_SEQ_CST);
}

static void *one(void *number)
{
	unsigned long n = (unsigned long)number;

	pthread_setspecific(key, (void *)(n + 1));
	for (unsigned long i = 0; i < 10000000; i++) {
		mine = mine * 31 + n;
		large[i % sizeof(large)] += (char)mine;
	}
	sums[n] = mine + (unsigned char)large[77];
	return NULL;
}

int main(void)
{
	unsigned long sum = 0;
	pthread_t thread[16];

	counted();
	pthread_key_create(&key, destroy);
	for (long i = 0; i < 16; i++)
		pthread_create(&thread[i], NULL, one, (void *)i);
	for (int i = 0; i < 16; i++) {
		pthread_join(thread[i], NULL);
		sum = sum * 31 + sums[i];
	}
	printf("%lu %lu %lu\n", sum, destroyed, mine);
	return 0;
}
