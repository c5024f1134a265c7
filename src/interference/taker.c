#include "interference/taker.h"

#include <string.h>

enum {
	PAGE = 4096,
	/* Buffers begin at different places of their pages: at equal ones all of their lines would meet in one set of a
	   first cache, and every load would seem to depend on the store before. */
	STAGGER = 5 * 64,
};

static const char *const names[FM_TAKER_KINDS] = {"bandwidth", "storage"};

const char *fm_taker_name(enum fm_taker_kind kind)
{
	return names[kind];
}

static uint64_t distance_of(uint64_t bytes)
{
	return (bytes + PAGE - 1) / PAGE * PAGE + STAGGER;
}

uint64_t fm_taker_bytes(enum fm_taker_kind kind, uint64_t bytes)
{
	return kind == FM_TAKER_BANDWIDTH ? FM_TAKER_BUFFERS * distance_of(bytes) : bytes;
}

int fm_taker_allocate(enum fm_taker_kind kind, uint64_t bytes, uint64_t seed, struct fm_taker_memory *ret_memory,
                      struct fm_error *error)
{
	struct fm_taker_memory memory = {.kind = kind, .most = bytes > PAGE ? bytes : PAGE};
	int status;

	memory.distance = distance_of(memory.most) / sizeof(uint64_t);
	fm_taker_resize(&memory, memory.most);
	fm_random_seed(&memory.random, seed);
	status = fm_buffer_allocate(fm_taker_bytes(kind, memory.most), FM_PAGES_HUGE, -1, &memory.buffer, error);
	if (!status)
		*ret_memory = memory;
	return status;
}

void fm_taker_free(struct fm_taker_memory *memory)
{
	fm_buffer_free(&memory->buffer);
	memset(memory, 0, sizeof(*memory));
}

void fm_taker_resize(struct fm_taker_memory *memory, uint64_t bytes)
{
	memory->bytes = bytes < PAGE ? PAGE : bytes > memory->most ? memory->most : bytes;
	memory->at = 0;
}

static void take_bandwidth(struct fm_taker_memory *memory)
{
	uint64_t *first = (uint64_t *)(void *)memory->buffer.memory;
	const uint64_t integers = memory->bytes / sizeof(*first), stride = FM_TAKER_PRIME % integers,
	               distance = memory->distance;
	uint64_t at = memory->at;

	for (unsigned round = 0; round < FM_TAKER_BATCH / FM_TAKER_BUFFERS; round++) {
		for (unsigned i = 0; i < FM_TAKER_BUFFERS; i++)
			first[i * distance + at]++;
		at += stride;
		if (at >= integers)
			at -= integers;
	}
	memory->at = at;
}

static void take_storage(struct fm_taker_memory *memory)
{
	uint32_t *first = (uint32_t *)(void *)memory->buffer.memory;
	const uint64_t integers = memory->bytes / sizeof(*first);
	struct fm_random random = memory->random;

	for (unsigned i = 0; i < FM_TAKER_BATCH; i++)
		first[fm_random_below(&random, integers)]++;
	memory->random = random;
}

static void (*const steps[FM_TAKER_KINDS])(struct fm_taker_memory *memory) = {take_bandwidth, take_storage};

void fm_taker_step(struct fm_taker_memory *memory)
{
	steps[memory->kind](memory);
	/* nothing reads these values, but the stores must happen */
	__asm__ volatile("" : : "r"(memory->buffer.memory) : "memory");
}
