/* Parallel programs of known cause: parallel KIND THREADS WORK. WORK is a number of rounds, so that run time is
   proportional to it. With OpenMP: threads of libgomp wait in their own way. Prints a checksum. */
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE = 64, MOST = 256 };
static int threads;
static long work;
static double checksum;

static uint64_t step(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void *memory(size_t bytes)
{
	void *result = aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095);

	if (!result)
		abort();
	return result;
}

static double arithmetic(long operations, double seed)
{
	double x = seed, y = seed + 1, z = seed + 2, w = seed + 3;

	for (long i = 0; i < operations; i++) {
		x = x * 0.999999 + 0.5;
		y = y * 0.999998 + 0.25;
		z = z * 0.999997 + 0.125;
		w = w * 0.999996 + 0.0625;
	}
	return x + y + z + w;
}

/* 96 MB for all threads together: memory bandwidth. */
static void triad(void)
{
	const long n = 4 << 20;
	double *a = memory(n * 8), *b = memory(n * 8), *c = memory(n * 8);

#pragma omp parallel for schedule(static)
	for (long i = 0; i < n; i++) {
		a[i] = 0;
		b[i] = (double)i;
		c[i] = 1;
	}
	for (long r = 0; r < work; r++)
#pragma omp parallel for schedule(static)
		for (long i = 0; i < n; i++)
			a[i] = b[i] + 3.0 * c[i];
	checksum = a[n / 2];
}

static void stencil(void)
{
	const long n = 3000;
	float *from = memory(n * n * 4), *to = memory(n * n * 4);

	for (long i = 0; i < n * n; i++)
		from[i] = to[i] = (float)(i % 97);
	for (long r = 0; r < work; r++) {
		float *t;
#pragma omp parallel for schedule(static)
		for (long i = 1; i < n - 1; i++)
			for (long k = 1; k < n - 1; k++)
				to[i * n + k] = 0.25f * (from[i * n + k - 1] + from[i * n + k + 1] +
				                         from[(i - 1) * n + k] + from[(i + 1) * n + k]);
		t = from;
		from = to;
		to = t;
	}
	checksum = from[n * n / 2];
}

/* Random reads of a table of 256 MiB by all threads. */
static void gather(void)
{
	const uint64_t n = 1ull << 25;
	uint64_t *table = memory(n * 8), sum = 0;

	for (uint64_t i = 0; i < n; i++)
		table[i] = i * 0x9e3779b97f4a7c15u;
#pragma omp parallel reduction(+ : sum)
	{
		uint64_t state = 88172645463325252u + (uint64_t)omp_get_thread_num() * 7919;

		for (long i = 0; i < work * 100000 / threads; i++)
			sum += table[step(&state) >> 20 & (n - 1)];
	}
	checksum = (double)(sum >> 12);
}

/* Each thread follows its own list through 48 MiB. */
static void *chase_one(void *argument)
{
	const uint32_t n = 48 << 20 >> 6;
	uint64_t state = 1234567 + (uint64_t)(intptr_t)argument, *list = memory((size_t)n * LINE), at = 0;
	uint32_t *order = memory((size_t)n * 4);

	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	for (uint32_t i = n - 1; i; i--) {
		uint32_t other = (uint32_t)(step(&state) % i), kept = order[i];

		order[i] = order[other];
		order[other] = kept;
	}
	for (uint32_t i = 0; i < n; i++)
		list[order[i] * 8] = order[(i + 1) % n];
	for (long i = 0; i < work * 10000 / threads; i++)
		at = list[at * 8];
	return (void *)(intptr_t)at;
}

static void *compute_one(void *argument)
{
	return (void *)(intptr_t)arithmetic(work * 100000 / threads, (double)(intptr_t)argument);
}

/* Sums over 16 KiB of the thread's own: first cache. */
static void *private_one(void *argument)
{
	enum { N = 2048 };
	uint64_t *own = memory(N * 8), sum = 0;

	for (int i = 0; i < N; i++)
		own[i] = (uint64_t)i * 31 + (uint64_t)(intptr_t)argument;
	for (long r = 0; r < work * 200 / threads; r++)
		for (int i = 0; i < N; i++) {
			sum += own[i];
			own[i] = sum ^ (sum >> 3);
		}
	return (void *)(intptr_t)sum;
}

/* Copies 256 KiB to 256 KiB: second cache. */
static void *copy_one(void *argument)
{
	enum { N = 32768 };
	uint64_t *from = memory(N * 8), *to = memory(N * 8);

	memset(from, (int)(intptr_t)argument, N * 8);
	for (long r = 0; r < work * 20 / threads; r++)
		for (int i = 0; i < N; i++)
			to[i] = from[i] + (uint64_t)r;
	return (void *)(intptr_t)to[77];
}

