/* The file of samples of this process: record/stream.h has its format.
   SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FATHOM_ENGINE_QEMU_PART_H
#define FATHOM_ENGINE_QEMU_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/stream.h"

/* Where entries of one thread go. */
struct fm_part_writer;

/* What all processes share; NULL when the folder has none, and then nothing is limited. */
extern struct fm_session *fm_part_session;
/* The first page of this process's file; NULL: there is no file, and nothing below does anything. */
extern struct fm_stream_process *fm_part_process;

/* The folder, once. */
void fm_part_use(const char *folder);

/* Is this a file of that folder? */
bool fm_part_is_ours(const char *path);

/* A new file for this process. false: there is no room. */
bool fm_part_open(uint64_t every, uint32_t parent, bool forked);

/* Around a fork, with the engine's mutex. In the child there is no file until one is opened. */
void fm_part_before_fork(void);
void fm_part_after_fork_in_parent(void);
void fm_part_after_fork_in_child(void);

/* A thread begins: it gets what another has left, or a new one; NULL without memory. */
struct fm_part_writer *fm_part_take(void);
void fm_part_give_back(struct fm_part_writer *writer);

/* Room for an entry with `size` bytes after its header, zeroed. It does not count until it is committed, by whichever
   thread; entries of the same chunk that come after it are not read before that. NULL, and counted: there is no room.
 */
void *fm_part_begin(struct fm_part_writer *writer, uint32_t thread, uint64_t time, size_t size);
void fm_part_commit(void *body, enum fm_stream_kind kind);

/* A struct, and a text after it unless that is NULL. */
void fm_part_write(struct fm_part_writer *writer, uint32_t thread, enum fm_stream_kind kind, const void *body,
                   size_t size, const char *text);

/* The number of a call stack that has this hash, or that is written down now; 0: there is no room. `quick` may be the
   same for one stack only; one stack may have several. */
uint32_t fm_part_stack(struct fm_part_writer *writer, uint32_t thread, uint64_t quick, const uint64_t *addresses,
                       unsigned count);
/* The same when it is known already; 0: it is not. */
uint32_t fm_part_find_stack(uint64_t quick);

/* The process ends by itself. */
void fm_part_end(void);

static inline uint64_t fm_part_ticks(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	return 0;
#endif
}

#endif
