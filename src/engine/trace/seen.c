#include "engine/trace/seen.h"

#include <stdbool.h>
#include <stdlib.h>

struct range {
	uint64_t begin, end;
};

static int by_begin(const void *left, const void *right)
{
	const struct range *a = left, *b = right;

	return (a->begin > b->begin) - (a->begin < b->begin);
}

/* Sorted, and those that touch made one. Returns how many are left. */
static uint32_t join(struct range *ranges, uint32_t count)
{
	uint32_t used = 0;

	qsort(ranges, count, sizeof(*ranges), by_begin);
	for (uint32_t i = 0; i < count; i++) {
		struct range *last = used ? &ranges[used - 1] : NULL;

		if (!last || ranges[i].begin > last->end)
			ranges[used++] = ranges[i];
		else if (ranges[i].end > last->end)
			last->end = ranges[i].end;
	}
	return used;
}

static bool covers(const struct range *ranges, uint32_t count, const struct fm_trace_piece *piece)
{
	uint32_t low = 0, high = count;

	/* the first that begins beyond it */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (ranges[middle].begin <= piece->pc)
			low = middle + 1;
		else
			high = middle;
	}
	return low && piece->pc + piece->bytes <= ranges[low - 1].end;
}

void fm_seen_complete(const struct fm_trace_piece *pieces, uint32_t count, uint8_t *seen)
{
	struct range *ranges = calloc((size_t)count + 1, sizeof(*ranges));
	uint32_t used = 0;

	if (!ranges)
		return;
	for (uint32_t i = 0; i < count; i++)
		if (seen[i])
			ranges[used++] = (struct range){pieces[i].pc, pieces[i].pc + pieces[i].bytes};
	used = join(ranges, used);
	for (uint32_t i = 0; i < count; i++)
		seen[i] = seen[i] || covers(ranges, used, &pieces[i]);
	free(ranges);
}
