/* The file of samples of this process: record/stream.h has its format.
   SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FATHOM_ENGINE_QEMU_PART_H
#define FATHOM_ENGINE_QEMU_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/stream.h"

/* Writer of one thread's entries. */
struct fm_part_writer;

/* Data shared by all processes; NULL: the folder has none, and there are no limits. */
extern struct fm_session *fm_part_session;
/* First page of this process's file; NULL: no file, all functions below are no-ops. */
extern struct fm_stream_process *fm_part_process;

/* Sets the folder; call once. */
void fm_part_use(const char *folder);

/* True for a file in that folder. */
bool fm_part_is_ours(const char *path);

/* Creates the file of this process. False if the file system is full. */
bool fm_part_open(uint64_t every, uint32_t parent, bool forked);

/* Around a fork, with the engine's mutex held. The child has no file until fm_part_open(). */
void fm_part_before_fork(void);
void fm_part_after_fork_in_parent(void);
void fm_part_after_fork_in_child(void);

/* A writer for a new thread, reused or new; NULL without memory. It is returned at the end of the thread. */
struct fm_part_writer *fm_part_take(void);
void fm_part_give_back(struct fm_part_writer *writer);

/* Reserves an entry with a zeroed body of `size` bytes. Any thread may commit it; until then, readers see neither it
   nor later entries of its chunk. Returns the body; NULL without room, which is counted. */
void *fm_part_begin(struct fm_part_writer *writer, uint32_t thread, uint64_t time, size_t size);
void fm_part_commit(void *body, enum fm_stream_kind kind);

/* Writes an entry: a struct, and a text after it (may be NULL). */
void fm_part_write(struct fm_part_writer *writer, uint32_t thread, enum fm_stream_kind kind, const void *body,
                   size_t size, const char *text);

/* Number of a call stack, which is written if it is new; 0: no room. `quick` is a hash: a value belongs to one stack
   only, but a stack may have several. */
uint32_t fm_part_stack(struct fm_part_writer *writer, uint32_t thread, uint64_t quick, const uint64_t *addresses,
                       unsigned count);
/* Number of a known stack with this hash; 0: unknown. */
uint32_t fm_part_find_stack(uint64_t quick);

/* Marks a regular end of the process. */
void fm_part_end(void);

#endif
