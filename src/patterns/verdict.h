/* One verdict about a program: the cause that takes most of the run time. Candidates are in causes.def; each has a
   share of the same time, so they can be compared. */
#ifndef FATHOM_PATTERNS_VERDICT_H
#define FATHOM_PATTERNS_VERDICT_H

#include "patterns/patterns.h"
#include "patterns/where.h"

enum { FM_EVIDENCE_MAX = 8, FM_CONTRADICTIONS_MAX = 4, FM_RIVALS_MAX = 3 };

struct fm_evidence {
	const char *method; /* "laboratory", "windows", "scheduler", … */
	enum fm_origin origin;
	char text[240];
};

struct fm_program_verdict {
	char cause[32];         /* "latency:memory"; "inconclusive" */
	double confidence;      /* 0 … 1 */
	struct fm_figure share; /* of the run time, or of the processors' time with several threads */
	char sentence[200];     /* what the share is of; of "inconclusive": why */
	struct {
		char cause[32];
		struct fm_figure share;
	} rivals[FM_RIVALS_MAX]; /* other causes with a part of the time, largest first */
	unsigned rival_count;
	char object[96]; /* variable with most lines from that level; "": unknown */
	struct {
		char file[256], function[FM_FUNCTION];
		int64_t line;                /* 0: unknown */
		double share;                /* of the waiting or of the transfers */
	} place;                             /* file "": unknown */
	const char *advice;                  /* "": none */
	double worth, worth_low, worth_high; /* the most that removing the cause can save: share of the run time */
	struct fm_evidence evidence[FM_EVIDENCE_MAX];
	unsigned evidence_count;
	char contradictions[FM_CONTRADICTIONS_MAX][200];
	unsigned contradiction_count;
	char settle[200]; /* of "inconclusive": what would decide it */
};

struct fm_analysis;

/* The analysis must have a picture. */
void fm_verdict_find(const struct fm_analysis *analysis, struct fm_program_verdict *ret_verdict);

#endif
