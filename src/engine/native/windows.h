/* Windows of a process: what is counted in each, and which accesses nobody can tell hits or misses of. The caches keep
   what they held at the end of the window before, which is stale. A line is known from its first touch in the window
   on; before, a cache is known not to hold it only if its set has been filled with other lines since. */
#ifndef FATHOM_ENGINE_NATIVE_WINDOWS_H
#define FATHOM_ENGINE_NATIVE_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/native/weights.h"
#include "engine/results.h"

struct fm_consumer;
struct fm_native_thread;

/* Lines that were touched in the window. */
struct fm_touched {
	uint64_t *lines;
	uint64_t mask;
	uint64_t used;
	uint64_t generation;
};

/* How many lines of each set of a cache were. */
struct fm_filled {
	const struct fm_array *array;
	uint32_t *sets; /* generation and count */
	uint64_t touched;
};

enum { FM_FILLED_MAX = FM_SIMULATED_CORES_MAX * FM_SIMULATED_CACHES_MAX };

struct fm_native_windows {
	uint64_t number;          /* of the latest */
	struct fm_weighed latest; /* what is known of it so far: instructions 0, nothing */
	struct fm_weights weights;
	uint64_t numbers[FM_RESULT_WINDOWS_MAX];
	struct fm_touched cores[FM_SIMULATED_CORES_MAX];
	struct fm_touched all; /* with more than one core */
	struct fm_filled *filled[FM_SIMULATED_CORES_MAX][FM_SIMULATED_CACHES_MAX];
	struct fm_filled pool[FM_FILLED_MAX];
	unsigned pool_count;
};

/* A thread's part in one. */
struct fm_native_window {
	uint64_t number; /* 0: in none */
	bool warm;       /* it counts */
	uint64_t begun;
	struct fm_work work;
	uint64_t outside; /* instructions since, outside of the region that alone is wanted */
	uint64_t string_lines;
	struct fm_core_counts counts;
	uint64_t unknown[FM_SIMULATED_CACHES_MAX];
	struct fm_result_known known;
	struct fm_result_group followed;
	bool is_closed; /* fm_window_enough() was called: nothing counts any more, and this is what did */
	struct fm_result_window closed;
};

/* No line has been touched. Also before the first window. */
void fm_windows_begin(struct fm_native_windows *windows);

void fm_window_begin(struct fm_consumer *consumer, struct fm_native_thread *thread, uint64_t number);
void fm_window_warm(struct fm_consumer *consumer, struct fm_native_thread *thread);
void fm_window_end(struct fm_consumer *consumer, struct fm_native_thread *thread, uint64_t executed);

/* What counted so far is enough: the rest of the window is not counted, in this thread. */
void fm_window_enough(struct fm_consumer *consumer, struct fm_native_thread *thread);

/* After the last one. What the process has executed is known now. */
void fm_windows_finish(struct fm_consumer *consumer, uint64_t instructions);

/* An access of the thread. */
void fm_window_access(struct fm_consumer *consumer, struct fm_native_thread *thread, struct fm_result_site *site,
                      uint64_t address, unsigned bytes, unsigned access);

/* Core timing makes the access itself. Before it: which caches cannot tell, one bit each. After it, if there are any,
   with what the core's `prefetch_hits` of each cache were before. */
unsigned fm_window_touch(struct fm_consumer *consumer, const struct fm_native_thread *thread, uint64_t address,
                         unsigned bytes);
void fm_window_note_unknown(struct fm_native_thread *thread, unsigned unknown, const uint64_t *prefetched);

/* Is there a table of lines that the thread's core touched? */
bool fm_windows_know(const struct fm_consumer *consumer, const struct fm_native_thread *thread);

enum { FM_TOUCHED_LINE_BITS = 44 };

/* Where a line is looked for first: neighbours beside each other, anything else anywhere. */
static inline uint64_t fm_touched_place(const struct fm_touched *touched, uint64_t line)
{
	return (((line >> 3) * 0x9e3779b97f4a7c15u >> 32 << 3) | (line & 7)) & touched->mask;
}

/* Most that were touched are found at the first look; what is not found may have been touched all the same. */
static inline bool fm_is_touched(const struct fm_touched *touched, uint64_t line)
{
	return touched->lines[fm_touched_place(touched, line)] == (line | touched->generation << FM_TOUCHED_LINE_BITS);
}

void fm_windows_destroy(struct fm_native_windows *windows);

#endif
