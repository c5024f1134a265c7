/* Which events tell how much a resource is used, and how fast they can count: the maximal rate is 100 %. */
#ifndef FATHOM_TRUST_RESOURCES_H
#define FATHOM_TRUST_RESOURCES_H

#include "trust/judge.h"

enum { FM_INDICATOR_EVENTS_MAX = 3, FM_RESOURCES_MAX = 32 };

/* quantity = sum of coefficient * event */
struct fm_indicator {
	unsigned events[FM_INDICATOR_EVENTS_MAX];
	double coefficients[FM_INDICATOR_EVENTS_MAX];
	unsigned count; /* 0: there is none */
	double error;   /* mean over the runs of the difference relative to the larger of estimate and truth, 0 … 1 */
	double worst;   /* the same of the worst run, among those with much of the quantity */
	uint64_t fails; /* atoms of the quantity: runs made of these it gets wrong. What fails is no metric */
	double fails_by; /* estimate over truth in the runs of the worst of these atoms; 1: none fails */
	/* atoms of the quantity that no run is made of, where it has factors: nobody knows whether these hold */
	uint64_t untested;
};

struct fm_resource {
	char name[24]; /* L1, L2, L3, memory, remote memory */
	bool write;
	bool socket;
	unsigned quantity;
	unsigned transfer_bytes;
	double bandwidth_gbs; /* achievable */
	double transfers;     /* per second, at that bandwidth */
	struct fm_indicator indicator;
	double maximal_events; /* per second, of the sum of its events, at that bandwidth */
	char run[64];          /* where that was seen */
};

/* Estimate the quantity from these events as well as they can. */
struct fm_indicator fm_indicator_fit(const struct fm_matrix *matrix, unsigned quantity, bool socket,
                                     const unsigned *events, unsigned count);

/* The best estimate from any event, or sum of up to three. */
struct fm_indicator fm_indicator_best(const struct fm_matrix *matrix, const struct fm_judgement *judgements,
                                      unsigned quantity, bool socket);

/* For every kind of access? Only then it is a metric: nobody knows which kinds a program has. */
static inline bool fm_indicator_holds(const struct fm_indicator *indicator)
{
	return !indicator->count || !(indicator->fails | indicator->untested);
}

/* "not for lines read at random (3.4 times too many)", or "" when it holds for all. Returns text. */
const char *fm_indicator_limits(const struct fm_matrix *matrix, const struct fm_indicator *indicator, char *text,
                                size_t size);

/* What the indicator says of a run; NaN when one of its events was not counted. */
double fm_indicator_estimate(const struct fm_matrix *matrix, const struct fm_indicator *indicator, unsigned run);

/* All resources of one core, then all of the socket. Returns how many. */
unsigned fm_resources_find(const struct fm_matrix *matrix, const struct fm_judgement *judgements,
                           struct fm_resource *ret_resources);

#endif
