/* pthread_cancel with cleanup handlers, pthread_exit, detached threads, signals to threads, robust mutexes. */
#include "counted.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>

static pthread_mutex_t robust;
static volatile int cleaned, woken, started;

static void clean(void *number)
{
	__atomic_add_fetch(&cleaned, (int)(long)number, __ATOMIC_SEQ_CST);
}

static void wake(int number)
{
	__atomic_add_fetch(&woken, number == SIGUSR2, __ATOMIC_SEQ_CST);
}

static void *endless(void *nothing)
{
	pthread_cleanup_push(clean, (void *)3);
	__atomic_add_fetch(&started, 1, __ATOMIC_SEQ_CST);
	for (;;) {
		work(100000);
		usleep(1000);
	}
	pthread_cleanup_pop(0);
	return nothing;
}

static void *dies_locked(void *nothing)
{
	pthread_mutex_lock(&robust);
	pthread_exit(nothing);
}

int main(void)
{
	pthread_mutexattr_t attributes;
	pthread_t threads[4], other;
	int status, ended = 0;

	counted();
	signal(SIGUSR2, wake);
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&robust, &attributes);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, endless, NULL);
	while (started < 4)
		usleep(1000);
	for (int i = 0; i < 4; i++)
		pthread_kill(threads[i], SIGUSR2);
	while (woken < 4)
		usleep(1000);
	for (int i = 0; i < 4; i++) {
		void *result;

		pthread_cancel(threads[i]);
		pthread_join(threads[i], &result);
		ended += result == PTHREAD_CANCELED;
	}
	pthread_create(&other, NULL, dies_locked, NULL);
	pthread_join(other, NULL);
	status = pthread_mutex_lock(&robust);
	printf("%d cancelled, %d cleaned, %d woken, %d %lu\n", ended, cleaned, woken, status == EOWNERDEAD,
	       work(100000000));
	return 0;
}
