/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/qemu/turns.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/process_state.h"
#include "engine/qemu/accesses.h"
#include "engine/qemu/series.h"
#include "engine/qemu/state.h"

/* QEMU sometimes wants all threads to stop at once. A thread that sleeps here cannot, so when the one whose turn it is
   sleeps elsewhere for this long, the next is let go. One that only gets no processor is waited for longer. Both are
   counted. */
enum { PATIENCE_MS = 50, LONGEST_MS = 1000 };

/* The thread that is next looks this often whether the one whose turn it is sleeps in a system call. A look that finds
   it asleep is not enough: the kernel lets calls sleep a moment for reasons of its own. */
enum { LOOK_MS = 2, LOOKS = 2 };

/* After a call that wakes threads: at most that many waiting threads are looked at, and that often. */
enum { WAITING_MAX = 16, WOKEN_LOOKS = 50 };

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t arrived;
	struct fm_engine_thread *first; /* live threads */
	struct fm_engine_thread *holder;
	struct fm_engine_thread *last; /* that had the turn, perhaps gone */
	uint64_t newest_clock;         /* of the last thread that made another */
	uint64_t left_clock;           /* of the last thread that left */
	uint64_t blocked_clock;        /* of the last thread that went to wait with the turn */
	unsigned arrivals;             /* threads that joined or came back from waiting */
	unsigned seen;                 /* of them, before the call under way */
} turns;

void fm_turns_reset(void)
{
	pthread_mutex_init(&turns.mutex, NULL);
	pthread_cond_init(&turns.arrived, NULL);
	turns.first = turns.holder = NULL;
	turns.last = NULL;
	turns.left_clock = turns.blocked_clock = 0;
	turns.arrivals = turns.seen = 0;
}

/* Furthest behind, earliest begun; not blocked, not `but`. */
static struct fm_engine_thread *furthest_behind(const struct fm_engine_thread *but)
{
	struct fm_engine_thread *best = NULL;

	for (struct fm_engine_thread *thread = turns.first; thread; thread = thread->next)
		if (thread != but && !thread->blocked &&
		    (!best || fm_thread_clock(thread) < fm_thread_clock(best) ||
		     (fm_thread_clock(thread) == fm_thread_clock(best) && thread->index < best->index)))
			best = thread;
	return best;
}

static unsigned count_running(void)
{
	unsigned running = 0;

	for (const struct fm_engine_thread *thread = turns.first; thread; thread = thread->next)
		running += !thread->blocked;
	return running;
}

/* Give the turn to the next thread. */
static void pass_on(void)
{
	struct fm_engine_thread *next = furthest_behind(NULL), *after;

	if (next && next != turns.last)
		fm_engine.account->results->turns++;
	turns.holder = next;
	if (!next)
		return;
	turns.last = next;
	/* what their core counts from now on is this one's */
	for (struct fm_engine_thread *other = turns.first; other; other = other->next)
		if (other != next && other->core == next->core)
			fm_engine_away(other);
	if (fm_thread_clock(next) >= fm_series_next())
		fm_series_note(fm_thread_clock(next), count_running(), turns.first);
	after = furthest_behind(next);
	next->limit = after ? fm_thread_clock(after) + fm_engine.skew : UINT64_MAX;
	if (next->limit > fm_series_next())
		next->limit = fm_series_next();
	pthread_cond_signal(&next->wake);
}

static void block(struct fm_engine_thread *thread)
{
	thread->blocked = true;
	if (turns.holder != thread)
		return;
	turns.blocked_clock = fm_thread_clock(thread);
	pass_on();
}

enum doing { DOES_NOTHING, IS_RUNNING, IS_ASLEEP };

/* A thread that waits for a disk, or whose state is unknown, neither runs nor sleeps. */
static enum doing look_at(const struct fm_engine_thread *thread)
{
	char path[64], state;

