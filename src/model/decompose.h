/* Cycles by cause, from hardware counts: the decomposition of Molka et al. (ICPE 2017, figure 10), and a corrected
   version (docs/decisions/decomposition.md). */
#ifndef FATHOM_MODEL_DECOMPOSE_H
#define FATHOM_MODEL_DECOMPOSE_H

/* Cycles by event. */
struct fm_stall_events {
	double active;       /* CPU_CLK_UNHALTED */
	double no_execute;   /* CYCLES_NO_EXECUTE */
	double load_pending; /* STALLS_L1D_PENDING: without execution, a load outstanding that missed the first cache */
	double stores_full;  /* RESOURCE_STALLS:SB */
	double fill_full;    /* L1D_PEND_MISS:FB_FULL */
	double queue_full;   /* OFFCORE_REQUESTS_BUFFER:SQ_FULL */
	/* for the corrected version; 0: unknown */
	double lines;          /* lines filled into the first cache */
	double line_cycles;    /* least cycles of a line from its source, by bandwidth alone */
	double lookups;        /* cycles of look-ups in the first cache by loads that missed */
	double misses_pending; /* cycles with such a load outstanding, with or without execution; 0: all active
	                          cycles */
	double walks;          /* cycles of page walks */
};

struct fm_decomposition {
	double active, productive, stall, memory_bound, bandwidth_bound, latency_bound, other_stall;
	unsigned clamped; /* number of results that were negative before clamping */
};

void fm_decompose(const struct fm_stall_events *events, struct fm_decomposition *ret);

/* Corrections: streams in the second cache wait for its bandwidth without a full buffer, at least traffic over
   bandwidth. The pending event omits a load's look-up in the first cache and its page walk. Waiting of stores is added
   to that of loads, since programs have phases. */
void fm_decompose_corrected(const struct fm_stall_events *events, struct fm_decomposition *ret);

#endif
