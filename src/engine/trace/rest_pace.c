#include "engine/trace/rest_pace.h"

#include <stdlib.h>

#include "engine/trace/tuning.h"

enum {
	FINE_SHIFT = 7,    /* places of 128 bytes, about a loop … */
	COARSE_SHIFT = 12, /* … and pages */
	PLACES = 1 << 14,
};

struct place {
	uint64_t key; /* + 1; 0: empty */
	double instructions, ns;
};

/* The place of a key, made if necessary; NULL: the table is full. */
static struct place *find(struct place *places, uint64_t key)
{
	uint64_t at = (key * 0x9e3779b97f4a7c15u) >> 50;

	for (unsigned i = 0; i < PLACES; i++, at = (at + 1) % PLACES) {
		if (!places[at].key)
			places[at].key = key + 1;
		if (places[at].key == key + 1)
			return &places[at];
	}
	return NULL;
}

static void add(struct place *place, const struct fm_trace_position *position)
{
	if (!place)
		return;
	place->instructions += position->instructions;
	place->ns += position->ns;
}

/* The pace of a place: its own, as far as it was seen, else that of its surroundings. */
static double pace_of(const struct place *place, double around)
{
	double prior = REST_PACE_PRIOR_NS;

	return place ? (place->instructions + around * prior) / (place->ns + prior) : around;
}

static uint32_t count_of(const struct fm_trace_positions *positions)
{
	uint32_t count = __atomic_load_n(&positions->count, __ATOMIC_ACQUIRE);

	return count < FM_TRACE_POSITIONS ? count : FM_TRACE_POSITIONS;
}

static void learn(const struct fm_trace_file *trace, struct place *fine, struct place *coarse, struct place *all)
{
	for (unsigned i = 0; i < FM_TRACE_THREADS; i++)
		for (uint32_t k = 0, count = count_of(&trace->positions[i]); k < count; k++) {
			const struct fm_trace_position *position = &trace->positions[i].list[k];

			if (!position->plain || !position->instructions || !position->ns ||
			    position->instructions > REST_PACE_MOST * position->ns)
				continue;
			add(find(fine, position->pc >> FINE_SHIFT), position);
			add(find(coarse, position->pc >> COARSE_SHIFT), position);
			add(all, position);
		}
}

double fm_rest_pace(const struct fm_trace_file *trace)
{
	struct place *fine = calloc(2 * PLACES, sizeof(*fine)), all = {0};
	double instructions = 0, ns = 0, mean;

	if (!fine)
		return 0;
	learn(trace, fine, fine + PLACES, &all);
	mean = all.ns > 0 ? all.instructions / all.ns : 0;
	for (unsigned i = 0; i < FM_TRACE_THREADS && mean > 0; i++)
		for (uint32_t k = 0, count = count_of(&trace->positions[i]); k < count; k++) {
			const struct fm_trace_position *position = &trace->positions[i].list[k];

			if (position->plain)
				continue;
			ns += position->ns;
			instructions +=
			    position->ns * pace_of(find(fine, position->pc >> FINE_SHIFT),
			                           pace_of(find(fine + PLACES, position->pc >> COARSE_SHIFT), mean));
		}
	free(fine);
	return ns > 0 ? instructions / ns : 0;
}