	snprintf(path, sizeof(path), "/proc/self/task/%u/stat", thread->record->host_thread);
	state = fm_process_state(path, NULL);
	return state == 'R' ? IS_RUNNING : state == 'S' ? IS_ASLEEP : DOES_NOTHING;
}

static bool times_out(pthread_cond_t *condition, unsigned milliseconds)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += milliseconds / 1000;
	until.tv_nsec += milliseconds % 1000 * 1000000L;
	if (until.tv_nsec >= 1000000000L) {
		until.tv_nsec -= 1000000000L;
		until.tv_sec++;
	}
	return pthread_cond_timedwait(condition, &turns.mutex, &until) == ETIMEDOUT;
}

__attribute__((nonnull)) static void wait_for_turn(struct fm_engine_thread *thread)
{
	struct fm_engine_thread *watched = NULL;
	uint64_t reached = 0, call = 0;
	unsigned waited = 0, asleep = 0;

	while (turns.holder != thread) {
		struct fm_engine_thread *holder = turns.holder;
		unsigned patience;
		enum doing doing;
		bool calls;

		if (!holder) {
			pass_on();
			continue;
		}
		if (holder != watched || fm_thread_clock(holder) != reached || holder->calls != call) {
			watched = holder;
			reached = fm_thread_clock(holder);
			call = holder->calls;
			waited = asleep = 0;
		}
		/* one is enough to look */
		patience = furthest_behind(holder) == thread ? LOOK_MS : PATIENCE_MS;
		if (!times_out(&thread->wake, patience) || turns.holder != watched ||
		    fm_thread_clock(watched) != reached || watched->calls != call)
			continue;
		waited += patience;
		calls = watched->calling && furthest_behind(watched) == thread;
		if (!calls && waited < PATIENCE_MS)
			continue;
		doing = look_at(watched);
		asleep = doing == IS_ASLEEP ? asleep + 1 : 0;
		if (calls && (asleep >= LOOKS || (doing == DOES_NOTHING && waited >= PATIENCE_MS))) {
			watched->taken = true;
			block(watched);
		} else if (waited >= (doing == IS_RUNNING ? LONGEST_MS : PATIENCE_MS)) {
			fm_engine.account->results->forced_turns++;
			return;
		}
	}
}

/* A call that has returned may have woken others from theirs. They are on their way then: wait until they have arrived,
   or how far we get without them would be up to the host. Those that have only just gone are waited for until they
   sleep. */
static void await_woken(const struct fm_engine_thread *caller)
{
	for (unsigned looks = 0; looks < WOKEN_LOOKS; looks++) {
		unsigned looked_at = 0;
		bool coming = false;

		for (struct fm_engine_thread *thread = turns.first; thread && !coming && looked_at < WAITING_MAX;
		     thread = thread->next)
			if (thread != caller && thread->blocked && !thread->pauses) {
				coming = look_at(thread) == IS_RUNNING;
				looked_at++;
			}
		if (!coming)
			return;
		times_out(&turns.arrived, 1);
	}
}

/* While it waited, another thread may have moved it to another core. */
static void wait_and_look(struct fm_engine_thread *thread)
{
	wait_for_turn(thread);
	fm_engine_back(thread);
	fm_engine_trace(thread, thread->tracing);
}

void fm_turns_join(struct fm_engine_thread *thread)
{
	if (!fm_engine.deterministic) {
		thread->limit = UINT64_MAX;
		return;
	}
	pthread_cond_init(&thread->wake, NULL);
	pthread_mutex_lock(&turns.mutex);
	fm_thread_set_clock(thread, turns.newest_clock);
	thread->next = turns.first;
	turns.first = thread;
	turns.arrivals++;
	pthread_cond_broadcast(&turns.arrived);
	if (!turns.holder)
		pass_on();
	else
		/* the running thread has a second one beside it now */
		turns.holder->limit = 0;
	wait_and_look(thread);
	pthread_mutex_unlock(&turns.mutex);
}

