/* Estimates of a whole run from its windows and from followed lines.

   Each number is estimated in up to three ways, and the narrowest interval is taken:

   - by instructions: the rate in windows, times the executed instructions (windows/totals.h);
   - by lines: the ratio in windows to the followed lines that enter a cache (or are written back), times the followed
   lines of the run. This includes the time between windows, and needs no weights of windows;
   - directly, at the last cache: the count of followed lines there, divided by the followed share of lines. Windows are
     too short for such a cache. Of lines prefetched in vain into the cache above, only those of followed pairs are
     followed; the others miss the last cache as often as lines that are not new to it.

   Loads and stores are counted for the whole run. Hits are the requests of a cache, less its misses. */
#ifndef FATHOM_WINDOWS_ESTIMATE_H
#define FATHOM_WINDOWS_ESTIMATE_H

#include "recording/recording.h"
#include "simulator/counters.h"

struct fm_estimate {
	double value, low, high; /* value and interval (95 %) */
};

/* Estimates by number: those of struct fm_core_counts first, then work, then cycles. */
enum {
	FM_ESTIMATE_WORK = FM_COUNTS_NUMBERS,
	FM_ESTIMATE_TIMING = FM_ESTIMATE_WORK + FM_WORK_NUMBERS,
	FM_ESTIMATE_PRODUCTIVE = FM_ESTIMATE_TIMING + FM_TIMING_NUMBERS, /* cycles with execution */
	/* lines that come into each cache, for any reason: better known than the reasons */
	FM_ESTIMATE_LINES_IN,
	FM_ESTIMATES = FM_ESTIMATE_LINES_IN + FM_SIMULATED_CACHES_MAX
};

struct fm_estimates {
	struct fm_estimate numbers[FM_ESTIMATES];
	unsigned windows;
};

/* Estimates of one process: only the numbers of struct fm_core_counts, and lines by cache. 0 or -ENOMEM. */
int fm_estimate_process(const struct fm_recording *recording, uint32_t process, struct fm_estimates *ret_estimates);

/* Estimates of all processes from their windows. 0 or -ENOMEM. */
int fm_estimate_all(const struct fm_recording *recording, struct fm_estimates *ret_estimates);

/* Adds the estimates of all processes to a complete recording; without windows, nothing. 0 or a negative errno. */
int fm_estimates_keep(struct fm_recording *recording);

/* The estimates of a recording; computed for recordings of earlier versions. False: out of memory. */
bool fm_estimates_of(const struct fm_recording *recording, struct fm_estimates *ret_estimates);

#endif
