#include "kernels/chain.h"

#include "kernels/layout.h"

size_t fm_chain_bytes(size_t count, size_t distance)
{
	return (count + 1) * distance;
}

static void **line_at(char *memory, size_t index, size_t distance)
{
	size_t page = index * distance / 4096, places = distance / FM_LINE_BYTES,
	       place = (page + page / places + page / places / places) % places;

	return (void **)(memory + index * distance + place * FM_LINE_BYTES);
}

/* Every line points to itself at first; each exchange of two targets joins two cycles (Sattolo). */
void *fm_chain_link(void *memory, size_t count, size_t distance, uint64_t seed)
{
	for (size_t i = 0; i < count; i++)
		*line_at(memory, i, distance) = line_at(memory, i, distance);
	for (size_t i = count; i-- > 1;) {
		void **one = line_at(memory, i, distance), **other, *target = *one;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		other = line_at(memory, (seed >> 33) % i, distance);
		*one = *other;
		*other = target;
	}
	return line_at(memory, 0, distance);
}
