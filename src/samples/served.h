/* Where sampled references were served from: sums over samples, and the shares of levels, costs and misses of
   translations that follow from them. What the sampler simulated is counted, what it timed is un-mixed. */
#ifndef FATHOM_SAMPLES_SERVED_H
#define FATHOM_SAMPLES_SERVED_H

#include <stdbool.h>

#include "recording/recording.h"
#include "samples/unmix.h"

enum {
	FM_SERVED_LEVELS = FM_UNMIX_CLASSES / 2,
	FM_SERVED_CLASSES = FM_SERVED_LEVELS + 1,
	FM_SERVED_NAME = 64,
	FM_SERVED_LEAST = 5, /* samples that levels are told from */
	FM_SERVED_NO_BIN = 255,
};

/* Shares are told by class: a level, several that cannot be told apart ("L1 or L2"), and "other" at the end: costs
   beyond all levels, such as page faults and interrupts. */
struct fm_served_model {
	unsigned levels, classes;
	char level_names[FM_SERVED_LEVELS][FM_SERVED_NAME];
	char class_names[FM_SERVED_CLASSES][FM_SERVED_NAME];
	unsigned class_of[FM_SERVED_LEVELS]; /* of each level */
	char why[160];                       /* why there are no levels; "": there are */
	bool simulated;                      /* levels are exact … */
	bool every;                          /* … and every reference was sampled */
	char backend[24];
	struct fm_unmix *costs;
	/* classes: of each level known, missed; which level the neighbouring line is in is not asked */
	struct fm_unmix *translations;
	char translations_why[160];
	double cost_ns[FM_UNMIX_DRAWS + 1]
	              [FM_SERVED_CLASSES]; /* of each class, as it might be; the last row: most likely */
	double cycles_per_ns;
	char cycles_unit[12];
	char cost_why[160];    /* why there are no costs; "": there are */
	char cost_origin[200]; /* in words */
};

int fm_served_create(const struct fm_recording *recording, struct fm_served_model **ret_model);
void fm_served_free(struct fm_served_model *model);

/* Sums over samples. Zero-initialise. */
struct fm_served_sum {
	uint64_t count;
	double weight, squares;
	double loads, stores; /* weights; a reference may be both */
	struct fm_histogram costs, translations;
	double level[FM_SERVED_LEVELS], level_squares; /* simulated */
	double cost, cost_squares;                     /* simulated: weighted sums of cycles, and of their squares */
	double local, remote, node_squares;
};

/* The bins of a sample, found once: FM_SERVED_NO_BIN where it has none. */
struct fm_served_bins {
	uint8_t cost, translation;
};
struct fm_served_bins fm_served_bin(const struct fm_served_model *model, const struct fm_recorded_sample *sample);

void fm_served_add(const struct fm_served_model *model, struct fm_served_sum *sum,
                   const struct fm_recorded_sample *sample, struct fm_served_bins bins, double weight);
void fm_served_merge(struct fm_served_sum *sum, const struct fm_served_sum *other);

struct fm_served {
	uint64_t samples;
	double seconds;         /* of processor time that they stand for */
	struct fm_figure share; /* of the references of the whole, by processor time */
	struct fm_figure loads, stores;
	struct fm_figure levels[FM_SERVED_CLASSES];
	struct fm_figure mean_cost_cycles, mean_cost_ns;
	struct fm_figure translation_misses;
	struct fm_figure local;            /* share of references to the node that the thread ran on */
	double mixture[FM_SERVED_CLASSES]; /* levels as plain numbers; negative where there are none */
};

/* A share of the whole, with Wilson's interval; exact where every reference was sampled. */
struct fm_figure fm_served_share(const struct fm_served_model *model, double part, double total, double squares);

/* `whole` is what `share` refers to. Without `detailed`, which takes time, there are no levels, costs and misses of
   translations, and they say why. */
void fm_served_tell(const struct fm_served_model *model, const struct fm_served_sum *sum,
                    const struct fm_served_sum *whole, bool detailed, struct fm_served *ret_served);

/* The most likely level of a sample, from 1, of which all have these shares; 0 when none is more likely than all
   others together, or when it stands in a class with others. */
unsigned fm_served_level(const struct fm_served_model *model, const struct fm_served *prior,
                         const struct fm_recorded_sample *sample, struct fm_served_bins bins);

#endif
