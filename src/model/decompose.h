/* What cycles were spent on, from counts that hardware has: the decomposition of Molka et al. (ICPE 2017, figure 10),
   and a corrected one. docs/decisions/decomposition.md says what is corrected and how well. */
#ifndef FATHOM_MODEL_DECOMPOSE_H
#define FATHOM_MODEL_DECOMPOSE_H

/* Cycles, as events count them. */
struct fm_stall_events {
	double active;       /* CPU_CLK_UNHALTED */
	double no_execute;   /* CYCLES_NO_EXECUTE */
	double load_pending; /* STALLS_L1D_PENDING: without execution, a load outstanding that missed the first cache */
	double stores_full;  /* RESOURCE_STALLS:SB */
	double fill_full;    /* L1D_PEND_MISS:FB_FULL */
	double queue_full;   /* OFFCORE_REQUESTS_BUFFER:SQ_FULL */
	/* for the corrected one; 0 where they are not known */
	double lines; /* brought into the first cache */
	double
	    line_cycles; /* what a line takes at least from where these came from, when nothing but bandwidth limits */
	double lookups;  /* cycles that the loads that missed the first cache spent looking there */
	double misses_pending; /* cycles with such a load outstanding, executing or not; 0: all active ones */
	double walks;          /* cycles of page walks */
};

struct fm_decomposition {
	double active, productive, stall, memory_bound, bandwidth_bound, latency_bound, other_stall;
	unsigned clamped; /* how many of these would have been negative */
};

void fm_decompose(const struct fm_stall_events *events, struct fm_decomposition *ret);

/* Streams that stay in the second cache wait for its bandwidth without filling a buffer: what is known of the traffic
   and of the bandwidth says how long that takes at least. A load that misses waits from its look-up in the first cache
   on, and from its page walk on, which the pending event does not count. And stores that wait do so beside loads that
   wait, not instead of them: programs have phases. */
void fm_decompose_corrected(const struct fm_stall_events *events, struct fm_decomposition *ret);

#endif
