/* Miss-ratio curves from a share of the lines, with all their touches observed (SHARDS, Waldspurger 2015). A distance
   among these lines represents a distance 1/share as long among all lines, and each touch represents 1/share touches.
   No assumptions about time, phases, or other references are needed.

   There are three sources of error. The choice of followed lines: differences between groups of lines show it. The
   number of followed lines between two touches: its error is about its square root, and shifts sizes. And stretches
   without observation: their misses are assumed, and touches before and after seem closer. */
#ifndef FATHOM_REUSE_LINES_H
#define FATHOM_REUSE_LINES_H

#include "reuse/curve.h"
#include "reuse/stack.h"

/* With fewer followed lines the result is unknown: touches of the latest lines are not all observed. */
enum { FM_LINES_LEAST = 16 };

struct fm_lines_sample {
	double one_in;      /* one line of this number is followed */
	double references;  /* of the whole program, followed lines included */
	unsigned groups;    /* of lines; fewer than two give no interval */
	unsigned bits;      /* at most FM_DISTANCE_BITS */
	const double *bins; /* groups × FM_LINES_BINS(bits): touches by their distance among followed lines */
	double doubt;       /* this many touches, more or fewer, may be first touches */
	double uncounted;   /* share of the references in unobserved stretches; `bins` are scaled up */
	double line_bytes;  /* 0: 64 */
};

/* The bin of a stack distance. */
static inline unsigned fm_lines_bin(uint64_t distance, unsigned bits)
{
	if (distance == FM_DISTANCE_COLD)
		return FM_LINES_BINS(bits) - 1;
	if (distance >> FM_LINES_OCTAVES)
		return FM_LINES_BINS(bits) - 2;
	return fm_bin_of(distance, bits);
}

/* Touches that miss caches of FM_LINES_LEAST lines and more, first touches included. */
double fm_lines_long(const struct fm_lines_sample *sample);

/* Estimates the curve. Points below FM_LINES_LEAST followed lines have the value there as their lower end, and no upper
   end. 0; -ENODATA without references; -ENOMEM. */
int fm_miss_lines(const struct fm_lines_sample *sample, struct fm_miss_curve *ret_curve);

#endif
