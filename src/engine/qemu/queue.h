/* While the program has one thread, its accesses are simulated by a thread of ours beside it: the program's side only
   writes them down. With a second thread the order of their turns depends on what the simulator says, and it runs in
   the program's threads again.
   SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FATHOM_ENGINE_QEMU_QUEUE_H
#define FATHOM_ENGINE_QEMU_QUEUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/results.h"

enum {
	FM_QUEUE_LENGTH = 1 << 12, /* short enough to be worked off while a program dies */
	FM_QUEUE_BATCH = 64,       /* so many are handed over at a time */
	FM_QUEUE_AHEAD = 32,       /* so far ahead of their use they are fetched */
	FM_QUEUE_BYTES_SHIFT = 48, /* user addresses have 47 bits */
	FM_QUEUE_ACCESS_SHIFT = 56,
	FM_QUEUE_SAMPLED = 0x80, /* with the kind: this one is a sample */
};

struct fm_stream_sample;

struct fm_queued {
	uint64_t access; /* address, bytes, kind */
	struct fm_result_site *site;
};

static inline uint64_t fm_queued_address(const struct fm_queued *queued)
{
	return queued->access & ((1ull << FM_QUEUE_BYTES_SHIFT) - 1);
}

static inline unsigned fm_queued_bytes(const struct fm_queued *queued)
{
	return queued->access >> FM_QUEUE_BYTES_SHIFT & 0xff;
}

static inline enum fm_access fm_queued_access(const struct fm_queued *queued)
{
	return (enum fm_access)(queued->access >> FM_QUEUE_ACCESS_SHIFT);
}

/* Each side has its own lines. */
struct fm_queue {
	_Alignas(
	    FM_APART) _Atomic uint64_t written; /* the program's side: so many, the last few perhaps not handed over */
	uint64_t known_read;
	struct fm_result_queue *counters; /* in the results, so that it is known what was left over at a violent end */
	_Alignas(FM_APART) struct fm_queued entries[FM_QUEUE_LENGTH];
	struct fm_stream_sample *samples[FM_QUEUE_LENGTH]; /* of those that are */
};

/* The queue while this thread's accesses go there, else NULL. */
extern __thread struct fm_queue *fm_tracing_queue __attribute__((tls_model("initial-exec")));

/* Hand over what is complete, and wait while there is no room for another batch. */
void fm_queue_hand_over(struct fm_queue *queue);

static inline void fm_queue_push(struct fm_queue *queue, struct fm_result_site *site, uint64_t address, unsigned bytes,
                                 unsigned access)
{
	uint64_t written = atomic_load_explicit(&queue->written, memory_order_relaxed);
	struct fm_queued *entry = &queue->entries[written % FM_QUEUE_LENGTH];

	entry->access = address | (uint64_t)bytes << FM_QUEUE_BYTES_SHIFT | (uint64_t)access << FM_QUEUE_ACCESS_SHIFT;
	entry->site = site;
	atomic_store_explicit(&queue->written, written + 1, memory_order_release);
	if (__builtin_expect((written + 1) % FM_QUEUE_BATCH == 0, 0))
		fm_queue_hand_over(queue);
}

/* One that is a sample. */
static inline void fm_queue_push_sample(struct fm_queue *queue, struct fm_result_site *site, uint64_t address,
                                        unsigned bytes, unsigned access, struct fm_stream_sample *sample)
{
	queue->samples[atomic_load_explicit(&queue->written, memory_order_relaxed) % FM_QUEUE_LENGTH] = sample;
	fm_queue_push(queue, site, address, bytes, access | FM_QUEUE_SAMPLED);
}

/* The sample that an entry of the queue is. */
struct fm_stream_sample *fm_queue_sample(const struct fm_queued *entry);

struct fm_engine_thread;

/* The program's only thread begins: simulate beside it, if there is a processor for that. */
void fm_queue_begin(struct fm_engine_thread *thread);

/* Wait until everything written down has been simulated. */
void fm_queue_drain(void);

/* The same, and no more of this: the program gets another thread. */
void fm_queue_end(void);

/* In a forked child, which has not inherited our thread. */
void fm_queue_after_fork(void);

/* Is it in use? */
struct fm_queue *fm_queue_active(void);

#endif
