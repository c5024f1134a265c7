/* Executed code of the program, block by block and access by access.
   SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FATHOM_ENGINE_QEMU_ACCESSES_H
#define FATHOM_ENGINE_QEMU_ACCESSES_H

#include <stdbool.h>

#include "engine/qemu/qemu.h"

#include "engine/results.h"

struct fm_engine_side;
struct fm_queued;
struct fm_engine_thread;

/* On translation of a block: requests callbacks for its accesses. Not thread-safe. */
void fm_engine_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *translated);

/* The state of the calling thread, created if necessary. */
struct fm_engine_thread *fm_engine_self(void);

/* Switches counting of the thread's accesses on or off. */
void fm_engine_trace(struct fm_engine_thread *thread, bool tracing);

/* Simulates `count` accesses on the thread's core and counts them by instruction and object. */
void fm_engine_simulate(struct fm_engine_side *side, const struct fm_queued *accesses, size_t count);

/* Writes all counts of the thread so far into the results. */
void fm_engine_settle(struct fm_engine_thread *thread);

/* fm_engine_settle() after the core has completed all instructions of the thread. */
void fm_engine_drain(struct fm_engine_thread *thread);

#endif
