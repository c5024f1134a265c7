/* The levels that served sampled references: sums over samples, and from these the shares of levels, costs and
   translation misses. Simulated samples are counted, timed ones are un-mixed. */
#ifndef FATHOM_SAMPLES_SERVED_H
#define FATHOM_SAMPLES_SERVED_H

#include <stdbool.h>

#include "recording/recording.h"
#include "samples/unmix.h"

enum {
	FM_SERVED_LEVELS = FM_UNMIX_CLASSES / 2,
	FM_SERVED_CLASSES = FM_SERVED_LEVELS + 1,
	FM_SERVED_NAME = 64,
	FM_SERVED_NO_BIN = 255,
};

/* The model of levels. Shares are by class: a level, indistinguishable levels together ("L1 or L2"), and at the end
   "other" for costs beyond all levels, such as page faults and interrupts. */
struct fm_served_model {
	unsigned levels, classes;
	char level_names[FM_SERVED_LEVELS][FM_SERVED_NAME];
	char class_names[FM_SERVED_CLASSES][FM_SERVED_NAME];
	unsigned class_of[FM_SERVED_LEVELS]; /* of each level */
	char why[160];                       /* reason without levels; "": with levels */
	bool simulated;                      /* levels are exact … */
	bool every;                          /* … and every reference was sampled */
	char backend[24];
	struct fm_unmix *costs;
	/* classes: for each level, translation cached or missed; only sums over the levels are used */
	struct fm_unmix *translations;
	char translations_why[160];
	double cost_ns[FM_UNMIX_DRAWS + 1]
	              [FM_SERVED_CLASSES]; /* draws of each class's cost; last row: most likely cost */
	double cycles_per_ns;
	char cycles_unit[12];
	char cost_why[160];    /* reason without costs; "": with costs */
	char cost_origin[200]; /* in words */
};

int fm_served_create(const struct fm_recording *recording, struct fm_served_model **ret_model);
void fm_served_free(struct fm_served_model *model);

/* Sums over samples. Zero-initialise. */
struct fm_served_sum {
	uint64_t count;
	double weight, squares;
	double loads, stores; /* weights; a reference may count in both */
	struct fm_histogram costs, translations;
	double level[FM_SERVED_LEVELS], level_squares; /* simulated */
	double cost, cost_squares;                     /* simulated: weighted sums of cycles and of their squares */
	double local, remote, node_squares;
};

/* The bins of a sample, computed once. FM_SERVED_NO_BIN: none. */
struct fm_served_bins {
	uint8_t cost, translation;
};
struct fm_served_bins fm_served_bin(const struct fm_served_model *model, const struct fm_recorded_sample *sample);

void fm_served_add(const struct fm_served_model *model, struct fm_served_sum *sum,
                   const struct fm_recorded_sample *sample, struct fm_served_bins bins, double weight);
void fm_served_merge(struct fm_served_sum *sum, const struct fm_served_sum *other);

struct fm_served {
	uint64_t samples;
	double seconds;         /* their processor time */
	struct fm_figure share; /* of all references, by processor time */
	struct fm_figure loads, stores;
	struct fm_figure levels[FM_SERVED_CLASSES];
	struct fm_figure mean_cost_cycles, mean_cost_ns;
	struct fm_figure translation_misses;
	struct fm_figure local;            /* share of references to the node of the thread */
	double mixture[FM_SERVED_CLASSES]; /* shares of levels as plain numbers; negative: none */
};

/* A share of the whole, with Wilson's interval; exact if every reference was sampled. */
struct fm_figure fm_served_share(const struct fm_served_model *model, double part, double total, double squares);

/* Computes the figures of `sum`; `share` is relative to `whole`. Levels, costs and translation misses take time:
   without `detailed` they are unavailable, with the reason. */
void fm_served_compute(const struct fm_served_model *model, const struct fm_served_sum *sum,
                       const struct fm_served_sum *whole, bool detailed, struct fm_served *ret_served);

/* The probability of each class for a sample in a set with these shares: by its cost, if it was timed, otherwise the
   shares themselves. False: not known. */
bool fm_served_probabilities(const struct fm_served_model *model, const struct fm_served *prior,
                             const struct fm_recorded_sample *sample, double ret_probabilities[FM_SERVED_CLASSES]);

/* The most likely level of a sample, from 1, in a set with these shares. 0 if no level is more likely than all others
   together, or for a class of several levels. */
unsigned fm_served_level(const struct fm_served_model *model, const struct fm_served *prior,
                         const struct fm_recorded_sample *sample, struct fm_served_bins bins);

#endif
