/* Whose turn it is. In deterministic mode one thread runs at a time: the one that is furthest behind in simulated time,
   until it is more than the skew ahead of the next. A thread that waits in a system call holds nobody up.
   SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FATHOM_ENGINE_QEMU_TURNS_H
#define FATHOM_ENGINE_QEMU_TURNS_H

struct fm_engine_thread;

void fm_turns_reset(void);

/* A thread begins: it waits for its turn, at the time of the one that made it. */
void fm_turns_join(struct fm_engine_thread *thread);
void fm_turns_leave(struct fm_engine_thread *thread);

/* The running thread has passed its limit. */
void fm_turns_yield(struct fm_engine_thread *thread);

/* Before and after a system call that may wait for others. */
void fm_turns_block(struct fm_engine_thread *thread);
void fm_turns_unblock(struct fm_engine_thread *thread);

/* Before and after any other, which keeps the turn. Should it be seen to wait all the same, the turn is taken away. */
void fm_turns_call(struct fm_engine_thread *thread);
void fm_turns_return(struct fm_engine_thread *thread);

/* Around a system call that makes or wakes threads: after it, wait, not for ever, until so many have joined or have
   come back from their own. */
void fm_turns_prepare(struct fm_engine_thread *thread);
void fm_turns_expect(unsigned count);

#endif