static void run_all(void *(*one)(void *), int count)
{
	pthread_t thread[MOST];
	void *result;

	for (long i = 0; i < count; i++)
		if (pthread_create(&thread[i], NULL, one, (void *)i))
			abort();
	for (int i = 0; i < count; i++) {
		pthread_join(thread[i], &result);
		checksum += (double)((intptr_t)result & 0xffff);
	}
}

static void chase(void)
{
	run_all(chase_one, threads);
}

static void compute(void)
{
	run_all(compute_one, threads);
}

static void private(void)
{
	run_all(private_one, threads);
}

static void copy(void)
{
	run_all(copy_one, threads);
}

static struct {
	volatile uint64_t hits;
} near[MOST];
static struct {
	_Alignas(128) volatile uint64_t hits;
} apart[MOST];

static void *false_one(void *argument)
{
	for (long i = 0; i < work * 20000 / threads; i++)
		near[(intptr_t)argument].hits++;
	return NULL;
}

static void *padded_one(void *argument)
{
	for (long i = 0; i < work * 100000 / threads; i++)
		apart[(intptr_t)argument].hits++;
	return NULL;
}

static void false_sharing(void)
{
	run_all(false_one, threads);
}

static void padded(void)
{
	run_all(padded_one, threads);
}

static atomic_ulong shared_counter;
static void *atomic_one(void *argument)
{
	double x = (double)(intptr_t)argument;

	for (long i = 0; i < work * 5000 / threads; i++) {
		atomic_fetch_add(&shared_counter, 1);
		x = x * 0.5 + 1;
	}
	return (void *)(intptr_t)x;
}

