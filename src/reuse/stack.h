/* Stack distances: the number of other lines touched since the last touch of a line (Mattson 1970). A fully associative
   LRU cache of C lines misses exactly the references with a distance of C or more: one histogram gives the misses for
   every cache size.

   Exact, or for a sample of the lines (SHARDS, Waldspurger 2015): lines with a hash below a threshold. A distance in
   the sample represents a distance 1/share as long. With a limit on the lines, the threshold falls when they exceed it:
   memory stays bounded. */
#ifndef FATHOM_REUSE_STACK_H
#define FATHOM_REUSE_STACK_H

#include <stddef.h>
#include <stdint.h>

#include "reuse/bins.h"

/* Weights of references by distance, in references of the program: fractions, if lines are sampled. Zero-initialise. */
struct fm_distances {
	double bins[FM_DISTANCE_BINS];
	double cold;       /* first touches */
	double references; /* all references */
};

void fm_distances_add(struct fm_distances *sum, const struct fm_distances *distances);

/* The miss ratio of a cache of `lines` lines, first touches included. NAN without references. */
double fm_distances_miss_ratio(const struct fm_distances *distances, double lines);

struct fm_stack_options {
	double share;        /* of lines to follow; 0 and 1: all */
	uint32_t lines_most; /* limit of followed lines; 0: none */
};

struct fm_stack {
	/* line of the last reference: another touch of it costs no call */
	uint64_t last;
	uint64_t repeats;
	/* of the last reference, for callers with their own counts of parts */
	uint64_t distance;
	struct fm_stack_parts *parts;
};

#define FM_DISTANCE_COLD UINT64_MAX          /* a first touch */
#define FM_DISTANCE_UNKNOWN (UINT64_MAX - 1) /* the line is not in the sample */

/* Counts one reference with a weight. */
static inline void fm_distances_count(struct fm_distances *distances, uint64_t distance, double weight)
{
	if (distance == FM_DISTANCE_COLD)
		distances->cold += weight;
	else
		distances->bins[fm_bin_of(distance, FM_DISTANCE_BITS)] += weight;
	distances->references += weight;
}

/* Creates a stack. 0; -ENOMEM; -EINVAL for an invalid share. */
int fm_stack_create(struct fm_stack *ret_stack, const struct fm_stack_options *options);
void fm_stack_free(struct fm_stack *stack);

/* Adds one reference to a line other than the last. 0; -ENOMEM if the tables cannot grow: the reference is not
   counted. */
int fm_stack_touch_other(struct fm_stack *stack, uint64_t line);

/* Adds one reference. `line`: address divided by the line size; UINT64_MAX is invalid. */
static inline int fm_stack_touch(struct fm_stack *stack, uint64_t line)
{
	if (line == stack->last) {
		stack->repeats++;
		stack->distance = 0;
		return 0;
	}
	return fm_stack_touch_other(stack, line);
}

/* Adds many references: faster, since the tables are prefetched. Sets no distance. */
int fm_stack_touch_all(struct fm_stack *stack, const uint64_t *lines, size_t count);

/* The counts so far. */
void fm_stack_result(const struct fm_stack *stack, struct fm_distances *ret_distances);

/* The present share of followed lines, and their number. */
double fm_stack_share(const struct fm_stack *stack);
size_t fm_stack_lines(const struct fm_stack *stack);

#endif
