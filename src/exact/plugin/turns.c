/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exact/plugin/turns.h"

#include <errno.h>
#include <time.h>

#include "exact/plugin/accesses.h"
#include "exact/plugin/series.h"
#include "exact/plugin/state.h"

/* QEMU sometimes wants all threads to stop at once. A thread that sleeps here cannot, so when the one whose turn it is
   makes no progress for this long, the next is let go. That is counted. */
enum { PATIENCE_MS = 50 };

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t arrived;
	struct fm_engine_thread *first; /* live threads */
	struct fm_engine_thread *holder;
	struct fm_engine_thread *last; /* that had the turn, perhaps gone */
	uint64_t newest_clock;         /* of the last thread that made another */
	uint64_t left_clock;           /* of the last thread that left */
	unsigned arrivals;             /* threads that joined or came back from waiting */
	unsigned seen;                 /* of them, before the call under way */
} turns;

void fm_turns_reset(void)
{
	pthread_mutex_init(&turns.mutex, NULL);
	pthread_cond_init(&turns.arrived, NULL);
	turns.first = turns.holder = NULL;
	turns.last = NULL;
	turns.left_clock = 0;
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

/* Give the turn to whoever is due. */
static void pass_on(void)
{
	struct fm_engine_thread *next = furthest_behind(NULL), *after;

	if (next && next != turns.last)
		fm_engine.results->turns++;
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

static void wait_for_turn(struct fm_engine_thread *thread)
{
	while (turns.holder != thread) {
		struct fm_engine_thread *holder = turns.holder;
		uint64_t before = holder ? fm_thread_clock(holder) : 0;
		struct timespec until;

		if (!holder) {
			pass_on();
			continue;
		}
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += PATIENCE_MS * 1000000L;
		if (until.tv_nsec >= 1000000000L) {
			until.tv_nsec -= 1000000000L;
			until.tv_sec++;
		}
		if (pthread_cond_timedwait(&thread->wake, &turns.mutex, &until) == ETIMEDOUT &&
		    turns.holder == holder && holder && fm_thread_clock(holder) == before) {
			fm_engine.results->forced_turns++;
			return;
		}
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
		/* the running one has somebody beside it now */
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
	if (turns.holder == thread || !turns.holder)
		pass_on();
	pthread_mutex_unlock(&turns.mutex);
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
	thread->blocked = true;
	if (turns.holder == thread)
		pass_on();
	pthread_mutex_unlock(&turns.mutex);
}

void fm_turns_unblock(struct fm_engine_thread *thread)
{
	struct fm_engine_thread *behind;
	uint64_t now;

	if (!fm_engine.deterministic)
		return;
	pthread_mutex_lock(&turns.mutex);
	thread->blocked = false;
	turns.arrivals++;
	pthread_cond_broadcast(&turns.arrived);
	/* time went on without it; when there is nobody left, until the last one's end */
	behind = furthest_behind(thread);
	now = behind ? fm_thread_clock(behind) : turns.first == thread && !thread->next ? turns.left_clock : 0;
	if (now > fm_thread_clock(thread))
		fm_thread_set_clock(thread, now);
	if (!turns.holder)
		pass_on();
	else if (turns.holder != thread)
		turns.holder->limit = fm_thread_clock(thread) + fm_engine.skew;
	wait_and_look(thread);
	pthread_mutex_unlock(&turns.mutex);
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
			fm_engine.results->forced_turns++;
			break;
		}
	pthread_mutex_unlock(&turns.mutex);
}
