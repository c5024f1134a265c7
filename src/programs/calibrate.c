/* Chases pointers through BYTES for SECONDS of processor time: fathom-calibrate BYTES SECONDS [tlb]. `fathom record`
   samples it to learn the cost of loads from each level. With `tlb`, BYTES are lines, one per page, so that the data
   fit a cache that their translations do not fit. Prints the number of steps and their time in nanoseconds. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/random.h"

enum { LINE = 64, PAGE = 4096, STEPS = 4096 };

static uint64_t processor_time(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* One cycle through all lines in random order (Sattolo's shuffle). Lines of pages lie at different offsets, or they
   would share the sets of a cache. */
static char *link_lines(char *memory, size_t lines, size_t distance)
{
	uint32_t *order = malloc(lines * sizeof(*order));
	struct fm_random random;

	if (!order)
		return NULL;
	fm_random_seed(&random, 1);
	for (size_t i = 0; i < lines; i++)
		order[i] = (uint32_t)i;
	for (size_t i = lines - 1; i > 0; i--) {
		size_t other = fm_random_below(&random, i);
		uint32_t kept = order[i];

		order[i] = order[other];
		order[other] = kept;
	}
#define PLACE(index) (memory + (index)*distance + (distance > LINE ? (index) % (PAGE / LINE) * LINE : 0))
	for (size_t i = 0; i < lines; i++)
		*(char **)PLACE((size_t)order[i]) = PLACE((size_t)order[(i + 1) % lines]);
#undef PLACE
	free(order);
	return memory;
}

static __attribute__((noinline)) char *chase(char *at)
{
	for (int i = 0; i < STEPS; i += 8) {
		at = *(char *volatile *)at;
		at = *(char *volatile *)at;
		at = *(char *volatile *)at;
		at = *(char *volatile *)at;
		at = *(char *volatile *)at;
		at = *(char *volatile *)at;
		at = *(char *volatile *)at;
		at = *(char *volatile *)at;
	}
	return at;
}

int main(int argc, char **argv)
{
	char *end;
	uint64_t bytes = argc > 2 ? strtoull(argv[1], &end, 10) : 0;
	double seconds = argc > 2 ? strtod(argv[2], &end) : 0;
	int spread = argc > 3 && !strcmp(argv[3], "tlb");
	size_t lines = bytes / LINE, distance = spread ? PAGE : LINE, room = lines * distance;
	uint64_t steps = 0, began, now;
	char *memory, *at;

	if (lines < 2 || lines > UINT32_MAX || room > (uint64_t)1 << 36 || !(seconds > 0 && seconds < 100)) {
		fprintf(stderr, "fathom-calibrate: BYTES SECONDS [tlb]\n");
		return 2;
	}
	memory = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return 1;
	madvise(memory, room, spread ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
	at = link_lines(memory, lines, distance);
	if (!at)
		return 1;
	/* once around, or for half the time: the order of linking is not that of use */
	began = processor_time();
	while (steps < lines && (double)(processor_time() - began) * 1e-9 < seconds / 2) {
		at = chase(at);
		steps += STEPS;
	}
	steps = 0;
	began = processor_time();
	do {
		for (int i = 0; i < 4; i++)
			at = chase(at);
		steps += 4 * (uint64_t)STEPS;
		now = processor_time();
	} while ((double)(now - began) * 1e-9 < seconds);
	printf("%lu %lu %d\n", (unsigned long)steps, (unsigned long)(now - began), at == NULL);
	return 0;
}
