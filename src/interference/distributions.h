/* Probabilistic programs: each access goes to a random place of a buffer, by a known distribution. The hit share of a
   cache is computable from its size (expected.h), so that a measured hit share gives the capacity in use. */
#ifndef FATHOM_INTERFERENCE_DISTRIBUTIONS_H
#define FATHOM_INTERFERENCE_DISTRIBUTIONS_H

#include "base/random.h"

enum fm_distribution_id {
#define DISTRIBUTION(identifier, name, shape, parameter) FM_DISTRIBUTION_##identifier,
#include "interference/distributions.def"
#undef DISTRIBUTION
	FM_DISTRIBUTION_COUNT
};

struct fm_distribution {
	const char *name;
	double parameter;
	double (*below)(double parameter, double place); /* share of accesses below a place; not cut off at 0 and 1 */
	double (*draw)(double parameter, struct fm_random *random); /* a random place, perhaps outside 0 … 1 */
};

extern const struct fm_distribution fm_distributions[FM_DISTRIBUTION_COUNT];

/* The share of accesses between the places `from` and `to`, both within 0 … 1. Draws outside of the buffer are repeated
   and not counted. */
double fm_distribution_share(const struct fm_distribution *distribution, double from, double to);

/* A random place, 0 ≤ place < 1. */
double fm_distribution_draw(const struct fm_distribution *distribution, struct fm_random *random);

#endif
