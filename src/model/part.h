/* A part of a run of the exact engine: everything, a thread, a region, or a region as one thread ran it. */
#ifndef FATHOM_MODEL_PART_H
#define FATHOM_MODEL_PART_H

#include "exact/engine.h"

struct fm_part {
	const char *region; /* NULL: everything */
	int thread;         /* -1: all */
};

/* What one thread did in the part. */
struct fm_part_entry {
	unsigned thread;
	uint64_t instances; /* of the region */
	uint64_t elapsed;   /* cycles of simulated time: until its end, or of the region; waiting included */
	struct fm_core_counts counts;
	struct fm_timing_counts timing;
	const struct fm_work *work;
	bool forked; /* a thread of a forked process */
};

/* Threads and regions of forked processes are parts of everything, and of regions as a whole. */
void fm_part_each(const struct fm_engine_run *run, const struct fm_part *part,
                  void (*visit)(void *context, const struct fm_part_entry *entry), void *context);

struct fm_part_sums {
	struct fm_core_counts counts;
	struct fm_timing_counts timing;
	struct fm_work work;
	uint64_t instances;
	unsigned threads;
	double longest; /* simulated time of the thread that took longest, in cycles */
};

void fm_part_add(struct fm_part_sums *sums, const struct fm_part_entry *entry);
void fm_part_sum(const struct fm_engine_run *run, const struct fm_part *part, struct fm_part_sums *ret_sums);

/* The name of the index-th region, in the order in which they were first entered; false after the last. `ret_name` has
   room for FM_RESULT_NAME. */
bool fm_part_region_name(const struct fm_engine_run *run, unsigned index, char *ret_name);

#endif
