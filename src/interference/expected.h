/* The share of accesses of a probabilistic program that a cache answers, by its capacity, and the reverse: the capacity
   that the program had, from the share that was answered. Everything is in lines, and the cache holds any line
   anywhere.

   `seed` is equation 4 of Casas and Bronevetsky: C · Σ f(i)², f(i) the share of accesses that go to line i. It takes
   C · f(i) for the probability that line i is in the cache, which may exceed 1 where the distribution is steep;
   `bounded` takes at most 1. `che` knows that a line stays for a time T after its last use, the same T for all lines
   (Che, Tung and Wang 2002): it is there with the probability 1 - exp(-f(i) T), and T is such that C lines are there on
   average. */
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

/* Lines of a buffer in groups of neighbours that are accessed about equally often. */
struct fm_expected {
	double lines; /* of the buffer */
	unsigned count;
	double group_lines[FM_EXPECTED_GROUPS];
	double each[FM_EXPECTED_GROUPS]; /* share of accesses to one line of the group */
};

void fm_expected_prepare(const struct fm_distribution *distribution, uint64_t lines, struct fm_expected *ret_expected);

/* With fewer groups, up to FM_EXPECTED_GROUPS, where it has to be quick: 256 are off by less than 0.1 % of the
 * capacity.
 */
void fm_expected_prepare_coarsely(const struct fm_distribution *distribution, uint64_t lines, unsigned groups,
                                  struct fm_expected *ret_expected);

/* 0 … 1. */
double fm_expected_hits(const struct fm_expected *expected, enum fm_expected_model model, double capacity);

/* At most the buffer's lines: a program that hits always may have had any capacity from there on. */
double fm_expected_capacity(const struct fm_expected *expected, enum fm_expected_model model, double hits);

#endif
