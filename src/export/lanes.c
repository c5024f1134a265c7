#include "export/lanes.h"

#include <errno.h>
#include <stdlib.h>

enum { DEEPEST = 64 };

struct lane {
	double open[DEEPEST]; /* ends of the open slices, inner ones last */
	unsigned depth;
};

static int by_thread_and_time(const void *first, const void *second, void *context)
{
	const struct fm_recorded_instance *instances = context;
	uint32_t i = *(const uint32_t *)first, k = *(const uint32_t *)second;
	const struct fm_recorded_instance *a = &instances[i], *b = &instances[k];

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->began != b->began)
		return a->began < b->began ? -1 : 1;
	if (a->ended != b->ended)
		return a->ended > b->ended ? -1 : 1;
	return (i > k) - (i < k);
}

static bool fits(struct lane *lane, const struct fm_recorded_instance *instance)
{
	while (lane->depth && lane->open[lane->depth - 1] <= instance->began)
		lane->depth--;
	return !lane->depth || (lane->depth < DEEPEST && lane->open[lane->depth - 1] >= instance->ended);
}

int fm_lanes_make(const struct fm_recording *recording, uint8_t **ret_lanes)
{
	size_t count = recording->instances_count;
	uint32_t *order = malloc((count + 1) * sizeof(*order));
	uint8_t *lanes = calloc(count + 1, 1);
	struct lane open[FM_LANES_MAX] = {0};

	if (!order || !lanes) {
		free(order);
		free(lanes);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++)
		order[i] = (uint32_t)i;
	if (count)
		qsort_r(order, count, sizeof(*order), by_thread_and_time, recording->instances);
	for (size_t i = 0; i < count; i++) {
		const struct fm_recorded_instance *instance = &recording->instances[order[i]];
		uint8_t lane = 0;

		for (unsigned k = 0; i && k < FM_LANES_MAX; k++)
			if (recording->instances[order[i - 1]].thread != instance->thread)
				open[k].depth = 0;
		while (!fits(&open[lane], instance) && lane + 1 < FM_LANES_MAX)
			lane++;
		lanes[order[i]] = lane;
		if (open[lane].depth < DEEPEST)
			open[lane].open[open[lane].depth++] = instance->ended;
	}
	free(order);
	*ret_lanes = lanes;
	return 0;
}
