/* Programs of known need for memory: needs KIND [MEBIBYTES [ACCESSES]]. What they touch is all there is, a few pages
   aside.

   random    reads lines of so much memory at random, each address from what was read before
   stream    reads much more than any cache holds, line by line, over and over
   compute   a chain of multiplications; no memory
   phases    random over a quarter of the memory, then as often over all of it */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LINE = 8 };

static volatile uint64_t result;

/* Zeroed memory holds no chain: the next place is computed from a random number and from what was read. */
static uint64_t visit(const uint64_t *memory, uint64_t lines, uint64_t accesses, uint64_t state)
{
	for (uint64_t i = 0; i < accesses; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		state += memory[(uint64_t)(((unsigned __int128)state * lines) >> 64) * LINE];
	}
	return state;
}

static uint64_t read_all(const uint64_t *memory, uint64_t lines)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < lines; i++)
		sum += memory[i * LINE];
	return sum;
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	uint64_t bytes = (uint64_t)((argc > 2 ? atof(argv[2]) : 1) * (1 << 20)), lines = bytes / 64;
	uint64_t accesses = argc > 3 ? strtoull(argv[3], NULL, 10) : 1000000, sum = 1;
	uint64_t *memory = mmap(NULL, bytes + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED || !lines)
		return 1;
	if (!strcmp(kind, "random")) {
		sum = read_all(memory, lines) + visit(memory, lines, accesses, 1);
	} else if (!strcmp(kind, "phases")) {
		sum = read_all(memory, lines / 4) + visit(memory, lines / 4, accesses, 1);
		sum += read_all(memory, lines) + visit(memory, lines, accesses, 2);
	} else if (!strcmp(kind, "stream")) {
		for (uint64_t done = 0; done < accesses; done += lines)
			sum += read_all(memory, lines);
	} else if (!strcmp(kind, "compute")) {
		for (uint64_t i = 0; i < accesses; i++)
			sum = sum * 6364136223846793005u + 1442695040888963407u;
	} else {
		fprintf(stderr, "needs: random, stream, compute or phases\n");
		return 2;
	}
	result = sum;
	return 0;
}
