/* Marked regions and threads. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "samples/parts.h"

enum { NESTED_MAX = 64 };

struct nesting {
	uint32_t *name;  /* number of each instance's name */
	int64_t *parent; /* the instance around each; -1 */
	size_t names;
};

static int by_thread_and_time(const void *first, const void *second, void *instances)
{
	const struct fm_recorded_instance *a = &(
	                                      (const struct fm_recorded_instance *)instances)[*(const uint32_t *)first],
	                                  *b = &((
	                                      const struct fm_recorded_instance *)instances)[*(const uint32_t *)second];

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->began != b->began)
		return a->began < b->began ? -1 : 1;
	return (a->ended < b->ended) - (a->ended > b->ended);
}

/* The innermost instance is known of each sample; which others are around it follows from their times. */
static int find_nesting(const struct fm_recording *recording, struct nesting *nesting)
{
	size_t count = recording->instances_count, depth = 0;
	uint32_t *order = malloc((count + 1) * sizeof(*order)), open[NESTED_MAX];
	struct fm_names names = {0};
	int r = 0;

	nesting->name = calloc(count + 1, sizeof(*nesting->name));
	nesting->parent = calloc(count + 1, sizeof(*nesting->parent));
	if (!order || !nesting->name || !nesting->parent)
		r = -ENOMEM;
	for (size_t i = 0; !r && i < count; i++) {
		order[i] = (uint32_t)i;
		r = fm_names_find(&names, recording->instances[i].name, &nesting->name[i]);
	}
	nesting->names = names.count;
	fm_names_free(&names);
	if (!r && count)
		qsort_r(order, count, sizeof(*order), by_thread_and_time, recording->instances);
	for (size_t i = 0; !r && i < count; i++) {
		const struct fm_recorded_instance *instance = &recording->instances[order[i]];

		while (depth && (recording->instances[open[depth - 1]].thread != instance->thread ||
		                 recording->instances[open[depth - 1]].ended < instance->ended))
			depth--;
		nesting->parent[order[i]] = depth ? (int64_t)open[depth - 1] : -1;
		if (depth < NESTED_MAX)
			open[depth++] = order[i];
	}
	free(order);
	return r;
}

static void add_around(const struct nesting *nesting, int64_t instance, const struct fm_chosen *chosen, size_t sample,
                       struct fm_served_sum *sums)
{
	uint32_t had[NESTED_MAX];
	unsigned count = 0;

	for (unsigned depth = 0; instance >= 0 && depth < NESTED_MAX; depth++) {
		uint32_t name = nesting->name[instance];
		unsigned k = 0;

		while (k < count && had[k] != name)
			k++;
		if (k == count) {
			had[count++] = name;
			fm_served_add(chosen->model, &sums[name], fm_chosen_sample(chosen, sample),
			              chosen->bins[sample], fm_chosen_weight(chosen, sample));
		}
		instance = nesting->parent[instance];
	}
}

int fm_samples_regions(struct fm_samples *samples, const struct fm_chosen *chosen)
{
	const struct fm_recording *recording = samples->recording;
	struct nesting nesting = {0};
	struct fm_served_sum *sums = NULL;
	uint32_t *order = NULL, *place = NULL;
	int r = find_nesting(recording, &nesting);

	if (r)
		goto out;
	sums = calloc(nesting.names + 1, sizeof(*sums));
	place = calloc(nesting.names + 1, sizeof(*place));
	samples->regions = calloc(nesting.names + 1, sizeof(*samples->regions));
	r = sums && place && samples->regions ? 0 : -ENOMEM;
	for (size_t i = 0; !r && i < chosen->count; i++)
		add_around(&nesting, fm_chosen_sample(chosen, i)->instance, chosen, i, sums);
	order = r ? NULL : fm_samples_order(sums, nesting.names);
	if (!order) {
		r = -ENOMEM;
		goto out;
	}
	for (size_t i = 0; i < nesting.names; i++) {
		place[order[i]] = (uint32_t)i;
		fm_served_compute(samples->model, &sums[order[i]], &chosen->whole, i < FM_DETAILED_MAX,
		                  &samples->regions[i].served);
	}
	samples->region_count = nesting.names;
	for (size_t i = 0; i < recording->instances_count; i++) {
		const struct fm_recorded_instance *instance = &recording->instances[i];
		struct fm_sampled_region *region = &samples->regions[place[nesting.name[i]]];

		snprintf(region->name, sizeof(region->name), "%s", instance->name);
		region->instances++;
		region->seconds += fmax(instance->ended - instance->began, 0);
	}
out:
	free(nesting.name);
	free(nesting.parent);
	free(sums);
	free(order);
	free(place);
	return r;
}

int fm_samples_threads(struct fm_samples *samples, const struct fm_chosen *chosen)
{
	size_t count = samples->recording->sampled_threads_count;
	struct fm_served_sum *sums = calloc(count + 1, sizeof(*sums));
	uint32_t *order = NULL;

	samples->threads = calloc(count + 1, sizeof(*samples->threads));
	if (!sums || !samples->threads)
		goto out;
	for (size_t i = 0; i < chosen->count; i++) {
		const struct fm_recorded_sample *sample = fm_chosen_sample(chosen, i);

		fm_served_add(chosen->model, &sums[sample->thread], sample, chosen->bins[i],
		              fm_chosen_weight(chosen, i));
	}
	order = fm_samples_order(sums, count);
	for (size_t i = 0; order && i < count && sums[order[i]].count; i++) {
		samples->threads[i].thread = order[i];
		fm_served_compute(samples->model, &sums[order[i]], &chosen->whole, i < FM_DETAILED_MAX,
		                  &samples->threads[i].served);
		samples->thread_count++;
	}
out:
	free(sums);
	free(order);
	return order ? 0 : -ENOMEM;
}
