/* Walks through memory, by one instruction each: with a stride, at random, along a list, down the columns of a matrix,
   over the inside of a grid, between two arrays; and by two threads at once. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 1 << 24, STEPS = 1 << 17, ROWS = 2048, COLUMNS = 1024 };

static _Alignas(4096) char memory[BYTES];

/* Where to go next, without a load and without a pattern. */
static uint64_t scramble(uint64_t number)
{
	number *= 0x9e3779b97f4a7c15u;
	number ^= number >> 29;
	number *= 0xbf58476d1ce4e5b9u;
	return number ^ number >> 32;
}

__attribute__((noinline)) static void touch(uint64_t at)
{
	*(volatile char *)&memory[at % BYTES];
}

static void *stride(void *bytes)
{
	for (uint64_t i = 0; i < STEPS; i++)
		touch(i * (uintptr_t)bytes);
	return NULL;
}

static void *at_random(void *unused)
{
	for (uint64_t i = 0; i < STEPS; i++)
		touch(scramble(i));
	return unused;
}

/* All lines in an order without a pattern. */
static void list(void)
{
	enum { NODES = BYTES / 64 };
	void **at = (void **)(void *)memory;

	for (uint64_t i = 0; i < NODES; i++)
		*(uint64_t *)(void *)&memory[64 * i] = i;
	for (uint64_t i = NODES - 1; i; i--) {
		uint64_t other = scramble(i) % i, kept = *(uint64_t *)(void *)&memory[64 * i];

		*(uint64_t *)(void *)&memory[64 * i] = *(uint64_t *)(void *)&memory[64 * other];
		*(uint64_t *)(void *)&memory[64 * other] = kept;
	}
	for (uint64_t i = 0; i < NODES; i++)
		*(void **)(void *)&memory[64 * i] = &memory[64 * *(uint64_t *)(void *)&memory[64 * i]];
	for (int i = 0; i < 4 * NODES; i++)
		at = *(void **volatile *)at;
}

static void columns(void)
{
	for (uint64_t column = 0; column < COLUMNS / 8; column++)
		for (uint64_t row = 0; row < ROWS; row++)
			touch((row * COLUMNS + column) * 8);
}

/* Eight lines of a row, 64 rows, and on to the next plane. */
static void grid(void)
{
	for (uint64_t plane = 0; plane < 64; plane++)
		for (uint64_t row = 0; row < 64; row++)
			for (uint64_t line = 0; line < 8; line++)
				touch(plane * 262144 + row * 4096 + line * 64);
}

static void two_arrays(void)
{
	for (uint64_t i = 0; i < STEPS; i++) {
		touch(i * 64 % (BYTES / 2));
		touch(BYTES / 2 + i * 64 % (BYTES / 2));
	}
}

static void by_two(void *(*second)(void *), void *argument)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, second, argument))
		exit(1);
	stride((void *)192);
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	if (!strcmp(how, "random"))
		at_random(NULL);
	else if (!strcmp(how, "list"))
		list();
	else if (!strcmp(how, "columns"))
		columns();
	else if (!strcmp(how, "grid"))
		grid();
	else if (!strcmp(how, "two arrays"))
		two_arrays();
	else if (!strcmp(how, "two strides"))
		by_two(stride, (void *)4096);
	else if (!strcmp(how, "stride and random"))
		by_two(at_random, NULL);
	else
		stride((void *)(uintptr_t)strtoul(how, NULL, 10));
	return 0;
}
