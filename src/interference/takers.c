#include "interference/takers.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/processor.h"
#include "base/schedule.h"
#include "base/text.h"
#include "interference/companion.h"
#include "interference/tuning.h"
#include "kernels/layout.h"
#include "profile/topology.h"

enum taker_state { STARTING, READY, FAILED };

/* A taker, shared by both processes; the parts that each writes lie apart. */
struct shared {
	_Alignas(FM_APART) _Atomic uint32_t order; /* goes up with each setting; slept on */
	_Atomic uint32_t on;
	_Atomic uint64_t rate_millis, bytes;
	_Alignas(FM_APART) _Atomic uint32_t done; /* the setting that is followed */
	_Atomic uint32_t state;
	_Atomic int32_t thread;
	_Atomic uint64_t accesses, on_ns;
	char problem[200];
};

struct fm_takers {
	struct fm_companion companion;
	unsigned count;
	struct fm_taker_wish wishes[FM_TAKERS_MAX];
	struct shared *shared;
};

static long futex(_Atomic uint32_t *word, int operation, uint32_t value, const struct timespec *timeout)
{
	return syscall(SYS_futex, word, operation, value, timeout, NULL, 0);
}

double fm_takers_rate(double gbs)
{
	return gbs * 1e9 / FM_LINE_BYTES;
}

/* In the companion */

struct worker {
	struct shared *shared;
	struct fm_taker_wish wish;
	unsigned index;
};

static void keep_pace(struct shared *shared, uint32_t order, uint64_t due)
{
	while (fm_clock_now() < due && atomic_load_explicit(&shared->order, memory_order_relaxed) == order)
		fm_pause();
}

/* Works until its setting changes. */
static void work(struct shared *shared, struct fm_taker_memory *memory, uint32_t order, double rate)
{
	const double batch_ns = rate > 0 ? FM_TAKER_BATCH / rate * 1e9 : 0;
	uint64_t begin = fm_clock_now(), before = begin;
	double due = (double)begin;

	do {
		uint64_t now;

		fm_taker_step(memory);
		/* one that is on has been seen to work */
		atomic_store_explicit(&shared->done, order, memory_order_release);
		if (rate > 0) {
			due += batch_ns;
			keep_pace(shared, order, (uint64_t)due);
		}
		now = fm_clock_now();
		if ((double)now > due + TAKER_BEHIND_NS)
			due = (double)now;
		atomic_fetch_add_explicit(&shared->accesses, FM_TAKER_BATCH, memory_order_relaxed);
		atomic_fetch_add_explicit(&shared->on_ns, now - before, memory_order_relaxed);
		before = now;
	} while (atomic_load_explicit(&shared->order, memory_order_acquire) == order);
}

static void *taker(void *argument)
{
	const struct worker *worker = argument;
	struct shared *shared = worker->shared;
	struct fm_taker_memory memory;
	struct fm_error error;

	atomic_store(&shared->thread, (int32_t)syscall(SYS_gettid));
	if (fm_bind_to_cpu(worker->wish.cpu, &error) ||
	    fm_taker_allocate(worker->wish.kind, worker->wish.bytes, worker->index + 1, &memory, &error)) {
		snprintf(shared->problem, sizeof(shared->problem), "%s", error.message);
		atomic_store_explicit(&shared->state, FAILED, memory_order_release);
		return NULL;
	}
	atomic_store_explicit(&shared->state, READY, memory_order_release);
	for (;;) {
		uint32_t order = atomic_load_explicit(&shared->order, memory_order_acquire);
		uint64_t bytes = atomic_load_explicit(&shared->bytes, memory_order_relaxed);

		if (!atomic_load_explicit(&shared->on, memory_order_relaxed)) {
			atomic_store_explicit(&shared->done, order, memory_order_release);
			futex(&shared->order, FUTEX_WAIT, order, NULL);
			continue;
		}
		bytes = bytes ? bytes : memory.most;
		if (bytes != memory.bytes)
			fm_taker_resize(&memory, bytes);
		work(shared, &memory, order,
		     (double)atomic_load_explicit(&shared->rate_millis, memory_order_relaxed) / 1e3);
	}
	return NULL;
}

