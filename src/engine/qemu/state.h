/* What the parts of the plugin share.
   SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FATHOM_ENGINE_QEMU_STATE_H
#define FATHOM_ENGINE_QEMU_STATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "simulator/core.h"
#include "simulator/hierarchy.h"
#include "engine/account/account.h"
#include "engine/qemu/repeated.h"
#include "engine/results.h"

enum { FM_ENGINE_OPEN_MAX = 32, FM_ENGINE_KEPT_MAX = 4096, FM_ENGINE_MASK_BYTES = 128 };

/* FATHOM_MARKER_CALL, FATHOM_QUESTION_FILE and FATHOM_ANSWER of include/fathom.h */
#define FM_MARKER_CALL 0x46617468L
#define FM_QUESTION_FILE (-0x46617468L)
#define FM_ANSWER 0x656e69676e456d46ULL

/* A region that has begun. */
struct fm_engine_open {
	struct fm_result_region *region;
	struct fm_work work;
	struct fm_core_counts counts;
	struct fm_timing_counts timing;
	uint64_t clock;
};

struct fm_decoded;
struct fm_stream_sample;

struct fm_engine_access {
	struct fm_memory_access access;
	unsigned index;
	struct fm_result_site *site;
	struct fm_stream_sample *sample; /* NULL for most */
};

struct fm_engine_thread {
	_Alignas(FM_APART) struct fm_engine_side side;
	_Alignas(FM_APART) struct fm_simulated_core *core;
	struct fm_result_thread *record;
	struct fm_core_timing *timing;
	unsigned index;
	bool tracing;
	/* simulated time: instructions and what misses delayed them, or with timing the core's cycles */
	uint64_t clock;
	uint64_t limit; /* when to look whose turn it is */
	/* pieces of a wide access */
	const void *pieces_of;
	unsigned pieces_left;
	uint64_t next_piece;
	/* the repeated instruction under way: its elements so far, and how many instructions there were when its block
	   was entered last; as long as there are no more, its block is only entered for the next element */
	struct fm_gathered gathered[2];
	bool gathers; /* the usual path is closed meanwhile */
	const struct fm_result_site *repeats;
	uint64_t repeats_since;
	const void *goes_on_in;          /* while it gathers, and is alone: its own block */
	bool makes_thread, wakes, waits; /* what the system call under way does */
	struct fm_engine_open open[FM_ENGINE_OPEN_MAX];
	unsigned open_count;
	/* with timing: the block under way */
	const struct block *block;
	unsigned kept_count;
	const struct fm_result_site *began; /* the repeated instruction whose block has been fed up to it */
	unsigned fed;                       /* instructions of the block that the core has */
	bool fed_in_part;                   /* the next one, not with all its accesses yet */
	const struct fm_decoded *repeated;  /* the one that gathers, of this block or of the one it was first in */
	uint64_t flushes;
	/* affinity: what it was given, and the call under way */
	unsigned char mask[FM_ENGINE_MASK_BYTES], mask_saved[FM_ENGINE_MASK_BYTES];
	bool has_mask, mask_only_on_success;
	uint64_t mask_address;
	size_t mask_bytes;
	/* turns */
	struct fm_engine_thread *next;
	pthread_cond_t wake;
	bool blocked;
	bool pauses;    /* waits for the time or a futex: nobody else's call wakes it without our knowing */
	bool calling;   /* in a system call, with the turn */
	bool taken;     /* the turn was taken away, since the call waits */
	uint64_t calls; /* system calls, to tell one from the next */
	/* among all live ones; with the engine's mutex */
	struct fm_engine_thread *next_live, *previous_live;
	struct fm_result_thread own; /* its record when there is no room in the results */
	struct fm_engine_access kept[FM_ENGINE_KEPT_MAX];
};

struct fm_engine {
	char results_path[400], first_path[400];
	struct fm_core_timing *timings[FM_SIMULATED_CORES_MAX];
	bool x86, timing, deterministic;
	uint64_t every; /* of so many references one is a sample; 0: there are none */
	bool follows;   /* calls and returns */
	uint64_t skew;
	unsigned core_list[FM_SIMULATED_CORES_MAX];
	unsigned core_list_count;
	unsigned core_users[FM_SIMULATED_CORES_MAX];
	unsigned threads_begun;
	struct fm_engine_thread *live; /* the latest first */
	struct fm_results *first;      /* the first process's, of which only the first page is mapped; may be NULL */
	char region_only[FM_RESULT_NAME];
	uint64_t first_instance, last_instance;
	uint64_t window_begin, window_end;
	pthread_mutex_t mutex;
};

extern struct fm_engine fm_engine;
extern __thread struct fm_engine_thread *fm_self __attribute__((tls_model("initial-exec")));
/* this thread's core while its accesses count, else NULL */
extern __thread struct fm_simulated_core *fm_tracing_core __attribute__((tls_model("initial-exec")));

struct fm_engine_thread *fm_engine_thread_begin(void);

/* The thread goes on on another core. With the engine's mutex held; the thread does not run. */
void fm_engine_move(struct fm_engine_thread *thread, unsigned core);

/* It has the turn no more; it has it again. */
void fm_engine_away(struct fm_engine_thread *thread);
void fm_engine_back(struct fm_engine_thread *thread);

/* How far a thread is. Others may ask. */
static inline uint64_t fm_thread_clock(const struct fm_engine_thread *thread)
{
	if (thread->timing)
		return *(const volatile uint64_t *)&thread->clock;
	return *(const volatile uint64_t *)&thread->record->work.instructions +
	       *(const volatile uint64_t *)&thread->side.delay;
}

/* Time went on without it. With timing its core does nothing meanwhile, unless it is another thread's too. */
static inline void fm_thread_set_clock(struct fm_engine_thread *thread, uint64_t clock)
{
	if (thread->timing && fm_engine.core_users[thread->core->index] == 1)
		fm_core_skip(thread->timing, clock);
	thread->clock = thread->timing ? fm_core_now(thread->timing) : clock;
	thread->side.delay = clock - thread->record->work.instructions;
}

#endif
