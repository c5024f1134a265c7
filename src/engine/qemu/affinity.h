/* Affinity calls: the program asks for cores of the simulated machine, also for ones the host does not have.
   SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FATHOM_ENGINE_QEMU_AFFINITY_H
#define FATHOM_ENGINE_QEMU_AFFINITY_H

#include <stdint.h>

struct fm_engine_thread;

/* Before sched_setaffinity: the thread, given by number (0: the caller), moves to a core of the mask. The kernel is
   shown a mask it can accept, until the call returns. */
void fm_affinity_set(struct fm_engine_thread *caller, uint64_t thread, uint64_t bytes, uint64_t mask);

/* Before sched_getaffinity: what the thread was given is the answer. */
void fm_affinity_get(struct fm_engine_thread *caller, uint64_t thread, uint64_t bytes, uint64_t mask);

/* After either. */
void fm_affinity_return(struct fm_engine_thread *caller, int64_t result);

/* A core that was asked for a thread before it began; -1: none. */
int fm_affinity_expected(uint32_t thread);

#endif
