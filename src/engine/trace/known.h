/* Windows of a process: their counts, and accesses with unknown outcome. At the begin of a window, caches have the
   stale contents of the previous window. A line is known from its first touch in the window on. Its first touch is a
   known miss only if the window's lines have already filled its set. */
#ifndef FATHOM_ENGINE_TRACE_KNOWN_H
#define FATHOM_ENGINE_TRACE_KNOWN_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/trace/weights.h"
#include "engine/results.h"

struct fm_consumer;
struct fm_traced_thread;

/* Lines that were touched in the window. */
struct fm_touched {
	uint64_t *lines;
	uint64_t mask;
	uint64_t used;
	uint64_t generation;
};

/* Touched lines in each set of a cache. */
struct fm_filled {
	const struct fm_array *array;
	uint32_t *sets; /* generation and count */
	uint64_t touched;
};

/* Adds a line. True if this is its first touch since the tables were forgotten. */
bool fm_touched_add(struct fm_touched *touched, uint64_t line);
void fm_touched_forget(struct fm_touched *touched);
/* Adds a line to its set, for a period of this number. True if the set was full of lines of this period. */
bool fm_filled_add(struct fm_filled *filled, uint64_t number, uint64_t line);

enum { FM_FILLED_MAX = FM_SIMULATED_CORES_MAX * FM_SIMULATED_CACHES_MAX };

struct fm_traced_windows {
	uint64_t number;          /* of the latest window */
	struct fm_weighed latest; /* its data so far; instructions 0: none */
	struct fm_weights weights;
	uint64_t numbers[FM_RESULT_WINDOWS_MAX];
	struct fm_touched cores[FM_SIMULATED_CORES_MAX];
	struct fm_touched all; /* of all cores, if there are several */
	struct fm_filled *filled[FM_SIMULATED_CORES_MAX][FM_SIMULATED_CACHES_MAX];
	struct fm_filled pool[FM_FILLED_MAX];
	unsigned pool_count;
};

/* A thread's part in a window. */
struct fm_traced_window {
	uint64_t number; /* 0: outside of windows */
	bool warm;       /* warm-up is complete: it counts */
	uint64_t begun;
	struct fm_work work;
	uint64_t outside; /* counted instructions outside of the single counted region */
	uint64_t string_lines;
	struct fm_core_counts counts;
	uint64_t unknown[FM_SIMULATED_CACHES_MAX];
	struct fm_result_known known;
	struct fm_result_group followed;
	bool is_closed; /* fm_window_enough() was called: `closed` has the final counts */
	struct fm_result_window closed;
};

/* Forgets all touched lines; also call before the first window. */
void fm_known_forget(struct fm_traced_windows *windows);

void fm_known_begin(struct fm_consumer *consumer, struct fm_traced_thread *thread, uint64_t number);
void fm_window_warm(struct fm_consumer *consumer, struct fm_traced_thread *thread);
void fm_known_end(struct fm_consumer *consumer, struct fm_traced_thread *thread, uint64_t executed);

/* Ends counting of this window in this thread: the counts so far suffice. */
void fm_window_enough(struct fm_consumer *consumer, struct fm_traced_thread *thread);

/* After the last window; `instructions`: executed by the process. */
void fm_windows_finish(struct fm_consumer *consumer, uint64_t instructions);

/* Simulates and counts an access of the thread. */
void fm_window_access(struct fm_consumer *consumer, struct fm_traced_thread *thread, struct fm_result_site *site,
                      uint64_t address, unsigned bytes, unsigned access);

/* Around an access that core timing simulates. Before: returns one bit per cache with unknown outcome. After, if any
   bit is set; `prefetched`: the core's `prefetch_hits` of each cache before the access. */
unsigned fm_window_touch(struct fm_consumer *consumer, const struct fm_traced_thread *thread, uint64_t address,
                         unsigned bytes);
void fm_window_note_unknown(struct fm_traced_thread *thread, unsigned unknown, const uint64_t *prefetched);

/* True if there is a table of the lines that the thread's core touched. */
bool fm_windows_know(const struct fm_consumer *consumer, const struct fm_traced_thread *thread);

enum { FM_TOUCHED_LINE_BITS = 44 };

/* First slot to probe for a line: a hash that keeps 8 adjacent lines together. */
static inline uint64_t fm_touched_place(const struct fm_touched *touched, uint64_t line)
{
	return (((line >> 3) * 0x9e3779b97f4a7c15u >> 32 << 3) | (line & 7)) & touched->mask;
}

/* Probes the first slot only: false may be wrong, true is certain. */
static inline bool fm_is_touched(const struct fm_touched *touched, uint64_t line)
{
	return touched->lines[fm_touched_place(touched, line)] == (line | touched->generation << FM_TOUCHED_LINE_BITS);
}

void fm_windows_destroy(struct fm_traced_windows *windows);

#endif
