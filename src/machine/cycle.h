/* A single cycle through all of so many lines in random order, whose steps are computed and not looked up.

   A shuffled table takes two cache misses a line to make, minutes of them on machines whose last cache has hundreds of
   megabytes. Here the successor of a line follows from the line alone, so that a chain of pointers is written in the
   order of addresses. */
#ifndef FATHOM_MACHINE_CYCLE_H
#define FATHOM_MACHINE_CYCLE_H

#include <stdint.h>

#include "base/random.h"

struct fm_cycle {
	uint64_t count; /* of lines */
	uint64_t mask;  /* of the power of two that holds them */
	unsigned shift;
	uint64_t factor, increment;  /* of the steps */
	uint64_t scramble, straight; /* odd, and its inverse */
};

/* `count` is 2 to 2^40. */
void fm_cycle_make(uint64_t count, struct fm_random *random, struct fm_cycle *ret_cycle);

/* The line after this one. */
uint64_t fm_cycle_next(const struct fm_cycle *cycle, uint64_t line);

/* A line about `part` of `parts` of the cycle away from line 0: off by the square root of what lies between them. */
uint64_t fm_cycle_at(const struct fm_cycle *cycle, uint64_t part, uint64_t parts);

#endif