void fm_turns_leave(struct fm_engine_thread *thread)
{
	if (!fm_engine.deterministic)
		return;
	pthread_mutex_lock(&turns.mutex);
	if (fm_thread_clock(thread) > turns.left_clock)
		turns.left_clock = fm_thread_clock(thread);
	for (struct fm_engine_thread **place = &turns.first; *place; place = &(*place)->next)
		if (*place == thread) {
			*place = thread->next;
			break;
		}
	if (turns.last == thread)
		turns.last = NULL; /* the next one may be given its memory */
	if (turns.holder == thread || !turns.holder)
		pass_on();
	pthread_mutex_unlock(&turns.mutex);
	pthread_cond_destroy(&thread->wake);
}

void fm_turns_yield(struct fm_engine_thread *thread)
{
	if (!fm_engine.deterministic) {
		thread->limit = UINT64_MAX;
		return;
	}
	pthread_mutex_lock(&turns.mutex);
	if (turns.holder == thread || !turns.holder)
		pass_on();
	wait_and_look(thread);
	pthread_mutex_unlock(&turns.mutex);
}

void fm_turns_block(struct fm_engine_thread *thread)
{
	if (!fm_engine.deterministic)
		return;
	pthread_mutex_lock(&turns.mutex);
	block(thread);
	pthread_mutex_unlock(&turns.mutex);
}

void fm_turns_unblock(struct fm_engine_thread *thread)
{
	struct fm_engine_thread *behind;
	uint64_t now;

	if (!fm_engine.deterministic)
		return;
	pthread_mutex_lock(&turns.mutex);
	thread->blocked = thread->taken = thread->calling = false;
	turns.arrivals++;
	pthread_cond_broadcast(&turns.arrived);
	/* Time went on without it. When all others wait too, until the last of them went, which may have woken this
	   one; when there are none left, until the last one's end. */
	behind = furthest_behind(thread);
	now = behind ? fm_thread_clock(behind) : turns.blocked_clock;
	if (turns.first == thread && !thread->next && turns.left_clock > now)
		now = turns.left_clock;
	if (now > fm_thread_clock(thread))
		fm_thread_set_clock(thread, now);
	if (!turns.holder)
		pass_on();
	else if (turns.holder != thread)
		turns.holder->limit = fm_thread_clock(thread) + fm_engine.skew;
	if (!thread->pauses)
		await_woken(thread);
	wait_and_look(thread);
	pthread_mutex_unlock(&turns.mutex);
}

void fm_turns_call(struct fm_engine_thread *thread)
{
	if (!fm_engine.deterministic)
		return;
	pthread_mutex_lock(&turns.mutex);
	thread->calls++;
	thread->calling = true;
	pthread_mutex_unlock(&turns.mutex);
}

void fm_turns_return(struct fm_engine_thread *thread)
{
	bool taken;

	pthread_mutex_lock(&turns.mutex);
	thread->calling = false;
	taken = thread->taken;
	if (!taken)
		await_woken(thread);
	pthread_mutex_unlock(&turns.mutex);
	if (taken)
		fm_turns_unblock(thread);
}

void fm_turns_prepare(struct fm_engine_thread *thread)
{
	if (!fm_engine.deterministic)
		return;
	pthread_mutex_lock(&turns.mutex);
	turns.newest_clock = fm_thread_clock(thread);
	turns.seen = turns.arrivals;
	pthread_mutex_unlock(&turns.mutex);
}

void fm_turns_expect(unsigned count)
{
	struct timespec until;

	if (!fm_engine.deterministic)
		return;
	pthread_mutex_lock(&turns.mutex);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 1;
	while (turns.arrivals - turns.seen < count)
		if (pthread_cond_timedwait(&turns.arrived, &turns.mutex, &until) == ETIMEDOUT) {
			fm_engine.account->results->forced_turns++;
			break;
		}
	pthread_mutex_unlock(&turns.mutex);
}
