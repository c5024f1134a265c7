/* The pool of the untracked references of an instruction. If small allocations were sampled, an instruction meets some
   of a pool's blocks that were tracked and many that were not. If all tracked ones are of one pool, so are the others,
   most likely. An exception is more references than the tracked ones represent. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "samples/parts.h"
#include "samples/unmixing.h"

struct met {
	uint32_t object, memory; /* of the first one */
	uint32_t count;
	bool several;
	double others;    /* untracked references that those of the pool represent, … */
	double untracked; /* … and those that there are */
};

static bool is_pool(const struct fm_recorded_memory *memory)
{
	return memory->kind == FM_MEMORY_POOL && memory->weight > 1;
}

/* Blocks were chosen by chance, and then references were. */
static bool is_enough(const struct met *met)
{
	return met->untracked <= met->others * (1 + 3 * sqrt(2 / (double)met->count));
}

int fm_samples_pools(struct fm_samples *samples, const struct fm_chosen *chosen, const struct fm_grouping *grouping)
{
	const struct fm_recording *recording = samples->recording;
	size_t codes = recording->codes_count;
	struct met *met = calloc(codes + 1, sizeof(*met));
	bool any = false;

	if (!met)
		return -ENOMEM;
	for (size_t i = 0; i < chosen->count; i++) {
		const struct fm_recorded_sample *sample = fm_chosen_sample(chosen, i);
		struct met *one = &met[sample->code];

		if (sample->memory < 0)
			continue;
		one->untracked += recording->memories[sample->memory].kind == FM_MEMORY_UNTRACKED;
		if (!is_pool(&recording->memories[sample->memory]))
			continue;
		if (!one->count++) {
			one->object = grouping->object[sample->memory];
			one->memory = (uint32_t)sample->memory;
		}
		one->others += recording->memories[sample->memory].weight - 1;
		one->several |= one->object != grouping->object[sample->memory];
		any |= one->count >= FM_POOL_REFERENCES;
	}
	if (any) {
		samples->pool_of = malloc((codes + 1) * sizeof(*samples->pool_of));
		samples->pool_met = malloc((codes + 1) * sizeof(*samples->pool_met));
	}
	if (any && (!samples->pool_of || !samples->pool_met)) {
		free(met);
		return -ENOMEM;
	}
	for (size_t i = 0; any && i < codes; i++) {
		bool known = met[i].count >= FM_POOL_REFERENCES && !met[i].several && is_enough(&met[i]);

		samples->pool_of[i] = known ? met[i].memory : UINT32_MAX;
		samples->pool_met[i] = met[i].count;
	}
	free(met);
	return 0;
}

size_t fm_samples_memory(const struct fm_samples *samples, const struct fm_recorded_sample *sample)
{
	const struct fm_recording *recording = samples->recording;

	if (sample->memory < 0)
		return recording->memories_count;
	if (samples->pool_of && samples->pool_of[sample->code] != UINT32_MAX &&
	    recording->memories[sample->memory].kind == FM_MEMORY_UNTRACKED)
		return samples->pool_of[sample->code];
	return (size_t)sample->memory;
}

/* Upper bound (95 %) of the share of this instruction's references outside of the pool. */
double fm_samples_pool_doubt(const struct fm_samples *samples, const struct fm_recorded_sample *sample)
{
	return 1 - pow(0.05, 1 / (double)samples->pool_met[sample->code]);
}
