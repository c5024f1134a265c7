/* Core timing of a native trace. Pieces say which instructions were executed, in which order; each takes the references
   that follow and are its own. What the trace does not have (gathers, handlers of signals, references that were lost)
   are instructions without accesses, or accesses without an instruction.

   Without windows everything is timed. In windows short stretches are, at random distances, since a timed instruction
   costs many times as much as a reference: each stands for the thread's instructions from there to the next. Their
   beginnings only fill the core's queues. */
#ifndef FATHOM_ENGINE_NATIVE_TIMING_H
#define FATHOM_ENGINE_NATIVE_TIMING_H

#include <stdbool.h>
#include <stdint.h>

#include "simulator/core.h"
#include "engine/results.h"

struct fm_consumer;
struct fm_native_thread;
struct fm_native_timing;
struct fm_timed_piece;
struct fm_trace_entry;

enum { FM_TIMING_NUMBERS = sizeof(struct fm_timing_counts) / sizeof(uint64_t) };

/* How far a thread is: instructions, and lines of string instructions, each of which counts as much as one. */
struct fm_native_course {
	uint64_t instructions, lines;
};

/* A thread's part. */
struct fm_native_timed {
	struct fm_core_timing *core;  /* NULL: no timing */
	bool on;                      /* its accesses are the core's now */
	struct fm_timed_piece *piece; /* under way; NULL: it is not known */
	uint32_t number;              /* of that piece */
	bool noted;                   /* the core's counts at its beginning are: */
	struct fm_timing_counts piece_from;
	struct fm_timing_counts
	    piece_strings; /* and what its long string instructions took since; of the latest one: */
	struct fm_timing_counts string_from;
	uint64_t string_lines; /* of the thread when that was */
	unsigned next;         /* of its instructions; these are its accesses so far: */
	unsigned count;
	struct fm_memory_access accesses[FM_INSTRUCTION_ACCESSES_MAX];
	struct fm_result_site *sites[FM_INSTRUCTION_ACCESSES_MAX];
	bool followed[FM_INSTRUCTION_ACCESSES_MAX];
	bool in_part;      /* it was executed, with accesses that did not fit */
	uint64_t executed; /* instructions, of the stretch */
	uint64_t parts;    /* the same, but each part of a string instruction is one */
	/* in windows */
	bool counting;
	uint64_t random;
	uint64_t pause;                  /* entries until the next stretch */
	struct fm_native_course began;   /* where the thread was when the stretch did … */
	struct fm_native_course over;    /* … and when the one before was over */
	uint64_t lines_before;           /* of the thread, when it began to count */
	struct fm_timing_counts before;  /* of the core, when it began to count */
	struct fm_timing_counts counted; /* in all stretches that are over */
	/* of the window: the last stretch that is over, from where on it stands for what the thread did, and what those
	   before it stand for */
	struct fm_timing_counts latest;
	uint64_t latest_lines;
	struct fm_native_course stands_from;
	uint64_t in_stretches; /* instructions that were counted */
	double stood[FM_TIMING_NUMBERS];
	struct fm_timing_counts published; /* of these, without windows */
};

/* With the consumer's hierarchy and results. */
int fm_timing_create(struct fm_consumer *consumer);
void fm_timing_destroy(struct fm_consumer *consumer);

void fm_timing_thread_begin(struct fm_consumer *consumer, struct fm_native_thread *thread);
void fm_timing_thread_end(struct fm_consumer *consumer, struct fm_native_thread *thread);

/* What comes next is not to be timed: a stretch ends. */
void fm_timing_interrupt(struct fm_consumer *consumer, struct fm_native_thread *thread);

/* Are the next entries of a thread whose references count, up to so many, to be timed? */
bool fm_timing_wants(struct fm_consumer *consumer, struct fm_native_thread *thread, uint64_t count);

/* As fm_native_feed(). */
uint64_t fm_timing_feed(struct fm_consumer *consumer, struct fm_native_thread *thread,
                        const struct fm_trace_entry *entries, uint64_t count);

/* A line's part of a repeated instruction, while timing is on. */
void fm_timing_access(struct fm_consumer *consumer, struct fm_native_thread *thread, struct fm_result_site *site,
                      uint64_t address, unsigned bytes, enum fm_access access);

/* A repeated instruction begins; a line of it was moved, at which the stretch may begin to count; it is over, and of
   that class (string_class.h). */
void fm_timing_string_begin(struct fm_native_thread *thread);
void fm_timing_string_line(const struct fm_consumer *consumer, struct fm_native_thread *thread);
void fm_timing_string_end(struct fm_consumer *consumer, struct fm_native_thread *thread, int class);

/* Nothing of it can happen before that cycle: others have gone on while it slept. */
void fm_timing_catch_up(struct fm_native_thread *thread, uint64_t until);

/* The piece under way is complete, and everything so far in the results. */
void fm_timing_settle(struct fm_consumer *consumer, struct fm_native_thread *thread);

/* Its core is to be another thread's; is its own again. */
void fm_timing_leave_core(struct fm_consumer *consumer, struct fm_native_thread *thread);
void fm_timing_enter_core(struct fm_consumer *consumer, struct fm_native_thread *thread);

/* What was counted of the thread, as it is; only differences mean something. The cycle that it has reached. */
struct fm_timing_counts fm_timing_so_far(const struct fm_consumer *consumer, const struct fm_native_thread *thread);
uint64_t fm_timing_now(const struct fm_native_thread *thread);

void fm_timing_window_warm(struct fm_consumer *consumer, struct fm_native_thread *thread);
/* The part's timing. The thread's work is settled. */
void fm_timing_window_end(struct fm_consumer *consumer, struct fm_native_thread *thread, struct fm_result_window *part);
/* What was timed in it stands for what the process executed since the window before: up to so many instructions. */
void fm_timing_window_over(struct fm_consumer *consumer, uint64_t executed);

/* Of the whole run, by pieces; `pieces` are all there are. */
struct fm_piece_total;
void fm_timing_sum_up(struct fm_consumer *consumer, const struct fm_piece_total *pieces, uint32_t count);

#endif
