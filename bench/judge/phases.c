/* Three marked phases, one after another: phases [SECONDS]. Each takes the given time on an idle machine (20 seconds
   unless told): "stream" adds up and rewrites 256 MiB, "chase" follows one random cycle through 64 MiB, "arithmetic"
   stays in 16 KiB. The rounds of a phase are set by a short timed trial outside the regions, unless STREAM, CHASE and
   ARITHMETIC of the environment give them, so that runs can be made to do exactly the same work. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../../include/fathom.h"

enum { LINE_WORDS = 8 };

static const size_t stream_words = (256u << 20) / 8;
static const size_t chase_lines = (64u << 20) / 64;
static const size_t small_words = (16u << 10) / 8;

static uint64_t *stream_data, *ring, *small_data;
static uint64_t random_state = 88172645463325252u;
static uint64_t position;

static uint64_t draw(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static uint64_t *words(size_t count)
{
	uint64_t *block = aligned_alloc(4096, count * sizeof(*block));

	if (!block)
		exit(1);
	for (size_t i = 0; i < count; i++)
		block[i] = i;
	return block;
}

/* One cycle through all lines, in random order. */
static void make_ring(void)
{
	uint64_t *order = words(chase_lines);

	ring = words(chase_lines * LINE_WORDS);
	for (size_t i = chase_lines - 1; i; i--) {
		size_t k = draw() % i;
		uint64_t kept = order[i];

		order[i] = order[k];
		order[k] = kept;
	}
	for (size_t i = 0; i < chase_lines; i++)
		ring[order[i] * LINE_WORDS] = order[(i + 1) % chase_lines] * LINE_WORDS;
	free(order);
}

/* A round is the least that is worth a clock reading: some milliseconds. */
static void stream(uint64_t rounds)
{
	const size_t part = stream_words / 32;
	size_t begin = 0;

	for (; rounds; rounds--) {
		for (size_t i = begin; i < begin + part; i++)
			stream_data[i] = stream_data[i] * 3 + 1;
		begin = (begin + part) % stream_words;
	}
}

static void chase(uint64_t rounds)
{
	uint64_t at = position;

	for (uint64_t steps = rounds * 100000; steps; steps--)
		at = ring[at];
	position = at;
}

static void arithmetic(uint64_t rounds)
{
	for (; rounds; rounds--)
		for (unsigned pass = 0; pass < 2000; pass++)
			for (size_t i = 0; i < small_words; i++)
				small_data[i] = (small_data[i] ^ small_data[i] >> 7) * 0x9e3779b97f4a7c15u;
}

static uint64_t rounds_of(const char *variable, void (*phase)(uint64_t), double seconds)
{
	const char *told = getenv(variable);
	uint64_t tried = 0;
	double begun = now(), passed;

	if (told)
		return strtoull(told, NULL, 10);
	do {
		phase(1);
		tried++;
		passed = now() - begun;
	} while (passed < seconds / 50);
	return (uint64_t)((double)tried * seconds / passed) + 1;
}

int main(int count, char **arguments)
{
	double seconds = count > 1 ? atof(arguments[1]) : 20, times[4];
	uint64_t rounds[3];

	stream_data = words(stream_words);
	small_data = words(small_words);
	make_ring();
	rounds[0] = rounds_of("STREAM", stream, seconds);
	rounds[1] = rounds_of("CHASE", chase, seconds);
	rounds[2] = rounds_of("ARITHMETIC", arithmetic, seconds);

	times[0] = now();
	fathom_region_begin("stream");
	stream(rounds[0]);
	fathom_region_end("stream");
	times[1] = now();
	fathom_region_begin("chase");
	chase(rounds[1]);
	fathom_region_end("chase");
	times[2] = now();
	fathom_region_begin("arithmetic");
	arithmetic(rounds[2]);
	fathom_region_end("arithmetic");
	times[3] = now();
	printf("STREAM=%llu CHASE=%llu ARITHMETIC=%llu: %.2f %.2f %.2f s, %llx\n", (unsigned long long)rounds[0],
	       (unsigned long long)rounds[1], (unsigned long long)rounds[2], times[1] - times[0], times[2] - times[1],
	       times[3] - times[2], (unsigned long long)(stream_data[5] ^ position ^ small_data[5]));
	return 0;
}
