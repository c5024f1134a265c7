#include "reuse/times.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static int compare_cells(const void *first, const void *second)
{
	const struct fm_times_cell *a = first, *b = second;

	if (a->cluster != b->cluster)
		return a->cluster < b->cluster ? -1 : 1;
	return a->bin < b->bin ? -1 : a->bin > b->bin;
}

static void merge_cells(struct fm_cells *list)
{
	size_t kept = 0;

	if (!list->count || list->merged == list->count)
		return;
	qsort(list->cells, list->count, sizeof(*list->cells), compare_cells);
	for (size_t i = 1; i < list->count; i++) {
		struct fm_times_cell *last = &list->cells[kept], *cell = &list->cells[i];

		if (compare_cells(last, cell)) {
			list->cells[++kept] = *cell;
			continue;
		}
		last->entered += cell->entered;
		last->censored += cell->censored;
		last->reused += cell->reused;
		last->written += cell->written;
		last->samples_in += cell->samples_in;
		last->samples_out += cell->samples_out;
	}
	list->count = list->merged = kept + 1;
}

static int make_room(struct fm_cells *list, size_t count)
{
	struct fm_times_cell *cells;
	size_t capacity;

	if (list->capacity - list->count >= count)
		return 0;
	capacity = 2 * list->count + count + 1024;
	cells = realloc(list->cells, capacity * sizeof(*cells));
	if (!cells)
		return -ENOMEM;
	list->cells = cells;
	list->capacity = capacity;
	return 0;
}

void fm_times_halve(struct fm_times *times, unsigned halved)
{
	unsigned shift;

	if (halved <= times->halved)
		return;
	shift = halved - times->halved;
	for (size_t i = 0; i < times->by_time.count; i++)
		times->by_time.cells[i].cluster >>= shift;
	for (size_t i = 0; i < times->by_distance.count; i++)
		times->by_distance.cells[i].cluster >>= shift;
	for (size_t i = 0; i < times->sample_count; i++)
		times->samples[i].cluster >>= shift;
	times->clusters = (times->clusters + (1u << shift) - 1) >> shift;
	times->halved = halved;
	times->by_time.merged = times->by_distance.merged = 0;
	merge_cells(&times->by_time);
	merge_cells(&times->by_distance);
}

/* The number here of a caller's cluster. */
static uint32_t count_cluster(struct fm_times *times, uint32_t cluster)
{
	while (cluster >> times->halved >= FM_CLUSTERS_MAX)
		fm_times_halve(times, times->halved + 1);
	cluster >>= times->halved;
	if (cluster >= times->clusters)
		times->clusters = cluster + 1;
	return cluster;
}

int fm_times_add_cells(struct fm_times *times, struct fm_cells *list, const struct fm_times_cell *cells, size_t count)
{
	int status;

	/* first, since it makes room */
	for (size_t i = 0; i < count; i++)
		count_cluster(times, cells[i].cluster);
	status = make_room(list, count);
	if (status)
		return status;
	for (size_t i = 0; i < count; i++) {
		list->cells[list->count] = cells[i];
		list->cells[list->count++].cluster >>= times->halved;
		list->merged = 0;
	}
	return 0;
}

static int add_sample(struct fm_times *times, const struct fm_reuse *reuse)
{
	if (!fm_array_grow(times->samples, times->sample_count, times->sample_room))
		return -ENOMEM;
	times->samples[times->sample_count] = *reuse;
	times->samples[times->sample_count].cluster = count_cluster(times, reuse->cluster);
	times->sample_count++;
	return 0;
}

