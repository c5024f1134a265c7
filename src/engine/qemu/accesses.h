/* What the program executes, block by block and access by access.
   SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FATHOM_ENGINE_QEMU_ACCESSES_H
#define FATHOM_ENGINE_QEMU_ACCESSES_H

#include <stdbool.h>

#include "engine/qemu/qemu.h"

#include "engine/results.h"

struct fm_engine_side;
struct fm_queued;
struct fm_engine_thread;

/* QEMU translates a block: have its accesses reported. One thread at a time. */
void fm_engine_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *translated);

/* This thread, made known when it is new. */
struct fm_engine_thread *fm_engine_self(void);

/* Do its accesses count? */
void fm_engine_trace(struct fm_engine_thread *thread, bool tracing);

/* So many accesses of the thread, into its core and into the counts of instruction and object. */
void fm_engine_simulate(struct fm_engine_side *side, const struct fm_queued *accesses, size_t count);

/* Everything the thread did so far is in the results. */
void fm_engine_settle(struct fm_engine_thread *thread);

/* The same, and its core has finished it. */
void fm_engine_drain(struct fm_engine_thread *thread);

#endif
