/* Stands for a process of a parallel program whose footprint is known: stand_in RANDOM SWEEP PERCENT ADDITIONS
   ACCESSES. Loads go to random lines of RANDOM MiB and, PERCENT of them, sweep through SWEEP MiB, 8 bytes after 8
   bytes; each is followed by additions that need its result and each other's. What one loads does not decide where the
   next goes. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { LINE = 64, WORD = 8, ARGUMENTS = 5 };

static volatile uint64_t result;

static uint64_t touch_all(const char *memory, uint64_t bytes)
{
	uint64_t sum = 0;

	for (uint64_t at = 0; at < bytes; at += LINE)
		sum += *(const uint64_t *)(const void *)(memory + at);
	return sum;
}

static uint64_t add(uint64_t value, unsigned additions)
{
	for (unsigned i = 0; i < additions; i++)
		__asm__ volatile("add $1, %0" : "+r"(value));
	return value;
}

int main(int argc, char **argv)
{
	uint64_t random_bytes, sweep_bytes, accesses, state = 1, at = 0, sum = 0;
	unsigned percent, additions;
	char *memory;

	if (argc != 1 + ARGUMENTS) {
		fprintf(stderr, "stand_in: MiB at random, MiB in sweeps, percent of sweeps, additions, accesses\n");
		return 2;
	}
	/* ranks begin at different places */
	if (getenv("FATHOM_RANK"))
		state += strtoull(getenv("FATHOM_RANK"), NULL, 10) * 1000003;
	random_bytes = (uint64_t)(atof(argv[1]) * (1 << 20)) / LINE * LINE;
	sweep_bytes = (uint64_t)(atof(argv[2]) * (1 << 20)) / LINE * LINE;
	percent = (unsigned)atoi(argv[3]);
	additions = (unsigned)atoi(argv[4]);
	accesses = strtoull(argv[5], NULL, 10);
	memory = mmap(NULL, random_bytes + sweep_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED || !random_bytes || (percent && !sweep_bytes))
		return 1;
	sum = touch_all(memory, random_bytes + sweep_bytes);
	for (uint64_t i = 0; i < accesses; i++) {
		uint64_t place;

		state = state * 6364136223846793005u + 1442695040888963407u;
		if ((state >> 33) % 100 < percent) {
			place = random_bytes + at;
			at = at + WORD < sweep_bytes ? at + WORD : 0;
		} else {
			place = (uint64_t)(((unsigned __int128)(state * 0x9e3779b97f4a7c15u) * (random_bytes / WORD)) >>
			                   64) *
			        WORD;
		}
		sum += add(*(const uint64_t *)(const void *)(memory + place), additions);
	}
	result = sum;
	return 0;
}
