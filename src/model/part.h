/* A part of a recording: the whole program, a thread, a region, or a region in one thread. */
#ifndef FATHOM_MODEL_PART_H
#define FATHOM_MODEL_PART_H

#include "recording/recording.h"

struct fm_part {
	const char *region; /* NULL: the whole program */
	int thread;         /* -1: all */
};

/* One thread in the part. */
struct fm_part_thread {
	unsigned thread;
	uint64_t instances; /* of the region */
	uint64_t elapsed;   /* cycles of simulated time up to the thread's end, or of the region, including waiting */
	const struct fm_core_counts *counts;
	const struct fm_timing_counts *timing;
	const struct fm_work *work;
	bool forked;     /* a thread of a forked process */
	uint64_t others; /* > 0: the entry represents this number of threads that ended early */
};

/* Visits each thread of the part. Threads and regions of forked processes belong to the whole program and to regions of
   all threads. */
void fm_part_each(const struct fm_recording *recording, const struct fm_part *part,
                  void (*visit)(void *context, const struct fm_part_thread *entry), void *context);

struct fm_part_sums {
	struct fm_core_counts counts;
	struct fm_timing_counts timing;
	struct fm_work work;
	uint64_t instances;
	unsigned threads;
	double longest; /* simulated time of the slowest thread, in cycles */
};

void fm_part_add(struct fm_part_sums *sums, const struct fm_part_thread *entry);
void fm_part_sum(const struct fm_recording *recording, const struct fm_part *part, struct fm_part_sums *ret_sums);

/* The name of the index-th region, by first entry; NULL after the last. */
const char *fm_part_region_name(const struct fm_recording *recording, unsigned index);

/* Accesses of a function, and the lines they filled into the first cache. */
struct fm_function_use {
	const char *function, *module;
	uint64_t accesses, lines;
};

/* Lists all functions of the recording. Returns their number; *ret_functions is allocated, NULL without memory. */
size_t fm_functions_use(const struct fm_recording *recording, struct fm_function_use **ret_functions);

/* Number of threads of the first process with a record. */
unsigned fm_part_thread_count(const struct fm_recording *recording);

#endif
