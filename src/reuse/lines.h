/* Miss-ratio curves from a share of the lines, all of whose touches were seen (SHARDS, Waldspurger 2015): a distance
   among these lines stands for one 1/share as long among all lines, and each touch for 1/share touches. Nothing is
   assumed about time, phases, or what happens between a touch and the next.

   Three things make it uncertain. Which lines are followed: groups of them differ, and tell by how much. How many of
   the lines between two touches are followed: about the square root of their number, which moves sizes. And stretches
   in which nothing was seen: what missed there is a guess, and touches before and after seem closer than they were. */
#ifndef FATHOM_REUSE_LINES_H
#define FATHOM_REUSE_LINES_H

#include "reuse/curve.h"
#include "reuse/stack.h"

/* Below this many followed lines nothing is known: touches of the latest lines are not all seen. */
enum { FM_LINES_LEAST = 16 };

struct fm_lines_sample {
	double one_in;      /* one line of so many is followed */
	double references;  /* of the whole program, its followed lines among them */
	unsigned groups;    /* of lines; fewer than two give no interval */
	unsigned bits;      /* at most FM_DISTANCE_BITS */
	const double *bins; /* groups × FM_LINES_BINS(bits): touches by their distance among followed lines */
	double doubt;       /* so many more or fewer may be first touches */
	double uncounted;  /* of the references so many more, as a share, passed unseen, in stretches; `bins` are scaled
	                      up */
	double line_bytes; /* 0: 64 */
};

/* The bin of a distance of the stack. */
static inline unsigned fm_lines_bin(uint64_t distance, unsigned bits)
{
	if (distance == FM_DISTANCE_COLD)
		return FM_LINES_BINS(bits) - 1;
	if (distance >> FM_LINES_OCTAVES)
		return FM_LINES_BINS(bits) - 2;
	return fm_bin_of(distance, bits);
}

/* Touches that miss a cache of FM_LINES_LEAST lines and those of all larger ones, first touches among them. */
double fm_lines_long(const struct fm_lines_sample *sample);

/* Points below FM_LINES_LEAST followed lines have the value there as their lowest, and no highest. -ENODATA without
   references; -ENOMEM. */
int fm_miss_lines(const struct fm_lines_sample *sample, struct fm_miss_curve *ret_curve);

#endif
