/* Samples of memory references with their simulated level. Of every n consecutive references of a thread, one is chosen
   at random: loops cannot stay in step with the choice. The seed is fixed, so runs are reproducible. n = 1: all
   references.
   SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FATHOM_ENGINE_QEMU_SAMPLES_H
#define FATHOM_ENGINE_QEMU_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/results.h"

struct fm_engine_thread;
struct fm_stream_sample;

/* References of this thread up to and including the next sample. */
extern __thread uint64_t fm_samples_left __attribute__((tls_model("initial-exec")));

/* Before the program is loaded: sets the folder and the sampling period. */
void fm_samples_use(const char *folder, uint64_t every);

/* Begins the file of this process: the first one, or one after an exec. */
void fm_samples_begin(uint32_t parent, bool executed);
/* Marks a regular end; continues after a failed exec. */
void fm_samples_end(void);
void fm_samples_go_on(void);

void fm_samples_thread_begin(const struct fm_engine_thread *thread);
void fm_samples_thread_end(void);

void fm_samples_before_fork(void);
void fm_samples_after_fork_in_parent(void);
void fm_samples_after_fork_in_child(uint32_t parent);

/* Creates the sample of the chosen reference, before its simulation; NULL: no sample. */
struct fm_stream_sample *fm_samples_choose(const struct fm_engine_thread *thread, const struct fm_result_site *site,
                                           uint64_t address, unsigned bytes, unsigned kind);

/* Completes the sample with the level that served it. From any thread, once. */
void fm_samples_finish(struct fm_stream_sample *sample, unsigned served);

/* The sample of this reference if it is chosen, else NULL. */
static inline struct fm_stream_sample *fm_samples_next(const struct fm_engine_thread *thread,
                                                       const struct fm_result_site *site, uint64_t address,
                                                       unsigned bytes, unsigned kind)
{
	return __builtin_expect(--fm_samples_left == 0, 0) ? fm_samples_choose(thread, site, address, bytes, kind)
	                                                   : NULL;
}

/* Records marked regions and system calls that change mappings. */
void fm_samples_region(const char *name, bool begins);
void fm_samples_call(const uint64_t *arguments);
void fm_samples_call_return(int64_t number, int64_t result);

/* Sets the path of the program. */
void fm_samples_program(const char *path);

#endif
