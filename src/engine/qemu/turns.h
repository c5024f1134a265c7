/* Turns of threads. In deterministic mode one thread runs at a time: the thread furthest behind in simulated time,
   until it is ahead of the next thread by more than the skew. A thread that waits in a system call does not delay the
   others.
   SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FATHOM_ENGINE_QEMU_TURNS_H
#define FATHOM_ENGINE_QEMU_TURNS_H

struct fm_engine_thread;

void fm_turns_reset(void);

/* A new thread waits for its turn, with the clock of its creator. */
void fm_turns_join(struct fm_engine_thread *thread);
void fm_turns_leave(struct fm_engine_thread *thread);

/* Called when the running thread has passed its limit. */
void fm_turns_yield(struct fm_engine_thread *thread);

/* Before and after a system call that may wait for other threads. */
void fm_turns_block(struct fm_engine_thread *thread);
void fm_turns_unblock(struct fm_engine_thread *thread);

/* Before and after any other system call. It keeps the turn, which is withdrawn if the call is found waiting. */
void fm_turns_call(struct fm_engine_thread *thread);
void fm_turns_return(struct fm_engine_thread *thread);

/* Around a system call that creates or wakes threads. fm_turns_expect() waits, for a limited time, until `count`
   threads have joined or have returned from their calls. */
void fm_turns_prepare(struct fm_engine_thread *thread);
void fm_turns_expect(unsigned count);

#endif
