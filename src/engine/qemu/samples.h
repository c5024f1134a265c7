/* Samples of memory references with the level that served them in the simulated machine, one of every n of each thread:
   of each n in a row one is chosen at random, from a seed, so that no loop can keep step with the choice and the same
   run chooses the same. With n = 1 all are.
   SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FATHOM_ENGINE_QEMU_SAMPLES_H
#define FATHOM_ENGINE_QEMU_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/results.h"

struct fm_engine_thread;
struct fm_stream_sample;

/* References of this thread up to and with the next one that is chosen. */
extern __thread uint64_t fm_samples_left __attribute__((tls_model("initial-exec")));

/* Before the program is loaded: samples into that folder. */
void fm_samples_use(const char *folder, uint64_t every);

/* The file of this process, which is an executed one or the first. */
void fm_samples_begin(uint32_t parent, bool executed);
/* It ends by itself; it does not, since it could not execute another program. */
void fm_samples_end(void);
void fm_samples_go_on(void);

void fm_samples_thread_begin(const struct fm_engine_thread *thread);
void fm_samples_thread_end(void);

void fm_samples_before_fork(void);
void fm_samples_after_fork_in_parent(void);
void fm_samples_after_fork_in_child(uint32_t parent);

/* The reference that was chosen: what is known of it before it is simulated. NULL: it is no sample after all. */
struct fm_stream_sample *fm_samples_choose(const struct fm_engine_thread *thread, const struct fm_result_site *site,
                                           uint64_t address, unsigned bytes, unsigned kind);

/* … and who served it. In any thread, once. */
void fm_samples_finish(struct fm_stream_sample *sample, unsigned served);

/* Is this one of those chosen? */
static inline struct fm_stream_sample *fm_samples_next(const struct fm_engine_thread *thread,
                                                       const struct fm_result_site *site, uint64_t address,
                                                       unsigned bytes, unsigned kind)
{
	return __builtin_expect(--fm_samples_left == 0, 0) ? fm_samples_choose(thread, site, address, bytes, kind)
	                                                   : NULL;
}

/* Marked regions, and system calls that change what is mapped. */
void fm_samples_region(const char *name, bool begins);
void fm_samples_call(const uint64_t *arguments);
void fm_samples_call_return(int64_t number, int64_t result);

/* The program's file, once it is known. */
void fm_samples_program(const char *path);

#endif
