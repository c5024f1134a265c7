/* Robust statistics for costs (times) on machines with disturbance.
   Disturbance only adds time. The estimate is therefore the location of the undisturbed distribution, not the mean: the
   centre of the lowest mode, with a 95 % interval (docs/decisions/location.md). */
#ifndef FATHOM_BASE_STATISTICS_H
#define FATHOM_BASE_STATISTICS_H

#include <stddef.h>

/* A growing list of numbers. Zero-initialise. */
struct fm_sample {
	double *values;
	unsigned count;
	unsigned capacity;
};

/* 0 or -ENOMEM. */
int fm_sample_add(struct fm_sample *sample, double value);
void fm_sample_free(struct fm_sample *sample);

struct fm_location {
	double value;
	double low;
	double high;
	unsigned kept; /* trials in the lowest mode, the base of the estimate */
};

/* The location of undisturbed costs. -ENODATA below three values or with a non-finite value. */
int fm_statistics_location(const double *values, unsigned count, struct fm_location *ret_location);

/* Median with its order-statistic interval: at least 95 % for any distribution from six values on; below six, the whole
   range, which covers less. For paired ratios, which have disturbances on both sides. */
int fm_statistics_median(const double *values, unsigned count, struct fm_location *ret_location);

/* Quantile 0 … 1 of ascending values, interpolated. */
double fm_statistics_quantile_sorted(const double *sorted, unsigned count, double quantile);

/* Two-sided 95 % quantile of Student's t. */
double fm_statistics_student(unsigned degrees_of_freedom);

void fm_statistics_sort(double *values, unsigned count);

#endif