int fm_times_add(struct fm_times *times, const struct fm_reuse *reuse)
{
	unsigned end = fm_time_bin(reuse->time), begin = fm_time_bin(reuse->entered);
	struct fm_times_cell cells[2] = {{0}};

	if (!(reuse->weight >= 0) || !isfinite(reuse->weight) || !(reuse->time >= 0) || !(reuse->entered >= 0) ||
	    reuse->entered > reuse->time)
		return -EINVAL;
	if (add_sample(times, reuse))
		return -ENOMEM;
	if (reuse->censored && begin == end)
		return 0; /* observed for no time that counts */
	if (!end)
		end = 1;
	/* a reused reference was observed: entering the same bin would count for half */
	if (begin >= end)
		begin = end - 1;
	cells[0] =
	    (struct fm_times_cell){.cluster = reuse->cluster, .bin = begin, .entered = reuse->weight, .samples_in = 1};
	cells[1] = (struct fm_times_cell){.cluster = reuse->cluster, .bin = end, .samples_out = 1};
	if (reuse->censored)
		cells[1].censored = reuse->weight;
	else
		cells[1].reused = reuse->weight;
	if (!reuse->censored && reuse->written)
		cells[1].written = reuse->weight;
	return fm_times_add_cells(times, &times->by_time, cells, 2);
}

void fm_times_free(struct fm_times *times)
{
	free(times->by_time.cells);
	free(times->by_distance.cells);
	free(times->samples);
	memset(times, 0, sizeof(*times));
}

static int compare_samples(const void *first, const void *second)
{
	const struct fm_reuse *a = first, *b = second;

	if (a->cluster != b->cluster)
		return a->cluster < b->cluster ? -1 : 1;
	return a->time < b->time ? -1 : a->time > b->time;
}

void fm_times_merge(struct fm_times *times)
{
	merge_cells(&times->by_time);
	merge_cells(&times->by_distance);
	if (times->sample_count)
		qsort(times->samples, times->sample_count, sizeof(*times->samples), compare_samples);
}

void fm_times_sum_cell(struct fm_times_sum *sum, const struct fm_times_cell *cell, double taken)
{
	sum->entered[cell->bin] += taken * cell->entered;
	sum->censored[cell->bin] += taken * cell->censored;
	sum->reused[cell->bin] += taken * cell->reused;
	sum->written[cell->bin] += taken * cell->written;
	sum->samples[cell->bin] += taken * (cell->samples_in - cell->samples_out);
}

void fm_times_sum(const struct fm_times *times, const uint32_t *times_taken, struct fm_times_sum *ret_sum)
{
	memset(ret_sum, 0, sizeof(*ret_sum));
	for (size_t i = 0; i < times->by_time.count; i++) {
		const struct fm_times_cell *cell = &times->by_time.cells[i];

		fm_times_sum_cell(ret_sum, cell, times_taken ? times_taken[cell->cluster] : 1);
	}
}

void fm_survival_estimate(const struct fm_times_sum *sum, struct fm_survival *ret_survival)
{
	double at_risk = 0, most = 0, survival = 1, written = 0, samples = 0;

	ret_survival->observed = 0;
	for (unsigned bin = 0; bin < FM_TIME_BINS; bin++) {
		bool wide = bin >= 2u << FM_TIME_BITS;
		double risk = at_risk;

		ret_survival->at[bin] = survival;
		ret_survival->written[bin] = written;
		ret_survival->samples[bin] = samples;
		if (wide)
			risk += (sum->entered[bin] - sum->censored[bin]) / 2;
		at_risk += sum->entered[bin];
		most = fmax(most, at_risk);
		/* sums and differences of doubles leave crumbs */
		if (risk > 1e-9 * most) {
			double reused = fmin(sum->reused[bin] / risk, 1);

			/* the last bin holds what is beyond all times: nothing happens there */
			if (bin < FM_TIME_BINS - 1 && sum->reused[bin] > 0) {
				written += survival * reused * sum->written[bin] / sum->reused[bin];
				survival *= 1 - reused;
			}
			ret_survival->observed = bin + 1;
		}
		at_risk -= sum->censored[bin] + sum->reused[bin];
		samples += sum->samples[bin];
	}
	ret_survival->at[FM_TIME_BINS] = survival;
	ret_survival->written[FM_TIME_BINS] = written;
}