/* Should memory become short after all, this process is the first to go. */
static void be_expendable(void)
{
	int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (file < 0)
		return;
	if (write(file, "1000", 4) != 4)
		errno = 0;
	close(file);
}

static void be_takers(void *context, const struct fm_companion_side *side)
{
	static struct worker workers[FM_TAKERS_MAX];
	const struct fm_takers *takers = context;

	be_expendable();
	for (unsigned i = 0; i < takers->count; i++) {
		pthread_t thread;

		workers[i] = (struct worker){&takers->shared[i], takers->wishes[i], i};
		if (pthread_create(&thread, NULL, taker, &workers[i])) {
			snprintf(takers->shared[i].problem, sizeof(takers->shared[i].problem),
			         "cannot create a thread");
			atomic_store_explicit(&takers->shared[i].state, FAILED, memory_order_release);
		}
	}
	fm_companion_wait(side);
}

/* In the tool */

static uint64_t limit_left(void)
{
	static const int limits[] = {RLIMIT_AS, RLIMIT_DATA};
	uint64_t left = UINT64_MAX, used = 0, pages;
	FILE *file = fopen("/proc/self/statm", "re");

	if (file) {
		unsigned long long size;

		if (fscanf(file, "%llu", &size) == 1) {
			pages = size;
			used = pages * (uint64_t)sysconf(_SC_PAGESIZE);
		}
		fclose(file);
	}
	for (unsigned i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct rlimit limit;

		if (!getrlimit(limits[i], &limit) && limit.rlim_cur != RLIM_INFINITY) {
			uint64_t rest = limit.rlim_cur > used ? limit.rlim_cur - used : 0;

			left = rest < left ? rest : left;
		}
	}
	return left;
}

int fm_takers_check_memory(uint64_t bytes, struct fm_error *error)
{
	uint64_t available = fm_memory_available(), limit = limit_left(), keep = available / MEMORY_LEFT_PART;
	char wanted[32], there[32];

	fm_text_bytes(wanted, sizeof(wanted), (double)bytes);
	keep = keep > MEMORY_LEFT_LEAST ? keep : MEMORY_LEFT_LEAST;
	if (available < keep || bytes > available - keep)
		return fm_error_set(
		    error, ENOMEM,
		    "interference needs %s of memory, but only %s are available, and an eighth stays free: free some "
		    "memory, or raise the limit of the control group",
		    wanted, fm_text_bytes(there, sizeof(there), (double)available));
	if (bytes > limit)
		return fm_error_set(
		    error, ENOMEM,
		    "interference needs %s of memory, but the limit of this process leaves %s: raise the limit (ulimit "
		    "-v, ulimit -d)",
		    wanted, fm_text_bytes(there, sizeof(there), (double)limit));
	return 0;
}

static int check_wishes(const struct fm_taker_wish *wishes, unsigned count, struct fm_error *error)
{
	struct fm_cpu_list allowed;
	uint64_t bytes = 0;
	int status = fm_cpu_list_allowed(&allowed, error);

	if (status)
		return status;
	if (!count || count > FM_TAKERS_MAX)
		return fm_error_set(error, EINVAL, "between 1 and %d load threads can run, not %u", FM_TAKERS_MAX,
		                    count);
	for (unsigned i = 0; i < count; i++) {
		bool found = false;

		for (unsigned k = 0; k < allowed.count; k++)
			found |= allowed.cpu[k] == wishes[i].cpu;
		if (!found)
			return fm_error_set(error, EINVAL, "CPU %u is not there, or may not be used by this process",
			                    wishes[i].cpu);
		bytes += fm_taker_bytes(wishes[i].kind, wishes[i].bytes);
	}
	return fm_takers_check_memory(bytes, error);
}

