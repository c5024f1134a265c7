/* Long string instructions in windows. One instruction may clear hundreds of megabytes, all lines alike: a few thousand
   lines represent most of the others. The last lines are simulated again, for the contents of the caches. */
#ifndef FATHOM_ENGINE_TRACE_LONG_STRING_H
#define FATHOM_ENGINE_TRACE_LONG_STRING_H

#include <stdint.h>

#include "simulator/core.h"
#include "engine/results.h"

struct fm_consumer;
struct fm_traced_rest;
struct fm_traced_thread;

/* Lines of each stream of the instruction: FILLS precede the sample, to fill queues and train prefetchers. */
enum { FM_LONG_STRING_FILLS = 8192, FM_LONG_STRING_SAMPLE = 4096 };

/* The counts at the beginning of the sample. */
struct fm_long_string {
	struct fm_core_counts counts;
	struct fm_timing_counts timing;
	uint64_t delay;
	uint64_t unknown[FM_SIMULATED_CACHES_MAX];
	struct fm_result_known known;
	struct fm_result_place *places[2]; /* places of its loads and stores; the second may be NULL */
	struct fm_result_place before[2];
};

/* The number of lines that the sample represents; 0: all lines are simulated. */
uint64_t fm_long_string_passes(const struct fm_consumer *consumer, uint64_t bytes);

void fm_long_string_begin(const struct fm_traced_thread *thread, const struct fm_traced_rest *first,
                          const struct fm_traced_rest *second, struct fm_long_string *ret_sample);

/* Extrapolates the counts since the begin of the sample to `lines` more lines. The caller counts accesses and followed
   lines. */
void fm_long_string_stand_for(struct fm_traced_thread *thread, const struct fm_long_string *sample, uint64_t lines);

#endif
