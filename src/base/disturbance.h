/* Disturbance of a measurement.
   Around each trial the watch notes the time without a CPU, the steal time and a heartbeat: a chain of additions of
   known duration, which shows a changed clock or a stalled vCPU. A persistent change of the clock (less boost, since
   other cores work) counts as a disturbance for one second, then as a second regular clock. */
#ifndef FATHOM_BASE_DISTURBANCE_H
#define FATHOM_BASE_DISTURBANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/figure.h"
#include "base/statistics.h"

enum fm_disturbance_cause {
	FM_DISTURBANCE_WAITED,    /* another task had the CPU */
	FM_DISTURBANCE_STOLEN,    /* the hypervisor had this CPU */
	FM_DISTURBANCE_HEARTBEAT, /* the core was slower than its best */
	FM_DISTURBANCE_CAUSES
};

/* Sums over a measurement. */
struct fm_disturbance {
	uint64_t trials;
	uint64_t disturbed;
	uint64_t cause[FM_DISTURBANCE_CAUSES]; /* a trial may have several */
	double heartbeat_best;                 /* ns per addition */
	double heartbeat_worst;
	uint64_t elapsed_ns; /* from the first trial to the last */
	uint64_t stolen_ns;
	uint64_t waited_ns;
};

struct fm_disturbance_watch {
	struct fm_disturbance total;
	int schedstat; /* /proc/thread-self/schedstat, kept open */
	int stat;      /* /proc/stat */
	uint64_t started_ns;
	uint64_t wait_before;
	int steal_cpu;
	int64_t steal_before; /* of this CPU */
	int64_t steal_first;
	uint64_t steal_read_ns;
	double beat_before;
	/* ns of a constant slow heartbeat, and of one accepted as a second clock */
	double steady, other;
	uint64_t steady_since;
	unsigned steady_trials;
	struct fm_sample beats; /* of trials with a CPU, at any clock */
};

/* ns per addition of a dependent chain on the current core: the reciprocal is the clock in GHz. Takes about 10 µs. */
double fm_heartbeat(void);

/* Watches the calling thread. Without files in /proc, their causes are not detected. */
void fm_disturbance_open(struct fm_disturbance_watch *watch);
void fm_disturbance_close(struct fm_disturbance_watch *watch);

void fm_disturbance_begin(struct fm_disturbance_watch *watch);

/* Ends a trial; true if it was disturbed. may_wait: waiting of this thread is no disturbance. ret_beat: the faster of
   the two heartbeats around the trial in ns, or NULL. */
bool fm_disturbance_end(struct fm_disturbance_watch *watch, bool may_wait, double *ret_beat);

/* The clock in GHz over all trials: the mean, and the interval that contains 95 % of them. Not available before the
   first trial. */
struct fm_figure fm_disturbance_clock(const struct fm_disturbance_watch *watch);

/* Share of disturbed trials, 0 … 1. */
double fm_disturbance_share(const struct fm_disturbance *disturbance);

/* Steal time of the machine in ns; -1 if the kernel does not report it. */
int64_t fm_disturbance_steal_now(void);

#endif
