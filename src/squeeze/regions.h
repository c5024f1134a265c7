/* Progress by the rate of a marked region (include/fathom.h). Limits are switched while the program runs; two windows
   with and without them, in random order, are a pair. The result of a window is the mean time of an instance. */
#ifndef FATHOM_SQUEEZE_REGIONS_H
#define FATHOM_SQUEEZE_REGIONS_H

#include "base/random.h"
#include "counters/markers.h"

/* Sum over all threads. */
struct fm_region_count {
	uint64_t instances;
	double seconds;
};

struct fm_region_pair {
	double bytes, gbs;  /* limits of the pair */
	double whole, less; /* seconds per instance */
	bool less_first;
	bool disturbed;
};

struct fm_region_watch {
	/* set by the caller. next() returns the limits of the next pair, or false. toggle() sets or lifts them; false
	   if the limits since the last call were not effective */
	bool (*next)(void *context, double *ret_bytes, double *ret_gbs);
	bool (*toggle)(void *context, bool less, double bytes, double gbs);
	void (*done)(void *context, const struct fm_region_pair *pair);
	void *context;
	struct fm_random *random;
	uint64_t window_ns, settle_ns; /* settle_ns after a change is not counted */
	uint64_t least;                /* least instances of a window */
	/* zero at first */
	enum { FM_REGION_IDLE, FM_REGION_SETTLING, FM_REGION_COUNTING, FM_REGION_OVER } state;
	unsigned window; /* within the pair */
	struct fm_region_pair pair;
	struct fm_region_count at;
	uint64_t since;
};

/* Call it periodically while the program runs, with the time and the totals of the region. */
void fm_region_tick(struct fm_region_watch *watch, uint64_t now, const struct fm_region_count *count);

/* The region with the most time among those with enough instances in a run of `seconds`. NULL if there is none. */
const char *fm_region_choose(const struct fm_marked *marked, unsigned count, double seconds);

/* The file for the program's markers. Each run has a new one: children of an earlier run may still write to theirs. It
   disappears with the tool. */
struct fm_region_file;
int fm_region_file_open(struct fm_region_file **ret_file, struct fm_error *error);
int fm_region_file_renew(struct fm_region_file *file, struct fm_error *error);
struct fm_markers *fm_region_file_markers(const struct fm_region_file *file);
void fm_region_file_close(struct fm_region_file *file);

#endif
