/* A part of what was recorded: everything, a thread, a region, or a region as one thread ran it. */
#ifndef FATHOM_MODEL_PART_H
#define FATHOM_MODEL_PART_H

#include "recording/recording.h"

struct fm_part {
	const char *region; /* NULL: everything */
	int thread;         /* -1: all */
};

/* What one thread did in the part. */
struct fm_part_entry {
	unsigned thread;
	uint64_t instances; /* of the region */
	uint64_t elapsed;   /* cycles of simulated time: until its end, or of the region; waiting included */
	const struct fm_core_counts *counts;
	const struct fm_timing_counts *timing;
	const struct fm_work *work;
	bool forked;     /* a thread of a forked process */
	uint64_t others; /* > 0: it stands for so many threads that ended early */
};

/* Threads and regions of forked processes are parts of everything, and of regions as a whole. */
void fm_part_each(const struct fm_recording *recording, const struct fm_part *part,
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
void fm_part_sum(const struct fm_recording *recording, const struct fm_part *part, struct fm_part_sums *ret_sums);

/* The name of the index-th region, in the order in which they were first entered; NULL after the last. */
const char *fm_part_region_name(const struct fm_recording *recording, unsigned index);

/* What a function accessed, and the lines that came into the first cache because of it. */
struct fm_function_use {
	const char *function, *module;
	uint64_t accesses, lines;
};

/* All functions of the recording. Returns how many; the list is allocated, NULL when there is no memory. */
size_t fm_functions_use(const struct fm_recording *recording, struct fm_function_use **ret_functions);

/* Threads of the first process that have a record of their own. */
unsigned fm_part_thread_count(const struct fm_recording *recording);

#endif
