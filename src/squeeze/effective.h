/* The capacity that threads leave to a program: a probabilistic program is simulated beside them, and its miss share
   gives its capacity (expected.h). */
#ifndef FATHOM_SQUEEZE_EFFECTIVE_H
#define FATHOM_SQUEEZE_EFFECTIVE_H

#include "simulator/description.h"
#include "interference/expected.h"

struct fm_effective_wish {
	const struct fm_distribution *distribution;
	uint64_t bytes;        /* size of the program's buffer, above that of the cache */
	unsigned additions;    /* between two accesses */
	unsigned threads;      /* threads that modify random integers … */
	uint64_t thread_bytes; /* … of buffers of this size */
	uint64_t seed;
};

struct fm_effective {
	double misses;                      /* miss share of the accesses */
	double expected[FM_EXPECTED_COUNT]; /* the same by each model, with the whole cache */
	double capacity[FM_EXPECTED_COUNT]; /* bytes, by the inverse of each model */
};

/* Measures the capacity. -EINVAL: too few cores, or a buffer that fits the cache; -ENOMEM. */
int fm_effective_measure(const struct fm_machine_description *machine, const struct fm_effective_wish *wish,
                         struct fm_effective *ret_effective, struct fm_error *error);

#endif
