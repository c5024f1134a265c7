#include "kernels/chain.h"

#include "kernels/layout.h"

size_t fm_chain_bytes(size_t count, size_t distance)
{
	return (count + 1) * distance;
}

typedef void **place_function(char *memory, size_t index, size_t distance);

static size_t spread_offset(size_t index, size_t distance)
{
	size_t page = index * distance / 4096, places = distance / FM_LINE_BYTES,
	       place = (page + page / places + page / places / places) % places;

	return index * distance + place * FM_LINE_BYTES;
}

static void **spread(char *memory, size_t index, size_t distance)
{
	return (void **)(memory + spread_offset(index, distance));
}

static void **same(char *memory, size_t index, size_t distance)
{
	return (void **)(memory + index * distance);
}

static void **alike(char *memory, size_t index, size_t distance)
{
	size_t offset = spread_offset(index, FM_APART_BYTES);

	return (void **)(memory + index * distance + offset % distance);
}

/* Every line points to itself at first; each exchange of two targets joins two cycles (Sattolo). */
static void *link_lines(place_function *place, char *memory, size_t count, size_t distance, uint64_t seed)
{
	for (size_t i = 0; i < count; i++)
		*place(memory, i, distance) = place(memory, i, distance);
	for (size_t i = count; i-- > 1;) {
		void **one = place(memory, i, distance), **other, *target = *one;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		other = place(memory, (seed >> 33) % i, distance);
		*one = *other;
		*other = target;
	}
	return place(memory, 0, distance);
}

void *fm_chain_link(void *memory, size_t count, size_t distance, uint64_t seed)
{
	return link_lines(spread, memory, count, distance, seed);
}

void *fm_chain_link_same(void *memory, size_t count, size_t distance, uint64_t seed)
{
	return link_lines(same, memory, count, distance, seed);
}

void *fm_chain_link_alike(void *memory, size_t count, size_t distance, uint64_t seed)
{
	return link_lines(alike, memory, count, distance, seed);
}
