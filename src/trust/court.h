/* What stories.c, which tries one flaw, and twofold.c, which tries two, have in common. */
#ifndef FATHOM_TRUST_COURT_H
#define FATHOM_TRUST_COURT_H

#include "trust/stories.h"

/* What a story costs: for each number that is fitted, and for each choice among many. */
#define FM_COST_NUMBER 16.0
#define FM_COST_CHOICE 7.0

struct fm_court {
	const struct fm_columns *columns;
	const struct fm_evidence *evidence;
	const double *mean, *weight; /* of the evidence, or with some runs left out or something taken away */
	unsigned counted;
	struct fm_products products;
	struct fm_story best;
	bool found;
	unsigned unknown[FM_QUANTITIES_MAX];        /* runs in which the event counts, and the quantity is not known */
	struct fm_story best_of[FM_QUANTITIES_MAX]; /* by quantity; a score of INFINITY: none */
};

/* Judge by these counts from now on; what was found is forgotten. */
void fm_court_set(struct fm_court *court, const double *mean, const double *weight);

/* A story that leaves so many squares over so many runs. */
void fm_court_propose(struct fm_court *court, struct fm_story story, double squares, unsigned used, double cost);

/* Fit the mixture of the quantity and one for each flaw of the story; one each, or with a factor. `cost` is without
   fitted numbers. */
void fm_court_try(struct fm_court *court, const struct fm_mixture *mixtures, unsigned count, struct fm_story story,
                  double cost);

/* All stories of one flaw. */
void fm_court_search(struct fm_court *court);

/* Stories of two flaws, when no story of one is good. */
void fm_court_search_twofold(struct fm_court *court);

/* Is the quantity known in enough of the runs in which the event counted anything? Notes in how many it is not. */
bool fm_court_is_known(struct fm_court *court, unsigned quantity);

/* Is the other quantity one of the groups of this one? Then counting it as well is counting it with another factor. */
bool fm_court_is_part(const struct fm_court *court, unsigned quantity, unsigned other);

static inline struct fm_mixture fm_mixture_of(int column)
{
	return (struct fm_mixture){{column}, {1}, 1};
}

#endif
