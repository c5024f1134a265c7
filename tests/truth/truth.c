/* Programs whose references are known by construction, to judge samplers by. Usage: truth WHAT SECONDS [BYTES]
   mix         three references to `small` for each one to `large` of BYTES, all at random places
   stream      c[i] = a[i] + s * b[i]: a third of the references to each array
   chase       a chain through BYTES, each reference depends on the one before
   sequential  a sweep through BYTES
   random      BYTES at random places, not dependent on each other
   threads     two threads; `shared` is read by both, each has one private array
   functions   `hot` makes nine references for each one that `cold` makes
   What it did is printed as "name value". */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <fathom.h>

/* as they are written: not inlined, cloned or merged with others */
#if defined(__clang__)
#define AS_WRITTEN __attribute__((noinline, optnone))
#else
#define AS_WRITTEN __attribute__((noipa))
#endif

enum { SMALL = 16 << 10, LARGE = 64 << 20 };

static uint64_t random_state = 88172645463325252u;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	return random_state ^= random_state << 17;
}

static void *make(size_t bytes)
{
	void *memory = aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095);

	if (!memory)
		exit(1);
	memset(memory, 1, bytes);
	return memory;
}

AS_WRITTEN static void *make_small(void)
{
	return make(SMALL);
}

AS_WRITTEN static void *make_large(size_t bytes)
{
	return make(bytes);
}

AS_WRITTEN static uint64_t mix(const uint64_t *small, const uint64_t *large, size_t large_count, unsigned long count,
                               uint64_t x)
{
	uint64_t sum = 0;

	for (unsigned long i = 0; i < count; i++) {
		uint64_t y;

		x = x * 6364136223846793005u + 1442695040888963407u;
		y = x >> 20;
		sum += small[y % (SMALL / 8)];
		sum += small[(y >> 7) % (SMALL / 8)];
		sum ^= small[(y >> 13) % (SMALL / 8)];
		sum += large[y % large_count];
	}
	return sum;
}

static double a[2000000], b[2000000], c[2000000];

AS_WRITTEN static void triad(double s)
{
	for (size_t i = 0; i < sizeof(a) / sizeof(a[0]); i++)
		c[i] = a[i] + s * b[i];
}

/* One cycle through all lines, in random order. */
static void **make_chain(size_t bytes)
{
	size_t lines = bytes / 64;
	uint32_t *order = malloc(lines * sizeof(*order));
	char *memory = make(bytes);

	if (!order)
		exit(1);
	for (size_t i = 0; i < lines; i++)
		order[i] = (uint32_t)i;
	for (size_t i = lines - 1; i; i--) {
		size_t other = next_random() % (i + 1);
		uint32_t kept = order[i];

		order[i] = order[other];
		order[other] = kept;
	}
	for (size_t i = 0; i < lines; i++)
		*(void **)(void *)(memory + 64 * (size_t)order[i]) = memory + 64 * (size_t)order[(i + 1) % lines];
	free(order);
	return (void **)(void *)memory;
}

AS_WRITTEN static void **chase(void **at, unsigned long count)
{
	for (unsigned long i = 0; i < count; i++)
		at = *(void **volatile *)at;
	return at;
}

AS_WRITTEN static uint64_t sweep(const volatile uint64_t *memory, size_t count)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += memory[i];
	return sum;
}

AS_WRITTEN static uint64_t jump(const volatile uint64_t *memory, size_t count, size_t times)
{
	uint64_t sum = 0, x = random_state;

	for (size_t i = 0; i < times; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		sum += memory[(x >> 20) % count];
	}
	random_state = x;
	return sum;
}

AS_WRITTEN static uint64_t hot(const volatile uint64_t *memory, size_t count)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += memory[i & 1023];
	return sum;
}

AS_WRITTEN static uint64_t cold(const volatile uint64_t *memory, size_t count)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += memory[i & 1023];
	return sum;
}

static double until;
static uint64_t shared[4096];

static void *work(void *pointer)
{
	volatile uint64_t *own = pointer;
	uint64_t sum = 0;

	while (now() < until)
		for (size_t i = 0; i < 100000; i++) {
			sum += shared[i & 4095];
			own[i & 4095] = sum;
		}
	return (void *)(uintptr_t)(sum != 1);
}

int main(int count, char **arguments)
{
	const char *what = count > 1 ? arguments[1] : "mix";
	double seconds = count > 2 ? atof(arguments[2]) : 1;
	size_t bytes = count > 3 ? strtoull(arguments[3], NULL, 10) : LARGE;
	uint64_t sum = 0, rounds = 0;

	if (!strcmp(what, "mix")) {
		uint64_t *small = make_small(), *large = make_large(bytes);

		fathom_object(small, SMALL, "small");
		fathom_object_in("big ones", large, bytes, "large");
		for (until = now() + seconds; now() < until; rounds++)
			sum += mix(small, large, bytes / 8, 20000, next_random());
	} else if (!strcmp(what, "stream")) {
		for (size_t i = 0; i < sizeof(a) / sizeof(a[0]); i++)
			a[i] = b[i] = (double)next_random();
		for (until = now() + seconds; now() < until; rounds++)
			triad((double)rounds);
		sum += (uint64_t)c[77];
	} else if (!strcmp(what, "chase")) {
		void **at = make_chain(bytes);

		for (until = now() + seconds; now() < until; rounds++)
			at = chase(at, 100000);
		sum += at != NULL;
	} else if (!strcmp(what, "sequential") || !strcmp(what, "random")) {
		uint64_t *memory = make(bytes);

		for (until = now() + seconds; now() < until; rounds++) {
			fathom_region_begin("pass");
			sum += what[0] == 's' ? sweep(memory, bytes / 8) : jump(memory, bytes / 8, bytes / 8);
			fathom_region_end("pass");
		}
	} else if (!strcmp(what, "threads")) {
		pthread_t threads[2];

		until = now() + seconds;
		for (int i = 0; i < 2; i++)
			if (pthread_create(&threads[i], NULL, work, make(32768)))
				return 1;
		for (int i = 0; i < 2; i++)
			pthread_join(threads[i], NULL);
	} else if (!strcmp(what, "functions")) {
		for (until = now() + seconds; now() < until; rounds++)
			sum += hot(shared, 9000) + cold(shared, 1000);
	} else {
		return 2;
	}
	printf("rounds %lu\nsum %lu\n", (unsigned long)rounds, (unsigned long)(sum != 0));
	return 0;
}
