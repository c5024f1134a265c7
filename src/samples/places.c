/* Rows of the tables by rows of the recording. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "samples/parts.h"

static uint32_t *make_map(size_t count)
{
	uint32_t *map = malloc((count + 1) * sizeof(*map));

	if (map)
		memset(map, 0xff, (count + 1) * sizeof(*map));
	return map;
}

static int find_routines(struct fm_samples *samples)
{
	const struct fm_recording *recording = samples->recording;
	struct fm_names names = {0};
	char key[FM_FUNCTION + 80];
	uint32_t number;
	int r = 0;

	for (size_t i = 0; !r && i < samples->routine_count; i++) {
		snprintf(key, sizeof(key), "%s\1%s", samples->routines[i].function, samples->routines[i].module);
		r = fm_names_find(&names, key, &number);
	}
	for (size_t i = 0; !r && i < recording->codes_count; i++) {
		const struct fm_recorded_code *code = &recording->codes[i];

		snprintf(key, sizeof(key), "%s\1%s", *code->function ? code->function : "?", code->module);
		r = fm_names_find(&names, key, &number);
		if (!r && number < samples->routine_count)
			samples->routine_of[i] = number;
	}
	fm_names_free(&names);
	return r;
}

int fm_samples_places(struct fm_samples *samples, const struct fm_chosen *chosen)
{
	const struct fm_recording *recording = samples->recording;
	size_t memories = recording->memories_count;

	samples->object_of = make_map(memories);
	samples->line_of = make_map(recording->codes_count);
	samples->routine_of = make_map(recording->codes_count);
	if (chosen->count < recording->samples_count) {
		samples->left = calloc(recording->samples_count, 1);
		if (!samples->left)
			return -ENOMEM;
	}
	if (!samples->object_of || !samples->line_of || !samples->routine_of)
		return -ENOMEM;
	for (size_t i = 0; i < chosen->count; i++) {
		const struct fm_recorded_sample *sample = fm_chosen_sample(chosen, i);

		samples->object_of[fm_samples_memory(samples, sample)] = chosen->object[i];
		samples->line_of[sample->code] = chosen->line[i];
		if (samples->left)
			samples->left[chosen->index[i]] = 1;
	}
	return find_routines(samples);
}
