/* Simple stories about an event: one quantity, and one flaw or two. */
#ifndef FATHOM_TRUST_STORIES_H
#define FATHOM_TRUST_STORIES_H

#include "trust/evidence.h"
#include "trust/judge.h"

/* An event counts, in this order: its quantity without or with another factor for some atoms, and what it counts as
   well (overlapping, leaking), all with a factor; to a power; less under a condition; no faster than a maximum; and a
   constant. */
struct fm_story {
	unsigned quantity;
	int plus; /* the quantity that is counted alike, or -1 */
	double factor;
	struct fm_flaw flaws[FM_FLAWS_MAX];
	unsigned flaw_count;
	double misfit; /* standard errors, root mean square over the runs */
	double worst;  /* standard errors of the worst run */
	double score;  /* sum of squares and what the story's length costs: the lowest is believed */
};

/* What exact and proportional stories are called, and all others by their first flaw. */
enum fm_class fm_story_class(const struct fm_story *story);

/* What the story says of a run; NaN when it is not known. */
double fm_story_predict(const struct fm_columns *columns, const struct fm_story *story, unsigned run);

/* The story with the lowest score; false when there is no run to compare, or no memory. */
bool fm_stories_best(struct fm_columns *columns, const struct fm_evidence *evidence, struct fm_story *ret_story);

#endif
