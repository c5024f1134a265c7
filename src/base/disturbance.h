/* How much the machine interferes with a measurement.

   Around every trial the watch notes the time this thread had to wait for its CPU, its involuntary context switches,
   the time the hypervisor stole from the CPU, and a heartbeat: a fixed chain of additions whose duration in an
   undisturbed moment is known, so that a changed clock or a stalled vCPU shows. A clock that changes and stays (other
   cores have work, and there is less boost) is a disturbance for a second, and then one of two that the machine has. */
#ifndef FATHOM_BASE_DISTURBANCE_H
#define FATHOM_BASE_DISTURBANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/figure.h"
#include "base/statistics.h"

enum fm_disturbance_cause {
	FM_DISTURBANCE_WAITED,    /* another task had the CPU */
	FM_DISTURBANCE_STOLEN,    /* the hypervisor had it */
	FM_DISTURBANCE_HEARTBEAT, /* the core ran slower than it can */
	FM_DISTURBANCE_CAUSES
};

/* What a whole measurement saw. Plain numbers, to be added up. */
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
	int64_t steal_before;
	int64_t steal_first;
	uint64_t steal_read_ns;
	double beat_before;
	/* a heartbeat slower than the best that has stayed the same, and one that did so for long: another clock */
	double steady, other;
	uint64_t steady_since;
	unsigned steady_trials;
	struct fm_sample beats; /* of trials in which this thread had its CPU, at whatever clock */
};

/* ns per addition of a dependent chain on the current core, now: the reciprocal is the clock in GHz. About 10 µs. */
double fm_heartbeat(void);

/* Watch the calling thread. Missing /proc files are not an error: their causes are then never seen. */
void fm_disturbance_open(struct fm_disturbance_watch *watch);
void fm_disturbance_close(struct fm_disturbance_watch *watch);

void fm_disturbance_begin(struct fm_disturbance_watch *watch);

/* True when the trial since begin was disturbed. may_wait: waiting of this thread does not matter. ret_beat, the faster
   heartbeat around it in ns, may be NULL. */
bool fm_disturbance_end(struct fm_disturbance_watch *watch, bool may_wait, double *ret_beat);

/* The clock in GHz over all trials so far: the mean, and what holds 95 % of them. Not available before the first. */
struct fm_figure fm_disturbance_clock(const struct fm_disturbance_watch *watch);

/* Share of trials that were disturbed, 0 … 1. */
double fm_disturbance_share(const struct fm_disturbance *disturbance);

/* The steal time of the machine so far in ns, -1 when the kernel does not tell. */
int64_t fm_disturbance_steal_now(void);

#endif
