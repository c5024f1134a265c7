/* Corrections of the cycles in windows. A window does not know the time before it: its caches may miss lines that the
   program's caches hold, or hold evicted lines. Write-backs to memory may come after its end. Followed lines show the
   true misses, reads and writes (windows/estimate.h); waiting cycles are scaled accordingly. */
#ifndef FATHOM_WINDOWS_CORRECT_H
#define FATHOM_WINDOWS_CORRECT_H

#include "windows/estimate.h"

/* The data of one process. */
struct fm_corrected {
	const struct fm_recording *recording;
	uint32_t process;
	const struct fm_recorded_window *windows;
	size_t count;
	const struct fm_estimates *estimates;
	double *values; /* scratch: two for each window */
};

/* The functions below change `factors`, one per number of struct fm_timing_counts (FM_TIMING_NUMBERS): its value for
   the whole run, divided by its sum over all windows. */

/* Sets the factors. Threads without timing in a window are treated like timed threads; windows without any timing like
   the window before. */
void fm_correct_partial(const struct fm_corrected *course, double *factors);

/* All corrections below, in order. `blocks`: cycles were summed over basic blocks, not over windows. */
void fm_correct_timing(const struct fm_corrected *course, bool blocks, double *factors);

/* Misses of the first cache, whose true number is known, divided by those represented by windows. Otherwise a phase
   with few instructions would count too much. */
double fm_correct_weight(const struct fm_corrected *course);

/* Load misses of each cache that were in truth hits. */
struct fm_false_misses {
	double seen;                              /* last-cache misses represented by windows */
	double of_cache[FM_SIMULATED_CACHES_MAX]; /* false ones; those of a cache include those of the next */
};

struct fm_false_misses fm_correct_find_misses(const struct fm_corrected *course, double weight);

/* False misses waited for memory: their cycles become waiting for the cache that has the line, in proportion to its
   latency. */
void fm_correct_latency(const struct fm_corrected *course, const struct fm_false_misses *misses, double *factors);

/* The reverse: of `hits` of the last cache, `misses` in truth missed and waited for memory. */
void fm_correct_hits(const struct fm_corrected *course, double hits, double misses, double *factors);

/* Lines read from memory only in the windows (windows/false_reads.h): reduces the waiting for memory bandwidth. */
void fm_correct_reads(const struct fm_corrected *course, double weight, double *factors);

/* Adds write-backs that reach memory after the end of their window (windows/late_writes.h). */
void fm_correct_writes(const struct fm_corrected *course, double weight, double *factors);

#endif
