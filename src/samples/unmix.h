/* Shares of classes (levels) in a set of costs, of which single ones say little: the costs are a mixture of those that
   each class has alone, which a calibration has shown. The shares are the most likely ones; their intervals include
   the noise of the costs and of the calibration. Everything repeats: the generator has a fixed seed. */
#ifndef FATHOM_SAMPLES_UNMIX_H
#define FATHOM_SAMPLES_UNMIX_H

#include <stddef.h>
#include <stdint.h>

enum {
	FM_UNMIX_CLASSES = 12, /* given; what fits none of them is one more, "other" */
	FM_UNMIX_BINS = 32,
	FM_UNMIX_DRAWS = 200,
	FM_UNMIX_NONE = 255,
	FM_UNMIX_LEAST = 20, /* costs that a class must have in the calibration */
};

/* A cost of the calibration: ticks above the baseline. */
struct fm_unmix_cost {
	uint32_t class; /* from 0 */
	int32_t ticks;
	double weight; /* > 0; 1 where all costs of a class count the same */
};

struct fm_unmix {
	unsigned classes;
	/* Classes whose costs are nearly the same are one group: only their sum is told. Group `groups` is "other". */
	unsigned groups;
	unsigned group_of[FM_UNMIX_CLASSES]; /* FM_UNMIX_NONE: of a class that is not known, if they stay alone */
	double apart[FM_UNMIX_CLASSES];  /* how well a threshold tells a class from the known one before it, 0 … 1 */
	double counts[FM_UNMIX_CLASSES]; /* of the calibration, by group */
	double median[FM_UNMIX_CLASSES]; /* ticks, by class; not a number where there are too few costs */
	unsigned bins;
	int32_t upper[FM_UNMIX_BINS]; /* the highest cost of each bin; of the last INT32_MAX */
	double probability[FM_UNMIX_CLASSES + 1][FM_UNMIX_BINS];
	/* the same as other calibrations might have shown it: [FM_UNMIX_DRAWS] */
	double (*draws)[FM_UNMIX_CLASSES + 1][FM_UNMIX_BINS];
};

enum fm_unmix_groups {
	FM_UNMIX_JOIN, /* neighbours that are alike; a class without enough costs joins the next one that has */
	FM_UNMIX_ALONE /* each class with enough costs is a group: for sums over groups, whose shares may be vague */
};

/* -ENODATA when no class has enough costs, -ENOMEM. */
int fm_unmix_create(const struct fm_unmix_cost *costs, size_t count, unsigned classes, enum fm_unmix_groups how,
                    struct fm_unmix **ret_unmix);
void fm_unmix_free(struct fm_unmix *unmix);

/* Observed costs, each with a weight. Zero-initialise. */
struct fm_histogram {
	double weight[FM_UNMIX_BINS];
	double total, squares; /* sums of weights and of their squares */
	uint64_t count;
};

unsigned fm_unmix_bin(const struct fm_unmix *unmix, int32_t ticks);
void fm_histogram_add(struct fm_histogram *histogram, unsigned bin, double weight);
void fm_histogram_merge(struct fm_histogram *histogram, const struct fm_histogram *other);

/* How many costs of equal weight would say as much. */
double fm_effective_count(double total, double squares);

struct fm_mixture {
	/* shares by group, "other" last: the most likely ones and their 95 % intervals */
	double value[FM_UNMIX_CLASSES + 1], low[FM_UNMIX_CLASSES + 1], high[FM_UNMIX_CLASSES + 1];
	double draws[FM_UNMIX_DRAWS][FM_UNMIX_CLASSES + 1]; /* for intervals of what follows from the shares */
};

/* -ENODATA when nothing was observed. */
int fm_unmix_solve(const struct fm_unmix *unmix, const struct fm_histogram *histogram, struct fm_mixture *ret_mixture);

/* The most likely group of one cost in such a mixture, if it is more likely than all others together; else -1. */
int fm_unmix_likely(const struct fm_unmix *unmix, const struct fm_mixture *mixture, unsigned bin);

/* 95 % interval of draws; they are sorted. It includes `value`. */
void fm_unmix_interval(double *draws, unsigned count, double value, double *ret_low, double *ret_high);

#endif
