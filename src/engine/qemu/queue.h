/* Queue to a simulator thread. A single-threaded program only enqueues its accesses, and the plugin's thread simulates
   them. With several threads, turns depend on simulated time, so each thread simulates its own accesses.
   SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FATHOM_ENGINE_QEMU_QUEUE_H
#define FATHOM_ENGINE_QEMU_QUEUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/results.h"

enum {
	FM_QUEUE_LENGTH = 1 << 12, /* short enough to be drained while a program dies */
	FM_QUEUE_BATCH = 64,       /* entries published together */
	FM_QUEUE_AHEAD = 32,       /* prefetch distance in entries */
	FM_QUEUE_BYTES_SHIFT = 48, /* user addresses have 47 bits */
	FM_QUEUE_ACCESS_SHIFT = 56,
	FM_QUEUE_SAMPLED = 0x80, /* bit of the kind: the access is a sample */
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

/* Producer and consumer write different cache lines. */
struct fm_queue {
	_Alignas(FM_APART) _Atomic uint64_t written; /* by the producer; the last batch may be unpublished */
	uint64_t known_read;
	struct fm_result_queue *counters; /* in the results: show the unprocessed entries after a crash */
	_Alignas(FM_APART) struct fm_queued entries[FM_QUEUE_LENGTH];
	struct fm_stream_sample *samples[FM_QUEUE_LENGTH]; /* of entries with FM_QUEUE_SAMPLED */
};

/* The queue of this thread's accesses; NULL: simulated in place. */
extern __thread struct fm_queue *fm_tracing_queue __attribute__((tls_model("initial-exec")));

/* Publishes complete batches and waits for room for another batch. */
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

/* Enqueues an access that is a sample. */
static inline void fm_queue_push_sample(struct fm_queue *queue, struct fm_result_site *site, uint64_t address,
                                        unsigned bytes, unsigned access, struct fm_stream_sample *sample)
{
	queue->samples[atomic_load_explicit(&queue->written, memory_order_relaxed) % FM_QUEUE_LENGTH] = sample;
	fm_queue_push(queue, site, address, bytes, access | FM_QUEUE_SAMPLED);
}

/* The sample of a queue entry. */
struct fm_stream_sample *fm_queue_sample(const struct fm_queued *entry);

struct fm_engine_thread;

/* For the program's first thread: starts the simulator thread if a processor is free. */
void fm_queue_begin(struct fm_engine_thread *thread);

/* Waits until all enqueued accesses are simulated. */
void fm_queue_drain(void);

/* Drains and stops the simulator thread, before the program gets a second thread. */
void fm_queue_end(void);

/* Resets the state in a forked child, which lacks the simulator thread. */
void fm_queue_after_fork(void);

/* The queue, NULL if it is not in use. */
struct fm_queue *fm_queue_active(void);

#endif
