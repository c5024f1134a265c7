/* A program whose scaling ends for a known cause: team KIND THREADS WORK [REPEATS]. WORK is thousands of operations or
   elements, the same for every number of threads. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __x86_64__
#include <emmintrin.h>
#endif

enum { THREADS_MAX = 64 };

static unsigned threads, repeats = 1;
static long work;
static double *a, *b, *c;
static double results[THREADS_MAX * 8];
static pthread_barrier_t barrier;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long counter;

static double compute(long operations, double seed)
{
	double x = seed, y = seed + 1;

	for (long i = 0; i < operations; i++) {
		x = x * 0.999999 + 0.5;
		y = y * 0.999998 + x;
	}
	return x + y;
}

/* From STREAM: more data than any cache of the simulated machines holds. */
static void triad(unsigned own)
{
	long from = work * own / threads, to = work * (own + 1) / threads;

	for (unsigned r = 0; r < repeats; r++) {
		for (long i = from; i < to; i++)
			a[i] = b[i] + 3.0 * c[i];
		pthread_barrier_wait(&barrier);
	}
}

/* The same with stores that bypass the caches, as STREAM's compilers make them; each thread fills its own part. */
static void stream(unsigned own)
{
	long from = work * own / threads & -8L, to = own + 1 == threads ? work : work * (own + 1) / threads & -8L;

	for (long i = from; i < to; i++)
		b[i] = c[i] = (double)i;
	pthread_barrier_wait(&barrier);
	for (unsigned r = 0; r < repeats; r++) {
#ifdef __x86_64__
		for (long i = from; i + 1 < to; i += 2)
			_mm_stream_pd(&a[i],
			              _mm_add_pd(_mm_load_pd(&b[i]), _mm_mul_pd(_mm_set1_pd(3), _mm_load_pd(&c[i]))));
#else
		for (long i = from; i < to; i++)
			a[i] = b[i] + 3.0 * c[i];
#endif
		pthread_barrier_wait(&barrier);
	}
}

static void arithmetic(unsigned own)
{
	results[8 * own] = compute(work / threads, own);
}

/* Rows of an upper triangular matrix, in blocks of the same number. */
static void triangle(unsigned own)
{
	long rows = 512, from = rows * own / threads, to = rows * (own + 1) / threads;
	double sum = 0;

	for (unsigned r = 0; r < repeats; r++)
		for (long row = from; row < to; row++)
			sum += compute(work / rows * 2 * (rows - row) / rows, row);
	results[8 * own] = sum;
}

static void lock(unsigned own)
{
	for (long i = 0; i < work / 400 / threads; i++) {
		results[8 * own] += compute(80, own);
		pthread_mutex_lock(&mutex);
		counter += (long)compute(320, (double)counter) > 0;
		pthread_mutex_unlock(&mutex);
	}
}

/* The last thread has three times the work of the others, between barriers. */
static void uneven(unsigned own)
{
	long steps = 40, share = work / steps / (threads + 2);

	for (long i = 0; i < steps; i++) {
		results[8 * own] += compute(own == threads - 1 && threads > 1 ? 3 * share
		                            : threads > 1                     ? share
		                                                              : 3 * share,
		                            own);
		pthread_barrier_wait(&barrier);
	}
}

/* A fifth of the work is done by the first thread alone. */
static void partly_serial(unsigned own)
{
	if (own == 0)
		results[0] = compute(work / 5, own);
	pthread_barrier_wait(&barrier);
	results[8 * own] += compute(work / 5 * 4 / threads, own);
}

static const struct {
	const char *name;
	void (*run)(unsigned own);
} kinds[] = {{"triad", triad}, {"stream", stream}, {"compute", arithmetic},  {"triangle", triangle},
             {"lock", lock},   {"uneven", uneven}, {"serial", partly_serial}};

static void (*chosen)(unsigned own);

static void *start(void *argument)
{
	chosen((unsigned)(size_t)argument);
	return NULL;
}

int main(int count, char **words)
{
	pthread_t others[THREADS_MAX];
	double sum = 0;

	for (unsigned i = 0; count > 3 && i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kinds[i].name, words[1]))
			chosen = kinds[i].run;
	if (!chosen)
		return 2;
	threads = (unsigned)atoi(words[2]);
	work = atol(words[3]) * 1000;
	repeats = count > 4 ? (unsigned)atoi(words[4]) : 1;
	if (!threads || threads > THREADS_MAX)
		return 2;
	if (chosen == triad || chosen == stream) {
		a = aligned_alloc(64, (size_t)work * sizeof(*a));
		b = aligned_alloc(64, (size_t)work * sizeof(*b));
		c = aligned_alloc(64, (size_t)work * sizeof(*c));
		if (!a || !b || !c)
			return 1;
		for (long i = 0; chosen == triad && i < work; i++)
			b[i] = c[i] = (double)i;
	}
	pthread_barrier_init(&barrier, NULL, threads);
	for (unsigned i = 1; i < threads; i++)
		if (pthread_create(&others[i], NULL, start, (void *)(size_t)i))
			return 1;
	start(NULL);
	for (unsigned i = 1; i < threads; i++)
		pthread_join(others[i], NULL);
	for (unsigned i = 0; i < threads; i++)
		sum += results[8 * i];
	printf("%d\n", sum >= 0 || a);
	return 0;
}
