/* Loops of known reuse, for judging miss-ratio curves: loops NAME [SCALE]. A scale of 1 runs for about a second.
   Everything prints a checksum. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 88172645463325252u;

static inline uint64_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static uint64_t *memory(size_t bytes)
{
	uint64_t *block = aligned_alloc(4096, bytes);

	if (!block)
		exit(1);
	memset(block, 1, bytes);
	return block;
}

/* Any word of so many bytes. */
static uint64_t scattered(size_t bytes, uint64_t count)
{
	uint64_t *block = memory(bytes), sum = 0, mask = bytes / 8 - 1;

	for (uint64_t i = 0; i < count; i++)
		sum += block[draw() & mask];
	return sum;
}

static uint64_t sweep(size_t bytes, uint64_t count)
{
	uint64_t *block = memory(bytes), sum = 0;

	for (uint64_t i = 0; i < count;)
		for (size_t k = 0; k < bytes / 8; k++, i++)
			sum += block[k] * 3;
	return sum;
}

/* Records of a line, two words of each. */
static uint64_t records(size_t bytes, uint64_t count)
{
	uint64_t *block = memory(bytes), sum = 0, mask = bytes / 64 - 1;

	for (uint64_t i = 0; i < count; i++) {
		uint64_t *record = block + (draw() & mask) * 8;

		sum += record[1];
		record[5] = sum;
	}
	return sum;
}

/* Three of four references to a small set, the fourth to a large one. */
static uint64_t mixed(size_t small, size_t large, uint64_t count)
{
	uint64_t *near = memory(small), *far = memory(large), sum = 0;

	for (uint64_t i = 0; i < count; i++) {
		uint64_t random = draw();

		sum += near[random & (small / 8 - 1)] + near[random >> 20 & (small / 8 - 1)];
		sum += near[random >> 30 & (small / 8 - 1)] + far[random >> 32 & (large / 8 - 1)];
	}
	return sum;
}

/* One load after the other, in an order without end. */
static uint64_t chase(size_t bytes, uint64_t count)
{
	size_t lines = bytes / 64;
	uint64_t *block = memory(bytes), at = 0;
	uint32_t *order = malloc(lines * sizeof(*order));

	for (size_t i = 0; i < lines; i++)
		order[i] = (uint32_t)i;
	for (size_t i = lines - 1; i > 0; i--) {
		size_t other = draw() % (i + 1);
		uint32_t kept = order[i];

		order[i] = order[other];
		order[other] = kept;
	}
	for (size_t i = 0; i < lines; i++)
		block[(size_t)order[i] * 8] = (uint64_t)order[(i + 1) % lines] * 8;
	for (uint64_t i = 0; i < count; i++)
		at = block[at];
	return at;
}

static uint64_t product(unsigned size, unsigned rounds)
{
	double *a = (double *)memory(sizeof(double) * size * size), *b = (double *)memory(sizeof(double) * size * size),
	       *c = (double *)memory(sizeof(double) * size * size), sum = 0;

	for (unsigned round = 0; round < rounds; round++)
		for (unsigned i = 0; i < size; i++)
			for (unsigned k = 0; k < size; k++) {
				double total = 0;

				for (unsigned j = 0; j < size; j++)
					total += a[i * size + j] * b[j * size + k];
				c[i * size + k] = total;
			}
	for (unsigned i = 0; i < size * size; i++)
		sum += c[i];
	return (uint64_t)sum;
}

int main(int count, char **words)
{
	const char *name = count > 1 ? words[1] : "";
	double scale = count > 2 ? strtod(words[2], NULL) : 1;
	uint64_t references = (uint64_t)(scale * 1e8), result = 0;

	if (!strcmp(name, "scattered-256k"))
		result = scattered(256 << 10, 3 * references);
	else if (!strcmp(name, "scattered-4m"))
		result = scattered(4 << 20, references);
	else if (!strcmp(name, "scattered-32m"))
		result = scattered(32 << 20, references / 2);
	else if (!strcmp(name, "sweep-1m"))
		result = sweep(1 << 20, 10 * references);
	else if (!strcmp(name, "sweep-16m"))
		result = sweep(16 << 20, 6 * references);
	else if (!strcmp(name, "records-4m"))
		result = records(4 << 20, references);
	else if (!strcmp(name, "mixed"))
		result = mixed(16 << 10, 32 << 20, references / 2);
	else if (!strcmp(name, "chase-8m"))
		result = chase(8 << 20, references / 5);
	else if (!strcmp(name, "product"))
		result = product(400, (unsigned)(10 * scale) + 1);
	else if (!strcmp(name, "phases"))
		result =
		    scattered(256 << 10, references) + sweep(8 << 20, references) + scattered(16 << 20, references / 3);
	else
		return 2;
	printf("%llu\n", (unsigned long long)result);
	return 0;
}
