/* Core timing of a native trace. Pieces give the executed instructions in order; each instruction gets its references
   from the entries that follow. Missing entries (gathers, signal handlers, lost references) leave instructions without
   accesses, or accesses without an instruction.
   Without windows, all instructions are timed. In windows only short stretches at random distances are timed, since a
   timed instruction costs many times as much as a reference. A stretch represents the thread's instructions up to the
   next stretch; its beginning only fills the core's queues. */
#ifndef FATHOM_ENGINE_TRACE_TIMING_H
#define FATHOM_ENGINE_TRACE_TIMING_H

#include <stdbool.h>
#include <stdint.h>

#include "simulator/core.h"
#include "engine/results.h"
#include "simulator/counters.h"

struct fm_consumer;
struct fm_traced_thread;
struct fm_traced_timing;
struct fm_timed_piece;
struct fm_trace_entry;

/* Position of a thread: instructions, plus lines of string instructions with the same weight. */
struct fm_traced_course {
	uint64_t instructions, lines;
};

/* Core timing of one thread. */
struct fm_traced_timed {
	struct fm_core_timing *core;  /* NULL: no timing */
	bool on;                      /* its accesses go to the core */
	struct fm_timed_piece *piece; /* the current piece; NULL: unknown */
	uint32_t number;              /* number of that piece */
	bool noted;                   /* piece_from has the core's counts at its beginning */
	struct fm_timing_counts piece_from;
	struct fm_timing_counts
	    piece_strings; /* time of its long string instructions since; the core's counts before the latest: */
	struct fm_timing_counts string_from;
	uint64_t string_lines; /* the thread's string lines at that time */
	unsigned next;         /* index of its next instruction, with these accesses so far: */
	unsigned count;
	struct fm_memory_access accesses[FM_INSTRUCTION_ACCESSES_MAX];
	struct fm_result_site *sites[FM_INSTRUCTION_ACCESSES_MAX];
	bool followed[FM_INSTRUCTION_ACCESSES_MAX];
	bool in_part;      /* already executed in part, since its accesses did not fit */
	uint64_t executed; /* instructions of the stretch */
	uint64_t parts;    /* … counting each part of a string instruction */
	/* only in windows */
	bool counting;
	uint64_t random;
	uint64_t pause;                  /* entries until the next stretch */
	struct fm_traced_course began;   /* begin of the stretch … */
	struct fm_traced_course over;    /* … and end of the previous stretch */
	uint64_t lines_before;           /* the thread's string lines when the stretch began to count */
	struct fm_timing_counts before;  /* the core's counts when the stretch began to count */
	struct fm_timing_counts counted; /* sum of completed stretches */
	/* of the window: the last complete stretch, the position from which it represents the thread, and the
	   extrapolated sums of earlier stretches */
	struct fm_timing_counts latest;
	uint64_t latest_lines;
	struct fm_traced_course stands_from;
	uint64_t in_stretches; /* counted instructions of the window */
	double stood[FM_TIMING_NUMBERS];
	struct fm_timing_counts published; /* of these, already in the results; without windows */
};

/* Needs the consumer's hierarchy and results. 0 or -errno. */
int fm_timing_create(struct fm_consumer *consumer);
void fm_timing_destroy(struct fm_consumer *consumer);

void fm_timing_thread_begin(struct fm_consumer *consumer, struct fm_traced_thread *thread);
void fm_timing_thread_end(struct fm_consumer *consumer, struct fm_traced_thread *thread);

/* Ends a stretch before entries that are not timed. */
void fm_timing_interrupt(struct fm_consumer *consumer, struct fm_traced_thread *thread);

/* For a thread whose references are counted: true if its next entries are timed; otherwise skips up to `count`
   entries. */
bool fm_timing_wants(struct fm_consumer *consumer, struct fm_traced_thread *thread, uint64_t count);

/* fm_traced_feed() with timing. */
uint64_t fm_timing_feed(struct fm_consumer *consumer, struct fm_traced_thread *thread,
                        const struct fm_trace_entry *entries, uint64_t count);

/* Access of a repeated instruction to one line, while timing is on. */
void fm_timing_access(struct fm_consumer *consumer, struct fm_traced_thread *thread, struct fm_result_site *site,
                      uint64_t address, unsigned bytes, enum fm_access access);

/* Begin of a repeated instruction; one moved line, after which the stretch may begin to count; its end, with its class
   (string_class.h). */
void fm_timing_string_begin(struct fm_traced_thread *thread);
void fm_timing_string_line(const struct fm_consumer *consumer, struct fm_traced_thread *thread);
void fm_timing_string_end(struct fm_consumer *consumer, struct fm_traced_thread *thread, int class);

/* Advances the thread's core to a cycle: other threads ran while it slept. */
void fm_timing_catch_up(struct fm_traced_thread *thread, uint64_t until);

/* Completes the current piece and writes all counts into the results. */
void fm_timing_settle(struct fm_consumer *consumer, struct fm_traced_thread *thread);

/* Before another thread gets the core; after the thread has regained the core. */
void fm_timing_leave_core(struct fm_consumer *consumer, struct fm_traced_thread *thread);
void fm_timing_enter_core(struct fm_consumer *consumer, struct fm_traced_thread *thread);

/* Counts of the thread, meaningful as differences only. The second function returns the thread's cycle. */
struct fm_timing_counts fm_timing_so_far(const struct fm_consumer *consumer, const struct fm_traced_thread *thread);
uint64_t fm_timing_now(const struct fm_traced_thread *thread);

void fm_timing_window_warm(struct fm_consumer *consumer, struct fm_traced_thread *thread);
/* Writes the timing into the thread's part of a window. The thread's work is settled. */
void fm_timing_window_end(struct fm_consumer *consumer, struct fm_traced_thread *thread, struct fm_result_window *part);
/* Ends a window: its timed code represents the code executed since the previous window. `executed`: instructions of the
   process so far. */
void fm_timing_window_over(struct fm_consumer *consumer, uint64_t executed);

/* Writes the timing of the whole run by pieces into the results; `pieces` has all pieces. */
struct fm_piece_total;
void fm_timing_sum_up(struct fm_consumer *consumer, const struct fm_piece_total *pieces, uint32_t count);

#endif
