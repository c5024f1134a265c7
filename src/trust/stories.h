/* Simple stories about an event: one quantity and one flaw. */
#ifndef FATHOM_TRUST_STORIES_H
#define FATHOM_TRUST_STORIES_H

#include "trust/judge.h"

/* What was counted, run by run. */
struct fm_evidence {
	double *mean;   /* NaN: not counted */
	double *weight; /* one over the variance of the mean */
	unsigned counted;
	unsigned repeats;
	double noise;     /* relative standard deviation between repetitions */
	double tolerance; /* of the mean of a run: noise, and how well anything can be known */
	double typical;   /* median of the counts that are not zero */
	bool socket;
};

/* When a conditional event is wrong. */
enum fm_condition {
#define CONDITION(identifier, test, words) FM_CONDITION_##identifier,
#include "trust/conditions.def"
#undef CONDITION
	FM_CONDITION_COUNT
};

struct fm_story {
	enum fm_class class;
	unsigned quantity;
	double factor;
	int other;       /* quantity */
	uint64_t unseen; /* atoms */
	double size;
	enum fm_condition condition;
	double misfit; /* standard errors, root mean square over the runs */
	double score;  /* sum of squares and what the story's length costs: the lowest is believed */
};

const char *fm_condition_words(enum fm_condition condition);

/* The story with the lowest score; false when there is no run to compare. */
bool fm_stories_best(const struct fm_matrix *matrix, const struct fm_evidence *evidence, struct fm_story *ret_story);

#endif
