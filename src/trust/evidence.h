/* The counts of an event, run by run, with their accuracy.

   The variance of a run is a relative part plus a floor. Real counters count in every run: other work, page walks, the
   start and stop by the tool. Runs with a truth of zero show the size of that floor. */
#ifndef FATHOM_TRUST_EVIDENCE_H
#define FATHOM_TRUST_EVIDENCE_H

#include "trust/columns.h"

struct fm_evidence {
	double *mean;   /* NaN: not counted */
	double *weight; /* one over the variance of the mean; 0: not counted */
	unsigned counted;
	unsigned repeats;
	double noise;     /* relative standard deviation between repetitions, in runs with high counts */
	double tolerance; /* of the mean of a run: noise, and the limit of knowledge */
	double typical;   /* median of the counts above the floor */
	double floor;     /* maximum count in runs with a truth of zero; 0: no such runs, or no counts */
	bool socket;
};

int fm_evidence_create(const struct fm_matrix *matrix, unsigned event, const struct fm_columns *columns,
                       struct fm_evidence *ret_evidence);
void fm_evidence_free(struct fm_evidence *evidence);

/* Do the repetitions of a run differ much more than those of others? Such a run has little weight. */
bool fm_evidence_is_disturbed(const struct fm_evidence *evidence, unsigned run);

/* Are the counts of all runs equal within noise? */
bool fm_evidence_is_unchanged(const struct fm_matrix *matrix, const struct fm_evidence *evidence);

#endif
