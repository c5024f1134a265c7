/* Shared by the files of the analysis. */
#ifndef FATHOM_SAMPLES_PARTS_H
#define FATHOM_SAMPLES_PARTS_H

#include "samples/names.h"
#include "samples/samples.h"

enum {
	FM_DETAILED_MAX = 128, /* rows of a table with levels, which take time to compute */
	FM_STACK_MAX = 256,    /* followed frames: a damaged recording may have rings of them */
};

/* Selected samples, in the recording's order. */
struct fm_chosen {
	const struct fm_recording *recording;
	const struct fm_served_model *model;
	size_t count;
	uint32_t *index;             /* index of each sample */
	struct fm_served_bins *bins; /* of the selected samples */
	bool weighted;               /* samples have weights; otherwise equal ones */
	uint32_t *object;            /* per sample; filled by fm_samples_objects() */
	uint32_t *line;              /* per sample; filled by fm_samples_code() */
	struct fm_served_sum whole;
};

static inline const struct fm_recorded_sample *fm_chosen_sample(const struct fm_chosen *chosen, size_t i)
{
	return &chosen->recording->samples[chosen->index[i]];
}

static inline double fm_chosen_weight_of(const struct fm_chosen *chosen, const struct fm_recorded_sample *sample)
{
	return !chosen->weighted ? 1 : sample->weight > 0 ? (double)sample->weight : 0;
}

static inline double fm_chosen_weight(const struct fm_chosen *chosen, size_t i)
{
	return fm_chosen_weight_of(chosen, fm_chosen_sample(chosen, i));
}

/* Selects samples. Free `ret_chosen` with fm_chosen_free() in any case. */
int fm_chosen_take(const struct fm_recording *recording, const struct fm_served_model *model,
                   const struct fm_samples_filter *filter, struct fm_samples *samples, struct fm_chosen *ret_chosen,
                   struct fm_error *error);
void fm_chosen_free(struct fm_chosen *chosen);

/* The object of each memory of the recording: those of one call site form one object. */
struct fm_grouping {
	uint32_t *object; /* per memory; the last entry is for samples without known memory */
	size_t count;
};
int fm_grouping_make(const struct fm_recording *recording, struct fm_grouping *ret_grouping);
void fm_grouping_free(struct fm_grouping *grouping);

/* The name of an object in filters and reports. */
void fm_samples_object_name(const struct fm_recorded_memory *memory, char *name, size_t size);

/* pools.c */
int fm_samples_pools(struct fm_samples *samples, const struct fm_chosen *chosen, const struct fm_grouping *grouping);
double fm_samples_pool_doubt(const struct fm_samples *samples, const struct fm_recorded_sample *sample);

int fm_samples_objects(struct fm_samples *samples, struct fm_chosen *chosen);
int fm_samples_sharing(struct fm_samples *samples, const struct fm_chosen *chosen);
int fm_samples_patterns(struct fm_samples *samples, const struct fm_chosen *chosen);
int fm_samples_code(struct fm_samples *samples, struct fm_chosen *chosen);
int fm_samples_regions(struct fm_samples *samples, const struct fm_chosen *chosen);
int fm_samples_threads(struct fm_samples *samples, const struct fm_chosen *chosen);
int fm_samples_missed(struct fm_samples *samples);
int fm_samples_warn(struct fm_samples *samples);
int fm_samples_places(struct fm_samples *samples, const struct fm_chosen *chosen);

/* Indexes 0 … count-1, largest weight first. NULL: out of memory. */
uint32_t *fm_samples_order(const struct fm_served_sum *sums, size_t count);

#endif
