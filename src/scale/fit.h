/* Laws of scaling, fitted to speed-ups. */
#ifndef FATHOM_SCALE_FIT_H
#define FATHOM_SCALE_FIT_H

#include "base/figure.h"

/* A number of threads and its speed-up with a standard error. */
struct fm_scale_point {
	double threads, speedup, error;
};

/* Laws of scaling, over 1/speed-up, which is linear in their parameters:
     Amdahl                           s + (1 - s) / n
     universal scalability (Gunther)  1/n + contention (n - 1)/n + coherence (n - 1) */
struct fm_scale_fit {
	struct fm_figure serial_share;          /* s */
	struct fm_figure contention, coherence; /* of the second law */
};

/* Fits by least squares, with parameters of at least 0. Intervals come from speed-ups drawn with their errors. Needs
   two different numbers of threads for Amdahl, three for both. */
void fm_scale_fit(const struct fm_scale_point *points, unsigned count, struct fm_scale_fit *ret_fit);

#endif
