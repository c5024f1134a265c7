/* Reuse times: references from a reference to the next touch of its line. Samples are often incomplete: a window or a
   watch ends. Such a reuse is censored: it comes later, at an unknown time. A line watched only from some time after
   its reference has a delayed entry: it was observed only because it lasted that long. Kaplan and Meier's estimate
   accounts for both.

   Samples belong to clusters, their windows: samples of one window are similar, so intervals come from resampling
   windows. */
#ifndef FATHOM_REUSE_TIMES_H
#define FATHOM_REUSE_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reuse/bins.h"

struct fm_reuse {
	double time;    /* references to the reuse, at least 1; if censored: to the end of observation. INFINITY if
	                   censored by the end of the program: never reused. */
	double entered; /* start of the observation, 0: at the reference */
	double weight; /* represented references; of a watched line: all survivors of the window, divided by the watched
	                  ones */
	double distance; /* other lines touched before `entered` */
	uint32_t cluster;
	bool censored;
	bool written; /* another thread wrote to the line in between */
};

/* The weights in one bin of times. */
struct fm_times_cell {
	uint32_t cluster;
	uint32_t bin;
	double entered, censored, reused, written; /* written ones are part of the reused */
	int32_t samples_in, samples_out;
};

struct fm_cells {
	struct fm_times_cell *cells;
	size_t count, capacity;
	size_t merged; /* entries after the last merge */
};

enum { FM_CLUSTERS_MAX = 2048 };

/* Reuse times by cluster. Zero-initialise. Clusters are numbered from 0 in order of time. Beyond FM_CLUSTERS_MAX, pairs
   of neighbours are joined, to limit memory; callers keep their own numbers. */
struct fm_times {
	struct fm_cells by_time;
	/* Inside windows distances are known as well. Bins have distance + 1; survivors are censored. */
	struct fm_cells by_distance;
	struct fm_reuse *samples; /* those of fm_times_add() */
	size_t sample_count, sample_room;
	uint32_t clusters;
	unsigned halved; /* number of halvings: a caller's number is divided by 2^halved */
};

/* Adds a sample. 0; -ENOMEM; -EINVAL for an invalid weight or time. */
int fm_times_add(struct fm_times *times, const struct fm_reuse *reuse);

/* Adds cells made elsewhere to one of the two lists. 0 or -ENOMEM. */
int fm_times_add_cells(struct fm_times *times, struct fm_cells *list, const struct fm_times_cell *cells, size_t count);
void fm_times_free(struct fm_times *times);

/* Joins pairs of neighbouring clusters until `halved` halvings are done. */
void fm_times_halve(struct fm_times *times, unsigned halved);

/* Merges to one cell per cluster and bin; sorts cells and samples by cluster. */
void fm_times_merge(struct fm_times *times);

/* Sums over all clusters. */
struct fm_times_sum {
	double entered[FM_TIME_BINS], censored[FM_TIME_BINS], reused[FM_TIME_BINS], written[FM_TIME_BINS];
	double samples[FM_TIME_BINS]; /* samples that enter the observation in the bin, less those that leave */
};

/* Adds a cell with a weight. */
void fm_times_sum_cell(struct fm_times_sum *sum, const struct fm_times_cell *cell, double taken);

/* Sums merged times. Each cluster counts `times_taken[cluster]` times; NULL: once. */
void fm_times_sum(const struct fm_times *times, const uint32_t *times_taken, struct fm_times_sum *ret_sum);

struct fm_survival {
	double at[FM_TIME_BINS + 1];      /* share of reuses with a time not below the bin's lowest */
	double written[FM_TIME_BINS + 1]; /* share of reuses below it, with a write by another thread */
	double samples[FM_TIME_BINS];     /* number of samples behind the bin */
	unsigned observed;                /* first bin without observations */
};

/* Kaplan and Meier's estimate by bins. Exact in bins of one number; in wide bins, entries and censored samples count
   half. */
void fm_survival_estimate(const struct fm_times_sum *sum, struct fm_survival *ret_survival);

#endif
