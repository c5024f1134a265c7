/* Probabilistic programs: each access goes to a random place of a buffer, by a known distribution. What share of their
   accesses a cache of some size answers can be computed (expected.h), so that the share that was answered tells how
   much cache they had. */
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
	double (*below)(double parameter, double place); /* share of accesses before it; not cut off at 0 and 1 */
	double (*draw)(double parameter, struct fm_random *random); /* the same: may be outside */
};

extern const struct fm_distribution fm_distributions[FM_DISTRIBUTION_COUNT];

/* The share of accesses to the part of the buffer from `from` to `to`, both within 0 … 1. What would fall outside of
   the buffer is drawn again, and is not counted here either. */
double fm_distribution_share(const struct fm_distribution *distribution, double from, double to);

/* A place within 0 … 1, which excludes 1. */
double fm_distribution_draw(const struct fm_distribution *distribution, struct fm_random *random);

#endif
