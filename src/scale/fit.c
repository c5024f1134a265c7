#include "scale/fit.h"

#include <math.h>
#include <string.h>

#include "base/random.h"
#include "base/statistics.h"

enum { POINTS_MAX = 64, DRAWS = 200 };

static double within(double value, double low, double high)
{
	return fmin(fmax(value, low), high);
}

/* 1/S - 1/n = s (1 - 1/n) */
static double fit_amdahl(const struct fm_scale_point *points, const double *speedups, unsigned count)
{
	double products = 0, squares = 0;

	for (unsigned i = 0; i < count; i++) {
		double x = 1 - 1 / points[i].threads;

		products += x * (1 / speedups[i] - 1 / points[i].threads);
		squares += x * x;
	}
	return squares > 0 ? within(products / squares, 0, 1) : 0;
}

/* 1/S - 1/n = s (n - 1)/n + k (n - 1), with the other parameter alone where one would be negative. */
static void fit_both(const struct fm_scale_point *points, const double *speedups, unsigned count,
                     double *ret_contention, double *ret_coherence)
{
	double aa = 0, ab = 0, bb = 0, ay = 0, by = 0, determinant;

	for (unsigned i = 0; i < count; i++) {
		double a = 1 - 1 / points[i].threads, b = points[i].threads - 1;
		double y = 1 / speedups[i] - 1 / points[i].threads;

		aa += a * a;
		ab += a * b;
		bb += b * b;
		ay += a * y;
		by += b * y;
	}
	determinant = aa * bb - ab * ab;
	*ret_contention = determinant > 0 ? (ay * bb - by * ab) / determinant : 0;
	*ret_coherence = determinant > 0 ? (by * aa - ay * ab) / determinant : 0;
	if (*ret_contention < 0) {
		*ret_contention = 0;
		*ret_coherence = bb > 0 ? fmax(by / bb, 0) : 0;
	} else if (*ret_coherence < 0) {
		*ret_coherence = 0;
		*ret_contention = aa > 0 ? fmax(ay / aa, 0) : 0;
	}
}

static unsigned different_above_one(const struct fm_scale_point *points, unsigned count)
{
	unsigned different = 0;

	for (unsigned i = 0; i < count; i++)
		different += points[i].threads > 1;
	return different;
}

static struct fm_figure figure_of(double value, double *draws, const char *backend, unsigned trials)
{
	double low, high;

	fm_statistics_sort(draws, DRAWS);
	low = fm_statistics_quantile_sorted(draws, DRAWS, 0.025);
	high = fm_statistics_quantile_sorted(draws, DRAWS, 0.975);
	return fm_figure_make(value, fmin(low, value), fmax(high, value), "", FM_ORIGIN_modelled, backend, trials);
}

void fm_scale_fit(const struct fm_scale_point *points, unsigned count, struct fm_scale_fit *ret_fit)
{
	double speedups[POINTS_MAX], amdahl[DRAWS], contention[DRAWS], coherence[DRAWS], values[2];
	unsigned usable;
	struct fm_random random;

	count = count > POINTS_MAX ? POINTS_MAX : count;
	usable = different_above_one(points, count);
	ret_fit->serial_share = fm_figure_unavailable("runs with one thread and with more are needed");
	ret_fit->contention = fm_figure_unavailable("two numbers of threads above one are needed");
	ret_fit->coherence = ret_fit->contention;
	if (!usable)
		return;
	fm_random_seed(&random, 1);
	for (unsigned i = 0; i < DRAWS; i++) {
		for (unsigned k = 0; k < count; k++)
			speedups[k] = fmax(points[k].speedup + points[k].error * fm_random_normal(&random), 0.01);
		amdahl[i] = fit_amdahl(points, speedups, count);
		fit_both(points, speedups, count, &contention[i], &coherence[i]);
	}
	for (unsigned k = 0; k < count; k++)
		speedups[k] = fmax(points[k].speedup, 0.01);
	ret_fit->serial_share = figure_of(fit_amdahl(points, speedups, count), amdahl, "amdahl", usable);
	if (usable < 2)
		return;
	fit_both(points, speedups, count, &values[0], &values[1]);
	ret_fit->contention = figure_of(values[0], contention, "scalability law", usable);
	ret_fit->coherence = figure_of(values[1], coherence, "scalability law", usable);
}
