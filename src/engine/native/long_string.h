/* Long string instructions in windows. One instruction may clear hundreds of megabytes, and it does the same line after
   line: a few thousand of its lines stand for most of the others. The last ones are simulated again, so that the caches
   hold afterwards what they would. */
#ifndef FATHOM_ENGINE_NATIVE_LONG_STRING_H
#define FATHOM_ENGINE_NATIVE_LONG_STRING_H

#include <stdint.h>

#include "simulator/core.h"
#include "engine/results.h"

struct fm_consumer;
struct fm_native_rest;
struct fm_native_thread;

/* Lines of each stream of the instruction: those before the sample fill queues and wake prefetchers. */
enum { FM_LONG_STRING_FILLS = 8192, FM_LONG_STRING_SAMPLE = 4096 };

/* What had been counted when the sample began. */
struct fm_long_string {
	struct fm_core_counts counts;
	struct fm_timing_counts timing;
	uint64_t delay;
	uint64_t unknown[FM_SIMULATED_CACHES_MAX];
	struct fm_result_known known;
	struct fm_result_place *places[2]; /* of its loads and stores; the second may be NULL */
	struct fm_result_place before[2];
};

/* How many lines, of so many bytes, the sample will stand for; 0: all are simulated. */
uint64_t fm_long_string_passes(const struct fm_consumer *consumer, uint64_t bytes);

void fm_long_string_begin(const struct fm_native_thread *thread, const struct fm_native_rest *first,
                          const struct fm_native_rest *second, struct fm_long_string *ret_sample);

/* What was counted since the sample began is counted again, as often as so many lines need. Accesses and followed lines
   are the caller's. */
void fm_long_string_stand_for(struct fm_native_thread *thread, const struct fm_long_string *sample, uint64_t lines);

#endif