static void true_sharing(void)
{
	run_all(atomic_one, threads);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static double guarded;
static void *mutex_one(void *argument)
{
	double own = 0;

	for (long i = 0; i < work * 100 / threads; i++) {
		own += arithmetic(100, (double)(intptr_t)argument);
		pthread_mutex_lock(&mutex);
		guarded += arithmetic(400, own);
		pthread_mutex_unlock(&mutex);
	}
	return (void *)(intptr_t)own;
}

static void lock(void)
{
	run_all(mutex_one, threads);
}

/* Upper triangle: rows in blocks of the same number, between barriers. */
static void triangle(void)
{
	const long n = 512;

	for (long r = 0; r < work; r++)
#pragma omp parallel for schedule(static) reduction(+ : checksum)
		for (long row = 0; row < n; row++)
			checksum += arithmetic(2 * (n - row), (double)row);
}

static void serial_part(void)
{
	for (long r = 0; r < work; r++) {
		double sum = 0;

		checksum += arithmetic(30000, (double)r);
#pragma omp parallel for schedule(static) reduction(+ : sum)
		for (long i = 0; i < 64; i++)
			sum += arithmetic(70000 / 64, (double)i);
		checksum += sum;
	}
}

/* Too fine: a loop of a few hundred operations per barrier. */
static void fine(void)
{
	for (long r = 0; r < work * 100; r++) {
		double sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
		for (long i = 0; i < 64; i++)
			sum += arithmetic(20, (double)i);
		checksum += sum;
	}
}

static atomic_int arrived, sense;
static void *spin_one(void *argument)
{
	double own = 0;
	int mine = 0;

	for (long r = 0; r < work * 10; r++) {
		/* every round another thread has twice the work */
		own += arithmetic((intptr_t)argument == r % threads ? 4000 : 2000, (double)r);
		mine = !mine;
		if (atomic_fetch_add(&arrived, 1) == threads - 1) {
			atomic_store(&arrived, 0);
			atomic_store(&sense, mine);
		} else {
			while (atomic_load(&sense) != mine)
				__builtin_ia32_pause();
		}
	}
	return (void *)(intptr_t)own;
}

static void spin(void)
{
	run_all(spin_one, threads);
}

/* One producer, the others consume items of work. */
enum { QUEUE = 64 };
static struct {
	pthread_mutex_t mutex;
	pthread_cond_t filled, freed;
	long items[QUEUE], first, count, ended;
} queue = {.mutex = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER, .freed = PTHREAD_COND_INITIALIZER};

static void put(long item)
{
	pthread_mutex_lock(&queue.mutex);
	while (queue.count == QUEUE)
		pthread_cond_wait(&queue.freed, &queue.mutex);
	queue.items[(queue.first + queue.count++) % QUEUE] = item;
	pthread_cond_signal(&queue.filled);
	pthread_mutex_unlock(&queue.mutex);
}

static long get(void)
{
	long item = -1;

	pthread_mutex_lock(&queue.mutex);
	while (!queue.count && !queue.ended)
		pthread_cond_wait(&queue.filled, &queue.mutex);
	if (queue.count) {
		item = queue.items[queue.first];
		queue.first = (queue.first + 1) % QUEUE;
		queue.count--;
		pthread_cond_signal(&queue.freed);
	}
	pthread_mutex_unlock(&queue.mutex);
	return item;
}

static void *consume(void *argument)
{
	double own = (double)(intptr_t)argument;
	long item;

	while ((item = get()) >= 0)
		own += arithmetic(20000, (double)item);
	return (void *)(intptr_t)own;
}

static void *produce(void *argument)
{
	if (argument)
		return consume(argument);
	for (long i = 0; i < work * 10; i++)
		put(i + (arithmetic(1000, (double)i) < 0));
	pthread_mutex_lock(&queue.mutex);
	queue.ended = 1;
	pthread_cond_broadcast(&queue.filled);
	pthread_mutex_unlock(&queue.mutex);
	return NULL;
}

static void pipeline(void)
{
	run_all(produce, threads + 1);
	checksum = work; /* which thread did what is not the same each time */
}

/* Each task is an own thread: threads come and go. */
static void *short_one(void *argument)
{
	return (void *)(intptr_t)arithmetic(200000, (double)(intptr_t)argument);
}

static void churn(void)
{
	for (long r = 0; r < work; r++)
		run_all(short_one, threads);
}

/* Tasks of a tree by OpenMP: sort in place by quick sort. */
static void quick(uint32_t *from, uint32_t *to)
{
	while (to - from > 64) {
		uint32_t pivot = from[(to - from) / 2], *low = from, *high = to - 1;

		while (low <= high) {
			while (*low < pivot)
				low++;
			while (*high > pivot)
				high--;
			if (low <= high) {
				uint32_t kept = *low;

				*low++ = *high;
				*high-- = kept;
			}
		}
		if (to - from > 16384) {
#pragma omp task firstprivate(from, high)
			quick(from, high + 1);
		} else {
			quick(from, high + 1);
		}
		from = low;
	}
	for (uint32_t *i = from + 1; i < to; i++)
		for (uint32_t *k = i; k > from && k[-1] > *k; k--) {
			uint32_t kept = *k;

			*k = k[-1];
			k[-1] = kept;
		}
}

static void tasks(void)
{
	const long n = 1 << 21;
	uint32_t *values = memory(n * 4);
	uint64_t state = 42;

	for (long r = 0; r < work; r++) {
		for (long i = 0; i < n; i++)
			values[i] = (uint32_t)step(&state);
#pragma omp parallel
#pragma omp single
		quick(values, values + n);
	}
	checksum = values[n / 2];
}

/* Four times as many threads as asked for, with a barrier. */
static pthread_barrier_t barrier;
static void *crowd_one(void *argument)
{
	double own = (double)(intptr_t)argument;

	for (long r = 0; r < work; r++) {
		own += arithmetic(20000, own);
		pthread_barrier_wait(&barrier);
	}
	return (void *)(intptr_t)own;
}

static void crowd(void)
{
	pthread_barrier_init(&barrier, NULL, (unsigned)threads * 4);
	run_all(crowd_one, threads * 4);
}

/* Matrix product in blocks. */
static void product(void)
{
	enum { N = 512, B = 64 };
	double(*a)[N] = memory(N * N * 8), (*b)[N] = memory(N * N * 8), (*c)[N] = memory(N * N * 8);

	for (int i = 0; i < N; i++)
		for (int k = 0; k < N; k++) {
			a[i][k] = i + k;
			b[i][k] = i - k;
			c[i][k] = 0;
		}
	for (long r = 0; r < work; r++)
#pragma omp parallel for schedule(dynamic)
		for (int i = 0; i < N; i += B / 4)
			for (int k = 0; k < N; k += B)
				for (int ii = i; ii < i + B / 4; ii++)
					for (int kk = k; kk < k + B; kk++)
						for (int j = 0; j < N; j++)
							c[ii][j] += a[ii][kk] * b[kk][j];
	checksum = c[N / 2][N / 3];
}

static const struct {
	const char *name;
	void (*run)(void);
} kinds[] = {{"triad", triad},        {"stencil", stencil},   {"gather", gather}, {"chase", chase},
             {"compute", compute},    {"private", private},   {"copy", copy},     {"false", false_sharing},
             {"padded", padded},      {"true", true_sharing}, {"lock", lock},     {"triangle", triangle},
             {"serial", serial_part}, {"fine", fine},         {"spin", spin},     {"pipeline", pipeline},
             {"churn", churn},        {"tasks", tasks},       {"crowd", crowd},   {"product", product}};

int main(int count, char **arguments)
{
	threads = count > 2 ? atoi(arguments[2]) : 0;
	work = count > 3 ? atol(arguments[3]) : 0;
	if (threads < 1 || threads > MOST / 4 || work < 1)
		return 2;
	omp_set_num_threads(threads);
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i].name, arguments[1])) {
			kinds[i].run();
			printf("%g\n", checksum);
			return 0;
		}
	return 2;
}
