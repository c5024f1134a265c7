/* Shares of classes (levels) in a set of costs, each of which alone is weak evidence. The costs are a mixture of those
   of the classes, known from a calibration. The result is the most likely shares; their intervals include the noise of
   the costs and of the calibration. Results repeat: the generator has a fixed seed. */
#ifndef FATHOM_SAMPLES_UNMIX_H
#define FATHOM_SAMPLES_UNMIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	FM_UNMIX_CLASSES = 12, /* without "other", for costs outside of all classes */
	FM_UNMIX_BINS = 32,
	FM_UNMIX_DRAWS = 200,
	FM_UNMIX_NONE = 255,
};

/* A cost of the calibration: ticks above the baseline. */
struct fm_unmix_cost {
	uint32_t class; /* from 0 */
	int32_t ticks;
	double weight; /* > 0; 1 if all costs of a class have equal weight */
};

struct fm_unmix {
	unsigned classes;
	/* Classes with nearly equal costs form a group: only their sum is known. Group `groups` is "other". */
	unsigned groups;
	unsigned group_of[FM_UNMIX_CLASSES]; /* FM_UNMIX_NONE: an unknown class, with FM_UNMIX_ALONE */
	double apart[FM_UNMIX_CLASSES];      /* separation from the known class before, 0 … 1 */
	double counts[FM_UNMIX_CLASSES];     /* of the calibration, by group */
	double median[FM_UNMIX_CLASSES];     /* ticks, by class; not a number with too few costs */
	unsigned bins;
	int32_t upper[FM_UNMIX_BINS]; /* highest cost of each bin; of the last bin INT32_MAX */
	double probability[FM_UNMIX_CLASSES + 1][FM_UNMIX_BINS];
	/* the same with resampled calibrations: [FM_UNMIX_DRAWS] */
	double (*draws)[FM_UNMIX_CLASSES + 1][FM_UNMIX_BINS];
};

enum fm_unmix_groups {
	FM_UNMIX_JOIN, /* similar neighbours form a group; a class with too few costs joins the next one with enough */
	FM_UNMIX_ALONE /* each class with enough costs is a group: for sums over groups, whose shares may be imprecise
	                */
};

/* Prepares the un-mixing. 0; -ENODATA if no class has enough costs; -ENOMEM. */
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

/* The number of equally weighted costs with the same information. */
double fm_effective_count(double total, double squares);

struct fm_mixture {
	/* shares by group, "other" last: most likely values and 95 % intervals */
	double value[FM_UNMIX_CLASSES + 1], low[FM_UNMIX_CLASSES + 1], high[FM_UNMIX_CLASSES + 1];
	double draws[FM_UNMIX_DRAWS][FM_UNMIX_CLASSES + 1]; /* for intervals of figures derived from the shares */
};

/* Estimates the mixture. 0; -ENODATA without observed costs. */
int fm_unmix_solve(const struct fm_unmix *unmix, const struct fm_histogram *histogram, struct fm_mixture *ret_mixture);

/* The probability of each class for a sample in this bin, in a set with these shares. False: impossible there. */
bool fm_unmix_posterior(const struct fm_unmix *unmix, const double *shares, unsigned bin, double *ret_probabilities);

/* The most likely group of a cost in this mixture, if more likely than all others together; else -1. */
int fm_unmix_likely(const struct fm_unmix *unmix, const struct fm_mixture *mixture, unsigned bin);

/* 95 % interval of draws, extended to include `value`. Sorts the draws. */
void fm_unmix_interval(double *draws, unsigned count, double value, double *ret_low, double *ret_high);

#endif
