/* How much of a cache is left to a program beside threads that take some: a probabilistic program is simulated beside
   them, and the share of its accesses that miss tells the capacity it had (expected.h). */
#ifndef FATHOM_SQUEEZE_EFFECTIVE_H
#define FATHOM_SQUEEZE_EFFECTIVE_H

#include "simulator/description.h"
#include "interference/expected.h"

struct fm_effective_wish {
	const struct fm_distribution *distribution;
	uint64_t bytes;        /* of the program's buffer; more than the cache, else nothing can be told */
	unsigned additions;    /* between two accesses */
	unsigned threads;      /* that change random integers … */
	uint64_t thread_bytes; /* … of buffers of this size */
	uint64_t seed;
};

struct fm_effective {
	double misses;                      /* share of the accesses that went to memory */
	double expected[FM_EXPECTED_COUNT]; /* the same by each model, of the whole last cache */
	double capacity[FM_EXPECTED_COUNT]; /* bytes, by inverting each model */
};

/* -EINVAL when the machine has too few cores or the buffer fits the cache; -ENOMEM. */
int fm_effective_measure(const struct fm_machine_description *machine, const struct fm_effective_wish *wish,
                         struct fm_effective *ret_effective, struct fm_error *error);

#endif