static int wait_until_ready(struct fm_takers *takers, struct fm_error *error)
{
	uint64_t until = fm_clock_now() + (uint64_t)(TAKERS_START * 1e9);
	unsigned ready;

	do {
		ready = 0;
		for (unsigned i = 0; i < takers->count; i++) {
			struct shared *shared = &takers->shared[i];
			uint32_t state = atomic_load_explicit(&shared->state, memory_order_acquire);

			if (state == FAILED)
				return fm_error_set(error, ENOMEM, "the load thread on CPU %u cannot start: %s",
				                    takers->wishes[i].cpu, shared->problem);
			ready += state == READY;
		}
		if (ready == takers->count)
			return 0;
		if (!fm_companion_lives(&takers->companion))
			return fm_error_set(error, ESRCH,
			                    "the process of the load threads was ended by another process");
		poll(NULL, 0, 1);
	} while (fm_clock_now() < until);
	return fm_error_set(error, ETIMEDOUT, "the load threads did not get their CPUs within %.0f s", TAKERS_START);
}

int fm_takers_start(const struct fm_taker_wish *wishes, unsigned count, struct fm_takers **ret_takers,
                    struct fm_error *error)
{
	struct fm_takers *takers;
	int status = check_wishes(wishes, count, error);

	if (status)
		return status;
	takers = calloc(1, sizeof(*takers));
	if (!takers)
		return fm_error_set(error, ENOMEM, "out of memory");
	takers->count = count;
	takers->companion.line = -1;
	memcpy(takers->wishes, wishes, count * sizeof(*wishes));
	takers->shared =
	    mmap(NULL, count * sizeof(*takers->shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (takers->shared == MAP_FAILED) {
		free(takers);
		return fm_error_set(error, ENOMEM, "out of memory");
	}
	status = fm_companion_start("fathom-takers", true, -1, be_takers, takers, &takers->companion, error);
	if (!status)
		status = wait_until_ready(takers, error);
	if (status)
		fm_takers_stop(takers);
	else
		*ret_takers = takers;
	return status;
}

void fm_takers_stop(struct fm_takers *takers)
{
	if (!takers)
		return;
	fm_companion_stop(&takers->companion, TAKERS_STOP);
	munmap(takers->shared, takers->count * sizeof(*takers->shared));
	free(takers);
}

void fm_takers_set(struct fm_takers *takers, unsigned index, const struct fm_taker_setting *setting)
{
	struct shared *shared = &takers->shared[index];

	atomic_store_explicit(&shared->on, setting->on, memory_order_relaxed);
	atomic_store_explicit(&shared->rate_millis, (uint64_t)(setting->rate * 1e3), memory_order_relaxed);
	atomic_store_explicit(&shared->bytes, setting->bytes, memory_order_relaxed);
	atomic_fetch_add_explicit(&shared->order, 1, memory_order_release);
	futex(&shared->order, FUTEX_WAKE, 1, NULL);
}

int fm_takers_settle(struct fm_takers *takers, double seconds)
{
	uint64_t until = fm_clock_now() + (uint64_t)(seconds * 1e9);
	const struct timespec nap = {.tv_nsec = 20000};

	for (unsigned i = 0; i < takers->count; i++) {
		struct shared *shared = &takers->shared[i];

		while (atomic_load_explicit(&shared->done, memory_order_acquire) !=
		       atomic_load_explicit(&shared->order, memory_order_relaxed)) {
			if (fm_clock_now() > until)
				return fm_takers_alive(takers) ? -ETIMEDOUT : -ESRCH;
			nanosleep(&nap, NULL);
		}
	}
	return fm_takers_alive(takers) ? 0 : -ESRCH;
}

struct fm_taker_work fm_takers_work(const struct fm_takers *takers, unsigned index)
{
	struct shared *shared = &takers->shared[index];
	struct fm_taker_work did = {
	    .accesses = atomic_load_explicit(&shared->accesses, memory_order_relaxed),
	    .on_ns = atomic_load_explicit(&shared->on_ns, memory_order_relaxed),
	};
	char path[96], line[128];
	double ran, delayed;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", (int)takers->companion.process,
	         (int)atomic_load_explicit(&shared->thread, memory_order_relaxed));
	if (!fm_text_read_line(path, line, sizeof(line)) && fm_schedule_parse(line, &ran, &delayed))
		did.lost_ns = (uint64_t)(delayed * 1e9);
	return did;
}

bool fm_takers_alive(struct fm_takers *takers)
{
	return fm_companion_lives(&takers->companion);
}

pid_t fm_takers_process(const struct fm_takers *takers)
{
	return takers->companion.process;
}
