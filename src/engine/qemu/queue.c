/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/qemu/queue.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/processor.h"
#include "engine/qemu/accesses.h"
#include "engine/qemu/state.h"

enum { SPINS = 4000, YIELD_EVERY = 256, LOOK_EVERY = 64, STEP = 256, NAP_NS = 1000000 };

__thread struct fm_queue *fm_tracing_queue __attribute__((tls_model("initial-exec")));

static struct fm_queue queue;
static struct fm_engine_side *of; /* the thread whose accesses they are */
static bool active;
static bool has_thread;
static _Atomic uint32_t napping;

/* The other side may want the very processor we wait on. */
static void wait_a_little(unsigned times)
{
	if (times % YIELD_EVERY)
		fm_pause();
	else
		sched_yield();
}

/* Sleep until something comes. The nap is short in case the call to wake is missed. */
static void nap(struct fm_result_queue *counters, uint64_t seen)
{
	struct timespec limit = {0, NAP_NS};

	atomic_store(&napping, 1);
	if (atomic_load(&counters->written) == seen)
		syscall(SYS_futex, &napping, FUTEX_WAIT_PRIVATE, 1, &limit, NULL, 0);
	atomic_store(&napping, 0);
}

static void *simulate(void *unused)
{
	/* the first line of the queue is the program's: not to be touched for each access */
	struct fm_result_queue *counters = queue.counters;
	struct fm_engine_side *side = of;
	uint64_t read = atomic_load(&counters->read);
	unsigned spins = 0;

	(void)unused;
	for (;;) {
		uint64_t written = atomic_load_explicit(&counters->written, memory_order_acquire), count;

		/* the program does nothing for a while, or is dying: what is not handed over yet is wanted too */
		if (read >= written && spins % LOOK_EVERY == LOOK_EVERY - 1)
			written = atomic_load_explicit(&queue.written, memory_order_acquire);
		if (read >= written) { /* beyond it after such a look */
			if (++spins < SPINS)
				wait_a_little(spins);
			else
				nap(counters, written);
			continue;
		}
		spins = 0;
		/* up to the end of the ring, and not too many at once, since the other side waits for room */
		count = written - read;
		if (count > STEP)
			count = STEP;
		if (count > FM_QUEUE_LENGTH - read % FM_QUEUE_LENGTH)
			count = FM_QUEUE_LENGTH - read % FM_QUEUE_LENGTH;
		fm_engine_simulate(side, &queue.entries[read % FM_QUEUE_LENGTH], count);
		read += count;
		atomic_store_explicit(&counters->read, read, memory_order_release);
	}
	return NULL;
}

static void wake(void)
{
	if (atomic_load_explicit(&napping, memory_order_relaxed)) {
		atomic_store(&napping, 0);
		syscall(SYS_futex, &napping, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
}

void fm_queue_hand_over(struct fm_queue *handed)
{
	uint64_t written = atomic_load_explicit(&handed->written, memory_order_relaxed);

	atomic_store_explicit(&handed->counters->written, written, memory_order_release);
	wake();
	for (unsigned spins = 0; written + FM_QUEUE_BATCH - handed->known_read > FM_QUEUE_LENGTH; spins++) {
		if (spins)
			wait_a_little(spins);
		handed->known_read = atomic_load_explicit(&handed->counters->read, memory_order_acquire);
	}
	/* The lines of the next batch but one are still with the simulator. Asked for in time, they do not hold up the
	   program's own stores, which leave in order. */
	for (unsigned ahead = FM_QUEUE_BATCH; ahead < 2 * FM_QUEUE_BATCH; ahead += 64 / sizeof(struct fm_queued))
		fm_prefetch_to_write(&handed->entries[(written + ahead) % FM_QUEUE_LENGTH]);
}

void fm_queue_begin(struct fm_engine_thread *thread)
{
	cpu_set_t allowed;
	sigset_t all, before;
	pthread_t ours;

	/* beside it means on another processor */
	if (fm_engine.timing || sched_getaffinity(0, sizeof(allowed), &allowed) || CPU_COUNT(&allowed) < 2)
		return;
	queue.counters = &fm_engine.account->results->queue;
	of = &thread->side;
	if (!has_thread) {
		atomic_store(&queue.written, 0);
		queue.known_read = 0;
		atomic_store(&queue.counters->written, 0);
		atomic_store(&queue.counters->read, 0);
		/* the program's signals are not for us */
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &before);
		has_thread = !pthread_create(&ours, NULL, simulate, NULL);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
		if (has_thread)
			pthread_detach(ours);
	}
	active = has_thread;
}

void fm_queue_drain(void)
{
	uint64_t written = atomic_load_explicit(&queue.written, memory_order_relaxed);
	unsigned spins = 0;

	if (!active)
		return;
	atomic_store_explicit(&queue.counters->written, written, memory_order_release);
	wake();
	while (atomic_load_explicit(&queue.counters->read, memory_order_acquire) != written)
		wait_a_little(++spins);
	queue.known_read = written;
}

void fm_queue_end(void)
{
	fm_queue_drain();
	active = false;
}

void fm_queue_after_fork(void)
{
	active = has_thread = false;
	fm_tracing_queue = NULL;
	atomic_store(&napping, 0);
}

struct fm_stream_sample *fm_queue_sample(const struct fm_queued *entry)
{
	return queue.samples[entry - queue.entries];
}

struct fm_queue *fm_queue_active(void)
{
	return active ? &queue : NULL;
}
