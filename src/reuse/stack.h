/* Stack distances: how many other lines were touched since a line was last touched (Mattson 1970). A fully associative
   LRU cache of C lines misses exactly the references whose distance is C or more, so one histogram holds the misses of
   every cache size.

   Exact, or for a sample of the lines (SHARDS, Waldspurger 2015): a line belongs to it if its hash is below a
   threshold, and a distance among the lines of the sample stands for one 1/share as long. With a limit on the lines,
   the threshold falls whenever there are too many: memory stays bounded however much the program touches. */
#ifndef FATHOM_REUSE_STACK_H
#define FATHOM_REUSE_STACK_H

#include <stddef.h>
#include <stdint.h>

#include "reuse/bins.h"

/* How many references had which distance. Weights are references of the program: with sampled lines they are no whole
   numbers. Zero-initialise. */
struct fm_distances {
	double bins[FM_DISTANCE_BINS];
	double cold;       /* lines not seen before */
	double references; /* all of them */
};

void fm_distances_add(struct fm_distances *sum, const struct fm_distances *distances);

/* The share of references that a cache of so many lines misses, first touches among them. NAN without references. */
double fm_distances_miss_ratio(const struct fm_distances *distances, double lines);

struct fm_stack_options {
	double share;        /* of lines to follow: 0 and 1 mean all */
	uint32_t lines_most; /* fewer are followed when more than this many would be: 0 means never */
};

struct fm_stack {
	/* the line of the last reference: touching it again costs no call */
	uint64_t last;
	uint64_t repeats;
	/* of the last reference, for callers that count parts of the program by themselves */
	uint64_t distance;
	struct fm_stack_parts *parts;
};

#define FM_DISTANCE_COLD UINT64_MAX          /* its first touch */
#define FM_DISTANCE_UNKNOWN (UINT64_MAX - 1) /* its line is not in the sample */

/* Count one reference, or so many as it stands for. */
static inline void fm_distances_count(struct fm_distances *distances, uint64_t distance, double weight)
{
	if (distance == FM_DISTANCE_COLD)
		distances->cold += weight;
	else
		distances->bins[fm_bin_of(distance, FM_DISTANCE_BITS)] += weight;
	distances->references += weight;
}

/* -ENOMEM; -EINVAL for a share that is none. */
int fm_stack_create(struct fm_stack *ret_stack, const struct fm_stack_options *options);
void fm_stack_free(struct fm_stack *stack);

/* One reference to another line than the last one. -ENOMEM when the tables cannot grow; the reference is then not
   counted. */
int fm_stack_touch_other(struct fm_stack *stack, uint64_t line);

/* Line numbers are addresses divided by the size of a line: the highest, UINT64_MAX, is not among them. */
static inline int fm_stack_touch(struct fm_stack *stack, uint64_t line)
{
	if (line == stack->last) {
		stack->repeats++;
		stack->distance = 0;
		return 0;
	}
	return fm_stack_touch_other(stack, line);
}

/* Many at once: faster, since the tables are fetched ahead. Leaves no distance. */
int fm_stack_touch_all(struct fm_stack *stack, const uint64_t *lines, size_t count);

/* What has been counted so far. */
void fm_stack_result(const struct fm_stack *stack, struct fm_distances *ret_distances);

/* The share of lines that is followed now, and how many those are. */
double fm_stack_share(const struct fm_stack *stack);
size_t fm_stack_lines(const struct fm_stack *stack);

#endif
