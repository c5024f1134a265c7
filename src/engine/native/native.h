/* The native engine: the program runs on this machine's processors with libfathom-native.so preloaded, which writes
   down what it refers to (native/trace.h); for each of its processes one of ours simulates (native/consumer.h). */
#ifndef FATHOM_ENGINE_NATIVE_NATIVE_H
#define FATHOM_ENGINE_NATIVE_NATIVE_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/foreign_kind.h"
#include "engine/engine.h"

struct fm_native;

/* Can it do this at all? -ENOTSUP with the reason; -ENOENT and -EACCES for the program. */
int fm_native_check(const struct fm_engine_options *options, const char *program, struct fm_error *error);

/* A folder for the traces, beside the file for the results of the first process. */
int fm_native_begin(const struct fm_engine_options *options, const char *results, struct fm_native **ret_native,
                    struct fm_error *error);

/* In the new process: the variables that the library is loaded by. A struct fm_native. */
void fm_native_prepare(void *native);

/* Programs beside it are started, before the program is let go, and there. */
int fm_native_begin_beside(struct fm_native *native, struct fm_error *error);
void fm_native_report_beside(const struct fm_native *native, struct fm_engine_neighbour *ret_neighbours);

/* Until the program has ended, and what it wrote is read. ret_ended: ns, when the program itself had ended. ret_used:
   what it used. Returns its status as waitpid() has it. */
int fm_native_wait(struct fm_native *native, pid_t program, bool *ret_killed, uint64_t *ret_ended,
                   struct rusage *ret_used);

/* 0, or -ENOTSUP when the library did nothing, -EIO when a simulation came to a bad end. Then there are no results, or
   not all. */
int fm_native_status(const struct fm_native *native, struct fm_error *error);
/* Processes that were left alone, and why. */
void fm_native_foreign(const struct fm_native *native, uint32_t ret_foreign[FM_FOREIGN_KINDS]);
unsigned fm_native_lost_processes(const struct fm_native *native);
/* What the scheduler said of all threads, after fm_native_wait(), for the caller to free. Returns how many. */
unsigned fm_native_scheduled(struct fm_native *native, struct fm_scheduled **ret_threads);

/* Nothing of it is left. */
void fm_native_end(struct fm_native *native);

#endif
