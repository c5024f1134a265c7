/* Miss-ratio curves: the share of references that miss a fully associative LRU cache, for every size.

   From exact distances, or from a sample of reuse times (StatStack, Eklöv and Hagersten 2010). Consider the references
   between a reference and its reuse: each whose own reuse comes after the end is the last touch of a different line. So
   a reuse after time t has the expected distance S(1) + … + S(t-1), where S is the share of longer reuse times. A cache
   of C lines misses reuses from the time on at which this sum reaches C.

   The sum is right if all references behave alike, but long phases differ. Consecutive similar windows form a phase
   with its own curve; the program's curve is their weighted mean. */
#ifndef FATHOM_REUSE_CURVE_H
#define FATHOM_REUSE_CURVE_H

#include "base/figure.h"
#include "base/random.h"
#include "reuse/stack.h"
#include "reuse/times.h"

enum { FM_MISS_PER_OCTAVE = 16, FM_MISS_POINTS = 14 * FM_MISS_PER_OCTAVE + 1, FM_MISS_PHASES_MAX = 8 };
#define FM_MISS_SMALLEST 16384.0 /* bytes; the largest is 256 MiB */

struct fm_miss_point {
	double value, low, high; /* the interval has the true share in 95 % of cases */
};

struct fm_miss_curve {
	struct fm_miss_point points[FM_MISS_POINTS]; /* by size, ascending, FM_MISS_PER_OCTAVE per octave */
	enum fm_origin origin;
	unsigned clusters;    /* number of windows */
	double samples;       /* number of reuses, complete or censored */
	unsigned phases;      /* number of phases */
	double largest_bytes; /* above this size no reuse was observed: the lower end is 0 there */
	double clock_error;   /* relative standard error of the clock, as given */
	bool bootstrapped;    /* has intervals */
};

struct fm_miss_options {
	double line_bytes;        /* 0: 64 */
	double clock_error;       /* relative standard error of references per unit of time: shifts sizes */
	unsigned resamples;       /* 0: 400 */
	struct fm_random *random; /* NULL: no intervals */
};

/* The size of a point in bytes. */
double fm_miss_bytes(unsigned point);

/* Estimates curves from merged times. `ret_shared`: any cache. `ret_private`: a cache private to the thread, which also
   misses lines written by another thread meanwhile. Either may be NULL. 0; -ENODATA without samples; -ENOMEM. */
int fm_miss_estimate(struct fm_times *times, const struct fm_miss_options *options, struct fm_miss_curve *ret_shared,
                     struct fm_miss_curve *ret_private);

/* The same for a part of the program, a region or an object, among all other references. `part` has distances and
   samples of its references, with the clusters and weights of `all`. -EINVAL for clusters unknown to `all`. */
int fm_miss_estimate_part(struct fm_times *all, struct fm_times *part, const struct fm_miss_options *options,
                          struct fm_miss_curve *ret_shared, struct fm_miss_curve *ret_private);

/* The curve from the distances of every reference, without interval. -ENODATA without references. */
int fm_miss_exact(const struct fm_distances *distances, double line_bytes, struct fm_miss_curve *ret_curve);

/* The curve from the distances of several windows, each with warm stacks; its interval comes from their spread. */
int fm_miss_windows(const struct fm_distances *windows, unsigned count, double line_bytes, struct fm_random *random,
                    struct fm_miss_curve *ret_curve);

/* The curve at any size: interpolated between points over the logarithm of the size. */
struct fm_miss_point fm_miss_at(const struct fm_miss_curve *curve, double bytes);

/* A working set: sizes over which the curve falls by 5 points or more per octave. */
struct fm_miss_knee {
	double from_bytes, to_bytes;
	double above, below; /* miss ratios at both ends */
};

/* Finds working sets, ascending. Returns their number, at most `room`. */
unsigned fm_miss_knees(const struct fm_miss_curve *curve, struct fm_miss_knee *ret_knees, unsigned room);

/* The shrink of the program's data after which the next working set fits a cache of this size. It is the least share s
   with the curve at bytes / (1 - s) within 1 point of the next plateau, after at least nine tenths of the descent. Data
   shrunk to 1 - s behave as all data in a cache 1 / (1 - s) as large. */
struct fm_miss_fit {
	bool found;       /* false: no further working set, or a shrink of more than 90 % */
	double shrink;    /* 0 … 0.9 */
	double now, then; /* miss ratios */
};

struct fm_miss_fit fm_miss_fit(const struct fm_miss_curve *curve, double bytes);

#endif
