/* The native engine: the program runs on this machine with libfathom-trace.so preloaded, which logs its references
   (trace/shared.h). For each of its processes, a process of Fathom simulates the log (trace/consumer.h). */
#ifndef FATHOM_ENGINE_TRACE_ENGINE_H
#define FATHOM_ENGINE_TRACE_ENGINE_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/foreign_kind.h"
#include "engine/engine.h"

struct fm_tracing;

/* Checks if the engine can run the program. -ENOTSUP with the reason; -ENOENT and -EACCES for the program file. */
int fm_tracing_check(const struct fm_engine_options *options, const char *program, struct fm_error *error);

/* Creates the folder of the traces, beside the results file of the first process. */
int fm_tracing_begin(const struct fm_engine_options *options, const char *results, struct fm_tracing **ret_native,
                     struct fm_error *error);

/* In the new process: sets the environment variables that preload the library. `native` is a struct fm_tracing. */
void fm_tracing_prepare(void *native);

/* Starts the programs beside and waits until they run; call before the observed program starts. */
int fm_tracing_begin_beside(struct fm_tracing *native, struct fm_error *error);
void fm_tracing_report_beside(const struct fm_tracing *native, struct fm_engine_program_beside *ret_neighbours);

/* Waits until the program has ended and its traces are read. ret_ended: end of the program itself in ns; ret_used: its
   resource usage. Returns the status of waitpid(). */
int fm_tracing_wait(struct fm_tracing *native, pid_t program, bool *ret_killed, uint64_t *ret_ended,
                    struct rusage *ret_used);

/* 0; -ENOTSUP if the library was inactive; -EIO if a simulation failed. Results are then missing or incomplete. */
int fm_tracing_status(const struct fm_tracing *native, struct fm_error *error);
/* Numbers of unobserved processes, by reason. */
void fm_tracing_foreign(const struct fm_tracing *native, uint32_t ret_foreign[FM_FOREIGN_KINDS]);
unsigned fm_tracing_lost_processes(const struct fm_tracing *native);
/* Scheduling accounts of all threads, after fm_tracing_wait(); freed by the caller. Returns their number. */
unsigned fm_tracing_scheduled(struct fm_tracing *native, struct fm_scheduled **ret_threads);

/* Removes the folder and frees all data. */
void fm_tracing_end(struct fm_tracing *native);

#endif
