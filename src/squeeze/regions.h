/* Progress by the rate of a region that the program has marked (include/fathom.h): interference is turned on and off
   while the program runs, and windows with and without it, one after the other in random order, are a pair. A window
   tells the mean time of an instance. */
#ifndef FATHOM_SQUEEZE_REGIONS_H
#define FATHOM_SQUEEZE_REGIONS_H

#include "base/random.h"
#include "counters/markers.h"

/* Of all threads together, so far. */
struct fm_region_count {
	uint64_t instances;
	double seconds;
};

struct fm_region_pair {
	double bytes, gbs;  /* that were left */
	double whole, less; /* seconds of an instance */
	bool less_first;
	bool disturbed;
};

struct fm_region_watch {
	/* by the caller. next() has the amounts of the next pair; false: there are no more. toggle() lets the program
	   have these, or everything; false: since the last time it did not have what it should have had. */
	bool (*next)(void *context, double *ret_bytes, double *ret_gbs);
	bool (*toggle)(void *context, bool less, double bytes, double gbs);
	void (*done)(void *context, const struct fm_region_pair *pair);
	void *context;
	struct fm_random *random;
	uint64_t window_ns, settle_ns; /* what comes right after a change is not counted */
	uint64_t least;                /* instances of a window */
	/* zeroed at first */
	enum { FM_REGION_IDLE, FM_REGION_SETTLING, FM_REGION_COUNTING, FM_REGION_OVER } state;
	unsigned window; /* of the pair */
	struct fm_region_pair pair;
	struct fm_region_count at;
	uint64_t since;
};

/* To be called again and again while the program runs, with the time and what the region did until then. */
void fm_region_tick(struct fm_region_watch *watch, uint64_t now, const struct fm_region_count *count);

/* The region that tells most of a run of so many seconds: of those that come often enough, the one with the most time.
   NULL: none does. */
const char *fm_region_choose(const struct fm_marked *marked, unsigned count, double seconds);

/* The file that the program's markers write to, a new one for each run: what a run has left behind may still write to
   its own. It is gone with the tool, however that ends. */
struct fm_region_file;
int fm_region_file_open(struct fm_region_file **ret_file, struct fm_error *error);
int fm_region_file_renew(struct fm_region_file *file, struct fm_error *error);
struct fm_markers *fm_region_file_markers(const struct fm_region_file *file);
void fm_region_file_close(struct fm_region_file *file);

#endif
