/* A single cycle through lines in random order with computed steps.

   A shuffled table costs two cache misses per line, minutes with a last cache of hundreds of megabytes. Here the
   successor of a line is a function of the line, so that a chain of pointers is written in address order. */
#ifndef FATHOM_MEASURE_CYCLE_H
#define FATHOM_MEASURE_CYCLE_H

#include <stdint.h>

#include "base/random.h"

struct fm_cycle {
	uint64_t count; /* of lines */
	uint64_t mask;  /* smallest power of two above, minus 1 */
	unsigned shift;
	uint64_t factor, increment;  /* of the steps */
	uint64_t scramble, straight; /* odd, and its inverse */
};

/* `count` is 2 to 2^40. */
void fm_cycle_make(uint64_t count, struct fm_random *random, struct fm_cycle *ret_cycle);

/* The successor of a line. */
uint64_t fm_cycle_next(const struct fm_cycle *cycle, uint64_t line);

/* A line at about `part` of `parts` of the cycle from line 0, with an error of the square root of the distance. */
uint64_t fm_cycle_at(const struct fm_cycle *cycle, uint64_t part, uint64_t parts);

#endif
