/* Data shared by the parts of the plugin.
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

/* An open region. */
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
	/* simulated time: instructions plus the latency of misses, or with timing the core's cycles */
	uint64_t clock;
	uint64_t limit; /* clock of the next check for another thread's turn */
	/* parts of a wide access */
	const void *pieces_of;
	unsigned pieces_left;
	uint64_t next_piece;
	/* the current repeated instruction: its open accesses, and the instruction count at the last entry of its
	   block; while this count is unchanged, an entry of the block is the next element */
	struct fm_gathered gathered[2];
	bool gathers; /* disables the fast path */
	const struct fm_result_site *repeats;
	uint64_t repeats_since;
	const void *goes_on_in;          /* the block of the gathering instruction, for a single thread with a queue */
	bool makes_thread, wakes, waits; /* effects of the current system call */
	struct fm_engine_open open[FM_ENGINE_OPEN_MAX];
	unsigned open_count;
	/* with timing: the current block */
	const struct block *block;
	unsigned kept_count;
	const struct fm_result_site *began; /* the repeated instruction before which its block is fed */
	unsigned fed;                       /* instructions of the block fed to the core */
	bool fed_in_part;                   /* the next instruction is fed with a part of its accesses */
	const struct fm_decoded *repeated;  /* the gathering instruction, of this block or of its first block */
	uint64_t flushes;
	/* affinity: the mask set for the thread, and the state of the current call */
	unsigned char mask[FM_ENGINE_MASK_BYTES], mask_saved[FM_ENGINE_MASK_BYTES];
	bool has_mask, mask_only_on_success;
	uint64_t mask_address;
	size_t mask_bytes;
	/* turns */
	struct fm_engine_thread *next;
	pthread_cond_t wake;
	bool blocked;
	bool pauses;    /* waits for a time or a futex: unknown calls of other threads do not wake it */
	bool calling;   /* in a system call that keeps the turn */
	bool taken;     /* the turn was withdrawn, since the call waits */
	uint64_t calls; /* sequence number of system calls */
	/* list of live threads; protected by the engine's mutex */
	struct fm_engine_thread *next_live, *previous_live;
	struct fm_result_thread own; /* its record if the results have no room */
	struct fm_engine_access kept[FM_ENGINE_KEPT_MAX];
};

struct fm_engine {
	struct fm_account *account;
	char results_path[400], first_path[400];
	struct fm_core_timing *timings[FM_SIMULATED_CORES_MAX];
	bool x86, timing, deterministic;
	uint64_t every; /* sampling period in references; 0: no samples */
	bool follows;   /* follows calls and returns */
	uint64_t skew;
	unsigned core_list[FM_SIMULATED_CORES_MAX];
	unsigned core_list_count;
	unsigned core_users[FM_SIMULATED_CORES_MAX];
	unsigned threads_begun;
	struct fm_engine_thread *live; /* latest first */
	struct fm_results *first;      /* first page of the first process's results; may be NULL */
	char region_only[FM_RESULT_NAME];
	uint64_t first_instance, last_instance;
	uint64_t window_begin, window_end;
	pthread_mutex_t mutex;
};

extern struct fm_engine fm_engine;
extern __thread struct fm_engine_thread *fm_self __attribute__((tls_model("initial-exec")));
/* this thread's core while its accesses are counted and simulated in place, else NULL */
extern __thread struct fm_simulated_core *fm_tracing_core __attribute__((tls_model("initial-exec")));

struct fm_engine_thread *fm_engine_thread_begin(void);

/* Moves a thread to another core. The engine's mutex is held, and the thread does not run. */
void fm_engine_move(struct fm_engine_thread *thread, unsigned core);

/* Called when the thread loses the turn; when it regains the turn. */
void fm_engine_away(struct fm_engine_thread *thread);
void fm_engine_back(struct fm_engine_thread *thread);

/* The simulated time of a thread; callable from other threads. */
static inline uint64_t fm_thread_clock(const struct fm_engine_thread *thread)
{
	if (thread->timing)
		return *(const volatile uint64_t *)&thread->clock;
	return *(const volatile uint64_t *)&thread->record->work.instructions +
	       *(const volatile uint64_t *)&thread->side.delay;
}

/* Advances the clock of a thread that did not run. With timing, its core idles, unless another thread shares it. */
static inline void fm_thread_set_clock(struct fm_engine_thread *thread, uint64_t clock)
{
	if (thread->timing && fm_engine.core_users[thread->core->index] == 1)
		fm_core_skip(thread->timing, clock);
	thread->clock = thread->timing ? fm_core_now(thread->timing) : clock;
	thread->side.delay = clock - thread->record->work.instructions;
}

#endif
