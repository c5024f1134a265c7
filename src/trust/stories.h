/* Simple stories of an event: one quantity, and one or two flaws. */
#ifndef FATHOM_TRUST_STORIES_H
#define FATHOM_TRUST_STORIES_H

#include "trust/evidence.h"
#include "trust/judge.h"

/* A story consists of these steps, in order. A quantity, possibly with another factor for some atoms; additions
   (overlapping, leaking); a factor; a power; a loss under a condition; a maximum rate; a constant. */
struct fm_story {
	unsigned quantity;
	int plus; /* a second quantity counted alike, or -1 */
	double factor;
	struct fm_flaw flaws[FM_FLAWS_MAX];
	unsigned flaw_count;
	double misfit; /* standard errors, root mean square over the runs */
	double worst;  /* standard errors of the worst run */
	double score;  /* sum of squares plus the cost of the story's length: the lowest is accepted */
};

/* The class of a story: exact or proportional, otherwise by its first flaw. */
enum fm_class fm_story_class(const struct fm_story *story);

/* The story's prediction for a run; NaN if not known. */
double fm_story_predict(const struct fm_columns *columns, const struct fm_story *story, unsigned run);

/* Finds the story with the lowest score. False: no run to compare, or no memory. */
bool fm_stories_best(struct fm_columns *columns, const struct fm_evidence *evidence, struct fm_story *ret_story);

#endif
