/* Programs of known habits, for judging what windows say of them: mixes NAME [SCALE]. A scale of 1 runs for a few
   seconds. Built without knowing anything of caches; everything prints a checksum. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t random_state = 88172645463325252u;

static uint64_t draw(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static void *memory(size_t bytes)
{
	void *block = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);

	if (!block)
		exit(1);
	memset(block, 1, bytes);
	return block;
}

static uint64_t triad(size_t elements, unsigned rounds)
{
	double *a = memory(elements * 8), *b = memory(elements * 8), *c = memory(elements * 8);

	for (unsigned round = 0; round < rounds; round++)
		for (size_t i = 0; i < elements; i++)
			a[i] = b[i] + 3.0 * c[i];
	return (uint64_t)a[elements / 2];
}

/* One cycle through all lines, in random order. */
static size_t *ring_of(size_t lines)
{
	size_t *ring = memory(lines * 64), *order = memory(lines * sizeof(size_t));

	for (size_t i = 0; i < lines; i++)
		order[i] = i;
	for (size_t i = lines - 1; i; i--) {
		size_t k = draw() % i, kept = order[i];

		order[i] = order[k];
		order[k] = kept;
	}
	for (size_t i = 0; i < lines; i++)
		ring[order[i] * 8] = order[(i + 1) % lines] * 8;
	free(order);
	return ring;
}

static uint64_t walk(const size_t *ring, uint64_t steps)
{
	size_t at = 0;

	while (steps--)
		at = ring[at];
	return at;
}

static uint64_t gather(size_t elements, uint64_t count)
{
	uint32_t *table = memory(elements * 4);
	uint64_t sum = 0;

	for (uint64_t i = 0; i < count; i++)
		sum += table[draw() % elements]++;
	return sum;
}

static uint64_t columns(size_t side, unsigned rounds)
{
	double *matrix = memory(side * side * 8), sum = 0;

	for (unsigned round = 0; round < rounds; round++)
		for (size_t column = 0; column < side; column++)
			for (size_t row = 0; row < side; row++)
				sum += matrix[row * side + column];
	return (uint64_t)(sum * 1e300);
}

static uint64_t product(size_t side)
{
	double *a = memory(side * side * 8), *b = memory(side * side * 8), *c = memory(side * side * 8);

	for (size_t i = 0; i < side; i++)
		for (size_t j = 0; j < side; j++)
			for (size_t k = 0; k < side; k++)
				c[i * side + k] += a[i * side + j] * b[j * side + k];
	return (uint64_t)c[side];
}

/* The same copying code on little and on much data by turns. */
static uint64_t copies(unsigned rounds)
{
	char *small = memory(8192), *large = memory(48 << 20);

	for (unsigned round = 0; round < rounds; round++) {
		for (unsigned i = 0; i < 4000; i++)
			memcpy(small, small + 4096, 4096);
		memcpy(large, large + (24 << 20), 24 << 20);
	}
	return (uint64_t)(unsigned char)large[12345];
}

static uint64_t compute(uint64_t count)
{
	double x = 1.000001, y = 0;

	for (uint64_t i = 0; i < count; i++) {
		y = y * 0.999 + x;
		x = x * 1.0000001 - y * 1e-9;
	}
	return (uint64_t)(y * 1000);
}

struct entry {
	uint64_t key, value;
	struct entry *next;
};

static uint64_t hashing(size_t buckets, uint64_t count)
{
	struct entry **table = memory(buckets * sizeof(*table));
	uint64_t found = 0;

	memset(table, 0, buckets * sizeof(*table));
	for (uint64_t i = 0; i < count; i++) {
		uint64_t key = draw() % (buckets * 2), slot = key * 0x9e3779b97f4a7c15u % buckets;
		struct entry *entry = table[slot];

		while (entry && entry->key != key)
			entry = entry->next;
		if (!entry) {
			entry = malloc(sizeof(*entry));
			*entry = (struct entry){key, 0, table[slot]};
			table[slot] = entry;
		}
		found += entry->value++;
	}
	return found;
}

static int by_value(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

static uint64_t sorting(size_t count)
{
	uint64_t *values = memory(count * 8);

	for (size_t i = 0; i < count; i++)
		values[i] = draw();
	qsort(values, count, sizeof(*values), by_value);
	return values[count / 2];
}

static _Alignas(64) struct {
	volatile uint64_t words[8];
} counters;

static void *increment(void *argument)
{
	unsigned which = (unsigned)(uintptr_t)argument;

	for (unsigned i = 0; i < 300000000; i++)
		counters.words[which]++;
	return NULL;
}

static uint64_t sharing(unsigned scale)
{
	for (unsigned round = 0; round < scale; round++) {
		pthread_t other;

		if (pthread_create(&other, NULL, increment, (void *)1))
			return 1;
		increment(NULL);
		pthread_join(other, NULL);
	}
	return counters.words[0] + counters.words[1];
}

static uint64_t phases(unsigned scale)
{
	uint64_t sum = 0;
	size_t *ring = ring_of(4096);

	for (unsigned round = 0; round < 3 * scale; round++) {
		sum += compute(150000000);
		sum += walk(ring, 60000000);
		sum += triad(2 << 20, 12);
	}
	return sum;
}

int main(int count, char **arguments)
{
	const char *name = count > 1 ? arguments[1] : "";
	unsigned scale = count > 2 ? (unsigned)atoi(arguments[2]) : 1;
	uint64_t result;

	if (!strcmp(name, "triad"))
		result = triad(4 << 20, 100 * scale);
	else if (!strcmp(name, "chase"))
		result = walk(ring_of(1 << 20), 30000000ull * scale);
	else if (!strcmp(name, "chase-l2"))
		result = walk(ring_of(3000), 600000000ull * scale);
	else if (!strcmp(name, "gather-l3"))
		result = gather(2 << 20, 400000000ull * scale);
	else if (!strcmp(name, "gather"))
		result = gather(32 << 20, 80000000ull * scale);
	else if (!strcmp(name, "columns"))
		result = columns(2048, 25 * scale);
	else if (!strcmp(name, "product"))
		result = product(1100);
	else if (!strcmp(name, "copies"))
		result = copies(100 * scale);
	else if (!strcmp(name, "compute"))
		result = compute(500000000ull * scale);
	else if (!strcmp(name, "hashing"))
		result = hashing(1 << 19, 20000000ull * scale);
	else if (!strcmp(name, "sorting"))
		result = sorting(12000000u * scale);
	else if (!strcmp(name, "sharing"))
		result = sharing(scale);
	else if (!strcmp(name, "phases"))
		result = phases(scale);
	else
		return fprintf(stderr, "mixes: no mix \"%s\"\n", name), 2;
	printf("%s %llu\n", name, (unsigned long long)result);
	return 0;
}
