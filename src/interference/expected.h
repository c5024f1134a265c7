/* Hit share of a probabilistic program by the capacity of a cache, and the reverse. All quantities are in lines; the
   cache is fully associative.
   `seed` is equation 4 of Casas and Bronevetsky: C · Σ f(i)², f(i) the share of accesses to line i. The probability of
   line i in the cache is C · f(i), which exceeds 1 for steep distributions; `bounded` limits it to 1. `che` (Che, Tung
   and Wang 2002) keeps each line for a time T after its last use, so line i is present with probability 1 - exp(-f(i)
   T). T is chosen such that C lines are in the cache on average. */
#ifndef FATHOM_INTERFERENCE_EXPECTED_H
#define FATHOM_INTERFERENCE_EXPECTED_H

#include <stdint.h>

#include "interference/distributions.h"

enum fm_expected_model {
#define MODEL(identifier, words) FM_EXPECTED_##identifier,
#include "interference/models.def"
#undef MODEL
	FM_EXPECTED_COUNT
};

const char *fm_expected_name(enum fm_expected_model model);
const char *fm_expected_words(enum fm_expected_model model);

enum { FM_EXPECTED_GROUPS = 4096 };

/* Groups of neighbouring lines with about equal shares. */
struct fm_expected {
	double lines; /* of the buffer */
	unsigned count;
	double group_lines[FM_EXPECTED_GROUPS];
	double each[FM_EXPECTED_GROUPS]; /* share per line of the group */
};

void fm_expected_prepare(const struct fm_distribution *distribution, uint64_t lines, struct fm_expected *ret_expected);

/* Faster with fewer groups than FM_EXPECTED_GROUPS: 256 differ by less than 0.1 % of the accesses. */
void fm_expected_prepare_coarsely(const struct fm_distribution *distribution, uint64_t lines, unsigned groups,
                                  struct fm_expected *ret_expected);

/* The hit share, 0 … 1. */
double fm_expected_hits(const struct fm_expected *expected, enum fm_expected_model model, double capacity);

/* The capacity for a hit share, at most the buffer: a program without misses may have had more. */
double fm_expected_capacity(const struct fm_expected *expected, enum fm_expected_model model, double hits);

#endif
