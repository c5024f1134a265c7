/* Two threads that get in each other's way, or not: mutex, rwlock, atomic, queue, spin (an atomic exchange that one
   thread waits with), alone (the same amount of work without anything shared). */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LOOPS = 1000000, SLOTS = 64 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static _Alignas(128) atomic_ulong counter;
static _Alignas(128) unsigned long guarded;
static _Alignas(128) struct {
	_Alignas(64) atomic_ulong head;
	_Alignas(64) atomic_ulong tail;
	_Alignas(64) unsigned long slots[SLOTS];
} queue;
static _Alignas(128) atomic_int held;
static _Alignas(128) atomic_int waits; /* somebody does, for what is held */
static _Alignas(128) unsigned long own[2][32];
static const char *kind;
static unsigned long loops = LOOPS;

static void locked(unsigned long count)
{
	for (unsigned long i = 0; i < count; i++) {
		pthread_mutex_lock(&mutex);
		guarded++;
		pthread_mutex_unlock(&mutex);
	}
}

static void read_locked(unsigned long count)
{
	unsigned long sum = 0;

	for (unsigned long i = 0; i < count; i++) {
		pthread_rwlock_rdlock(&rwlock);
		sum += guarded;
		pthread_rwlock_unlock(&rwlock);
	}
	own[0][1] = sum;
}

static void counted(unsigned long count)
{
	for (unsigned long i = 0; i < count; i++)
		atomic_fetch_add(&counter, 1);
}

static void produce(unsigned long count)
{
	for (unsigned long i = 0; i < count; i++) {
		while (i - atomic_load_explicit(&queue.tail, memory_order_acquire) >= SLOTS)
			;
		queue.slots[i % SLOTS] = i;
		atomic_store_explicit(&queue.head, i + 1, memory_order_release);
	}
}

static void consume(unsigned long count)
{
	unsigned long sum = 0;

	for (unsigned long i = 0; i < count; i++) {
		while (atomic_load_explicit(&queue.head, memory_order_acquire) == i)
			;
		sum += queue.slots[i % SLOTS];
		atomic_store_explicit(&queue.tail, i + 1, memory_order_release);
	}
	own[1][1] = sum;
}

/* One works while it has the lock, for long; the other spins for it all the time. */
static void work_held(unsigned long count)
{
	while (atomic_exchange(&held, 1))
		;
	/* on a fast machine it would be done before the other one is there */
	while (!atomic_load(&waits))
		nanosleep(&(struct timespec){0, 100000}, NULL);
	for (unsigned long i = 0; i < count; i++)
		((volatile unsigned long *)own[0])[i % 16] = i;
	atomic_store(&held, 0);
}

static void spin(void)
{
	atomic_store(&waits, 1);
	while (atomic_exchange(&held, 1))
		;
	atomic_store(&held, 0);
}

static void alone(unsigned who, unsigned long count)
{
	for (unsigned long i = 0; i < count; i++)
		((volatile unsigned long *)own[who])[i % 16] = i;
}

static void *run(void *argument)
{
	unsigned who = argument != NULL;

	if (!strcmp(kind, "mutex"))
		locked(loops);
	else if (!strcmp(kind, "rwlock"))
		read_locked(loops);
	else if (!strcmp(kind, "atomic"))
		counted(loops);
	else if (!strcmp(kind, "queue"))
		who ? produce(loops) : consume(loops);
	else if (!strcmp(kind, "spin"))
		who ? work_held(8 * loops) : spin();
	else
		alone(who, loops);
	return NULL;
}

int main(int count, char **arguments)
{
	pthread_t threads[2];

	kind = count > 1 ? arguments[1] : "alone";
	if (count > 2)
		loops = strtoul(arguments[2], NULL, 10);
	/* who spins must find it held */
	for (int i = 1; i >= 0; i--)
		if (pthread_create(&threads[i], NULL, run, i ? (void *)1 : NULL))
			return 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%lu\n", guarded + atomic_load(&counter));
	return 0;
}
