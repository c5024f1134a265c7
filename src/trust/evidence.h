/* What an event counted, run by run, and how well that is known.

   The variance of a run is relative plus a floor. Real counters count something in every run, whatever it does: other
   work, page walks, the tool that starts and stops them. Runs in which the truth is nothing tell how much. */
#ifndef FATHOM_TRUST_EVIDENCE_H
#define FATHOM_TRUST_EVIDENCE_H

#include "trust/columns.h"

struct fm_evidence {
	double *mean;   /* NaN: not counted */
	double *weight; /* one over the variance of the mean; 0: not counted */
	unsigned counted;
	unsigned repeats;
	double noise;     /* relative standard deviation between repetitions, where there is much to count */
	double tolerance; /* of the mean of a run: noise, and how well anything can be known */
	double typical;   /* median of the counts above the floor */
	double floor; /* the most that is counted in a run in which the truth is nothing; 0: no such runs, or nothing */
	bool socket;
};

int fm_evidence_create(const struct fm_matrix *matrix, unsigned event, const struct fm_columns *columns,
                       struct fm_evidence *ret_evidence);
void fm_evidence_free(struct fm_evidence *evidence);

/* Do the repetitions of a run differ by much more than those of others? It weighs little then. */
bool fm_evidence_is_disturbed(const struct fm_evidence *evidence, unsigned run);

/* Do all runs count the same but for noise? */
bool fm_evidence_is_unchanged(const struct fm_matrix *matrix, const struct fm_evidence *evidence);

#endif
