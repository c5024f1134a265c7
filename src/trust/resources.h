/* The events that measure the use of a resource, and their maximum rate, which is 100 %. */
#ifndef FATHOM_TRUST_RESOURCES_H
#define FATHOM_TRUST_RESOURCES_H

#include "trust/judge.h"

enum { FM_INDICATOR_EVENTS_MAX = 3, FM_RESOURCES_MAX = 32 };

/* quantity = sum of coefficient * event */
struct fm_indicator {
	unsigned events[FM_INDICATOR_EVENTS_MAX];
	double coefficients[FM_INDICATOR_EVENTS_MAX];
	unsigned count;  /* 0: no indicator */
	double error;    /* mean over the runs: difference relative to the larger of estimate and truth, 0 … 1 */
	double worst;    /* maximum over the runs with much of the quantity */
	uint64_t fails;  /* atoms of the quantity with wrong runs; any excludes a metric */
	double fails_by; /* estimate over truth in the runs of the worst such atom; 1: none */
	/* with factors: atoms of the quantity without a run, which leaves the factors unchecked */
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
	double maximal_events; /* sum of its events per second at that bandwidth */
	char run[64];          /* run with this maximum */
};

/* The best estimate of the quantity from these events. */
struct fm_indicator fm_indicator_fit(const struct fm_matrix *matrix, unsigned quantity, bool socket,
                                     const unsigned *events, unsigned count);

/* The best estimate from any event, or sum of up to three. */
struct fm_indicator fm_indicator_best(const struct fm_matrix *matrix, const struct fm_judgement *judgements,
                                      unsigned quantity, bool socket);

/* Is the indicator right for every kind of access? Only then it is a metric: the kinds of a program are unknown. */
static inline bool fm_indicator_holds(const struct fm_indicator *indicator)
{
	return !indicator->count || !(indicator->fails | indicator->untested);
}

/* Writes "not for lines read at random (3.4 times too many)", or "" without limits. Returns `text`. */
const char *fm_indicator_limits(const struct fm_matrix *matrix, const struct fm_indicator *indicator, char *text,
                                size_t size);

/* The indicator's value for a run; NaN if an event was not counted. */
double fm_indicator_estimate(const struct fm_matrix *matrix, const struct fm_indicator *indicator, unsigned run);

/* Finds all resources of one core, then all of the socket. Returns their number. */
unsigned fm_resources_find(const struct fm_matrix *matrix, const struct fm_judgement *judgements,
                           struct fm_resource *ret_resources);

#endif
