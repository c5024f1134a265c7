/* Miss-ratio curves: the share of references that a fully associative LRU cache misses, for every size.

   From exact distances, or from a sample of reuse times (StatStack, Eklöv and Hagersten 2010): among the references
   between a reference and its reuse, each one whose own reuse comes later than the end touched another line for the
   last time. So a reuse after time t has an expected distance of the sum of S(1) … S(t-1), S being the share of reuse
   times that are longer, and a cache of C lines misses the reuses whose time is at least the one at which that sum
   reaches C.

   The sum is right if all references behave alike. Long phases of a program do not: windows that follow each other and
   resemble each other form a phase, each phase has a curve, and the program's curve is their weighted mean. */
#ifndef FATHOM_REUSE_CURVE_H
#define FATHOM_REUSE_CURVE_H

#include "base/figure.h"
#include "base/random.h"
#include "reuse/stack.h"
#include "reuse/times.h"

enum { FM_MISS_PER_OCTAVE = 16, FM_MISS_POINTS = 14 * FM_MISS_PER_OCTAVE + 1, FM_MISS_PHASES_MAX = 8 };
#define FM_MISS_SMALLEST 16384.0 /* bytes; the largest is 256 MiB */

struct fm_miss_point {
	double value, low, high; /* the interval holds the true share in 95 % of cases */
};

struct fm_miss_curve {
	struct fm_miss_point points[FM_MISS_POINTS]; /* by size, ascending, FM_MISS_PER_OCTAVE per octave */
	enum fm_origin origin;
	unsigned clusters;    /* windows it rests on */
	double samples;       /* reuses, complete or not */
	unsigned phases;      /* how many were told apart */
	double largest_bytes; /* beyond this size no reuse was observed: the low end is 0 there */
	double clock_error;   /* relative standard error of the clock, as given */
	bool bootstrapped;    /* has intervals */
};

struct fm_miss_options {
	double line_bytes;        /* 0: 64 */
	double clock_error;       /* relative standard error of the references per unit of time: shifts sizes */
	unsigned resamples;       /* 0: 400 */
	struct fm_random *random; /* NULL: no intervals */
};

/* The size of a point in bytes. */
double fm_miss_bytes(unsigned point);

/* From times, which are merged. Any cache; and one that is private to the thread, where a line misses that another
   thread wrote to in between, whatever its distance. Either may be NULL. -ENODATA without a sample; -ENOMEM. */
int fm_miss_estimate(struct fm_times *times, const struct fm_miss_options *options, struct fm_miss_curve *ret_shared,
                     struct fm_miss_curve *ret_private);

/* A part of the program, a region or an object, among everything else that it does: `part` holds the distances and the
   samples of its references, with the numbers of the clusters and the weights that they have in `all`. As above;
   -EINVAL when it has clusters that `all` does not have. */
int fm_miss_estimate_part(struct fm_times *all, struct fm_times *part, const struct fm_miss_options *options,
                          struct fm_miss_curve *ret_shared, struct fm_miss_curve *ret_private);

/* From the distances of every reference: no interval. -ENODATA without a reference. */
int fm_miss_exact(const struct fm_distances *distances, double line_bytes, struct fm_miss_curve *ret_curve);

/* From the distances of several windows, each with warm stacks: the interval comes from their spread. */
int fm_miss_windows(const struct fm_distances *windows, unsigned count, double line_bytes, struct fm_random *random,
                    struct fm_miss_curve *ret_curve);

/* The curve at any size: between points, in proportion to the logarithm of the size. */
struct fm_miss_point fm_miss_at(const struct fm_miss_curve *curve, double bytes);

/* A working set: sizes over which the curve falls by 5 points or more per octave. */
struct fm_miss_knee {
	double from_bytes, to_bytes;
	double above, below; /* the miss ratios at both ends */
};

/* Ascending; returns how many were written, at most `room`. */
unsigned fm_miss_knees(const struct fm_miss_curve *curve, struct fm_miss_knee *ret_knees, unsigned room);

/* By how much the program's data would have to shrink for the next working set to fit into a cache of this size: the
   least share s for which the curve at bytes / (1 - s) is within 1 point of the plateau that follows, with at least
   nine tenths of the way there behind it. Data of a share 1 - s behave in a cache as all of it in a cache 1 / (1 - s)
   as large. */
struct fm_miss_fit {
	bool found;       /* false: no further working set, or it would take a shrink of more than 90 % */
	double shrink;    /* 0 … 0.9 */
	double now, then; /* the miss ratios */
};

struct fm_miss_fit fm_miss_fit(const struct fm_miss_curve *curve, double bytes);

#endif
