/* Reuse times: how many references pass from a reference until its line is touched again. A sample of them is rarely
   complete: a window ends, a watched line is given up. Such a reuse is censored: it is only known to come later. A line
   that is watched from some time after its reference on is only known to have come that far: its observation is
   delayed. Kaplan and Meier's estimate takes both into account.

   Samples belong to clusters, the windows they were taken in: samples of one window resemble each other, so intervals
   come from resampling windows. */
#ifndef FATHOM_REUSE_TIMES_H
#define FATHOM_REUSE_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reuse/bins.h"

struct fm_reuse {
	double time; /* references until the reuse, at least 1; if censored: until nobody looked any more. INFINITY if
	                censored by the end of the program: the line is never used again. */
	double entered;  /* observed only from this time on, 0 if from the reference on */
	double weight;   /* references it stands for; of a line that is watched from a window's end on: all survivors of
	                    the window, divided by how many are watched */
	double distance; /* other lines touched until it entered */
	uint32_t cluster;
	bool censored;
	bool written; /* another thread wrote to the line in between */
};

/* What happened in one bin of times. */
struct fm_times_cell {
	uint32_t cluster;
	uint32_t bin;
	double entered, censored, reused, written; /* weights; written ones are among the reused */
	int32_t samples_in, samples_out;
};

struct fm_cells {
	struct fm_times_cell *cells;
	size_t count, capacity;
	size_t merged; /* when it was merged last, this many were left */
};

enum { FM_CLUSTERS_MAX = 2048 };

/* Zero-initialise. Clusters are numbered from 0 in the order of time. When there are more than FM_CLUSTERS_MAX, every
   two neighbours become one, so that memory stays bounded; callers go on with their own numbers. */
struct fm_times {
	struct fm_cells by_time;
	/* Inside windows distances are known as well. Bins hold distance + 1; the censored are the survivors. */
	struct fm_cells by_distance;
	struct fm_reuse *samples; /* those of fm_times_add() */
	size_t sample_count, sample_capacity;
	uint32_t clusters;
	unsigned halved; /* how often: a caller's number is divided by two to this power */
};

/* -ENOMEM; -EINVAL for a weight or a time that is none. */
int fm_times_add(struct fm_times *times, const struct fm_reuse *reuse);

/* Cells that were put together elsewhere, for one of the two lists. */
int fm_times_add_cells(struct fm_times *times, struct fm_cells *list, const struct fm_times_cell *cells, size_t count);
void fm_times_free(struct fm_times *times);

/* Make neighbouring clusters one until that has been done so often. */
void fm_times_halve(struct fm_times *times, unsigned halved);

/* One cell per cluster and bin; cells and samples sorted by cluster. */
void fm_times_merge(struct fm_times *times);

/* All clusters together. */
struct fm_times_sum {
	double entered[FM_TIME_BINS], censored[FM_TIME_BINS], reused[FM_TIME_BINS], written[FM_TIME_BINS];
	double samples[FM_TIME_BINS]; /* how many more are observed after the bin than before it */
};

/* Add a cell so many times. */
void fm_times_sum_cell(struct fm_times_sum *sum, const struct fm_times_cell *cell, double taken);

/* Merged times; each cluster counts `times_taken[cluster]` times, or once where that is NULL. */
void fm_times_sum(const struct fm_times *times, const uint32_t *times_taken, struct fm_times_sum *ret_sum);

struct fm_survival {
	double at[FM_TIME_BINS + 1];      /* the share of reuses whose time is not below the bin's first */
	double written[FM_TIME_BINS + 1]; /* the share whose time is below it, with a write of another thread */
	double samples[FM_TIME_BINS];     /* how many samples the bin rests on */
	unsigned observed;                /* nothing is known from this bin on */
};

/* Kaplan and Meier, bin by bin: exact where a bin is one number; in wide bins those that enter or leave count half. */
void fm_survival_estimate(const struct fm_times_sum *sum, struct fm_survival *ret_survival);

#endif
