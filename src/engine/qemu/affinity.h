/* Affinity calls: masks refer to cores of the simulated machine, including cores that the host lacks.
   SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FATHOM_ENGINE_QEMU_AFFINITY_H
#define FATHOM_ENGINE_QEMU_AFFINITY_H

#include <stdint.h>

struct fm_engine_thread;

/* Before sched_setaffinity: moves the thread (number; 0: the caller) to a core of the mask. Until the call returns, the
   mask in memory is one that the kernel accepts. */
void fm_affinity_set(struct fm_engine_thread *caller, uint64_t thread, uint64_t bytes, uint64_t mask);

/* Before sched_getaffinity: the result will be the mask that was set for the thread. */
void fm_affinity_get(struct fm_engine_thread *caller, uint64_t thread, uint64_t bytes, uint64_t mask);

/* After both calls: restores or writes the mask. */
void fm_affinity_return(struct fm_engine_thread *caller, int64_t result);

/* The core requested for a thread before its begin; -1: none. */
int fm_affinity_expected(uint32_t thread);

#endif
