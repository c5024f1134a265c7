/* Many short threads, which end in all the ways there are, and signals to threads that work. */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS = 5000, AT_ONCE = 10, NUMBERS = 1024 };

static uint64_t numbers[NUMBERS];
static pthread_key_t key;
static int destroyed, cleaned, detached, cancelled, signalled;

static void count(void *counter)
{
	__atomic_fetch_add((int *)counter, 1, __ATOMIC_SEQ_CST);
}

static uint64_t work(unsigned rounds)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < rounds; i++)
		sum += numbers[i % NUMBERS] * i;
	return sum;
}

static void *short_thread(void *number)
{
	uint64_t sum = work(5000);
	char *memory = malloc(100 + sum % 50);

	memory[0] = 1;
	free(memory);
	if ((uintptr_t)number % 3 == 0)
		pthread_setspecific(key, &destroyed);
	if ((uintptr_t)number % 5 == 0) {
		pthread_cleanup_push(count, &cleaned);
		pthread_exit((void *)sum);
		pthread_cleanup_pop(0);
	}
	return (void *)sum;
}

static void *detached_thread(void *unused)
{
	work(1000);
	count(&detached);
	return unused;
}

/* Cancelled in a system call, or wherever it is. */
static void *endless_thread(void *asynchronous)
{
	int old;

	pthread_cleanup_push(count, &cancelled);
	if (asynchronous) {
		pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
		for (;;)
			__asm__ volatile("" ::"r"(work(100)));
	}
	for (;;)
		pause();
	pthread_cleanup_pop(0);
	return NULL;
}

static void on_signal(int number)
{
	(void)number;
	count(&signalled);
}

static void *signalled_thread(void *enough)
{
	uint64_t sum = 0;

	while (!__atomic_load_n((int *)enough, __ATOMIC_SEQ_CST))
		sum += work(100);
	return (void *)sum;
}

int main(void)
{
	pthread_t threads[AT_ONCE];
	pthread_attr_t attributes;
	uint64_t sum = 0;
	int enough = 0;
	void *result;

	for (unsigned i = 0; i < NUMBERS; i++)
		numbers[i] = i * 7;
	pthread_key_create(&key, count);
	for (uintptr_t i = 0; i < THREADS; i += AT_ONCE) {
		for (unsigned k = 0; k < AT_ONCE; k++)
			if (pthread_create(&threads[k], NULL, short_thread, (void *)(i + k)))
				return 1;
		for (unsigned k = 0; k < AT_ONCE; k++) {
			pthread_join(threads[k], &result);
			sum += (uint64_t)result;
		}
	}
	printf("sum %lu destroyed %d cleaned %d\n", (unsigned long)sum, destroyed, cleaned);

	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	for (unsigned i = 0; i < AT_ONCE; i++)
		if (pthread_create(&threads[0], &attributes, detached_thread, NULL))
			return 1;
	while (__atomic_load_n(&detached, __ATOMIC_SEQ_CST) < AT_ONCE)
		usleep(1000);

	for (uintptr_t i = 0; i < AT_ONCE; i++)
		if (pthread_create(&threads[i], NULL, endless_thread, (void *)(i & 1)))
			return 1;
	usleep(20000);
	for (unsigned i = 0; i < AT_ONCE; i++) {
		pthread_cancel(threads[i]);
		pthread_join(threads[i], &result);
		if (result != PTHREAD_CANCELED)
			return 2;
	}

	signal(SIGUSR1, on_signal);
	if (pthread_create(&threads[0], NULL, signalled_thread, &enough))
		return 1;
	for (int i = 0; i < 300; i++) {
		pthread_kill(threads[0], SIGUSR1);
		while (__atomic_load_n(&signalled, __ATOMIC_SEQ_CST) == i)
			usleep(10);
	}
	__atomic_store_n(&enough, 1, __ATOMIC_SEQ_CST);
	pthread_join(threads[0], NULL);
	printf("detached %d cancelled %d signalled %d\n", detached, cancelled, signalled);
	return 0;
}
