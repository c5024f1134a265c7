/* Shared by stories.c, for stories of one flaw, and twofold.c, for two. */
#ifndef FATHOM_TRUST_COURT_H
#define FATHOM_TRUST_COURT_H

#include "trust/stories.h"

struct fm_court {
	const struct fm_columns *columns;
	const struct fm_evidence *evidence;
	const double *mean, *weight; /* of the evidence, or with runs excluded or a part subtracted */
	unsigned counted;
	struct fm_products products;
	struct fm_story best;
	bool found;
	unsigned unknown[FM_QUANTITIES_MAX];        /* runs with counts in which the quantity is not known */
	struct fm_story best_of[FM_QUANTITIES_MAX]; /* by quantity; score INFINITY: none */
};

/* Replaces the counts and weights, and drops earlier results. */
void fm_court_set(struct fm_court *court, const double *mean, const double *weight);

/* Proposes a story with its sum of squares over `used` runs. */
void fm_court_propose(struct fm_court *court, struct fm_story story, double squares, unsigned used, double cost);

/* Fits the mixtures of a story: of the quantity, then one per flaw, with coefficient 1 or a factor. `cost`: without the
   fitted numbers. */
void fm_court_try(struct fm_court *court, const struct fm_summand *mixtures, unsigned count, struct fm_story story,
                  double cost);

/* Tries all stories of one flaw. */
void fm_court_search(struct fm_court *court);

/* Tries stories of two flaws, if no story of one flaw is good. */
void fm_court_search_twofold(struct fm_court *court);

/* Is the quantity known in enough of the runs with counts? Notes the number of the others. */
bool fm_court_is_known(struct fm_court *court, unsigned quantity);

/* Is the other quantity one of the groups of this one? Then an overlap with it is a different factor of the group. */
bool fm_court_is_part(const struct fm_court *court, unsigned quantity, unsigned other);

static inline struct fm_summand fm_mixture_of(int column)
{
	return (struct fm_summand){{column}, {1}, 1};
}

#endif
