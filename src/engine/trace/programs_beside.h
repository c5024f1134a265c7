/* Programs beside the observed one: started before it, on request restarted if they end early, and terminated after it.
   Signals go only to these processes and their descendants. */
#ifndef FATHOM_ENGINE_TRACE_PROGRAMS_BESIDE_H
#define FATHOM_ENGINE_TRACE_PROGRAMS_BESIDE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "engine/engine.h"
#include "engine/trace/beside.h"

struct fm_programs_beside;

/* `prepare` is called in each new process with `context`. */
int fm_programs_beside_create(const struct fm_engine_options *options, void (*prepare)(void *context), void *context,
                              struct fm_programs_beside **ret_neighbours, struct fm_error *error);
void fm_programs_beside_destroy(struct fm_programs_beside *neighbours);

/* Starts all programs. */
int fm_programs_beside_begin(struct fm_programs_beside *neighbours, struct fm_error *error);

/* Adds the trace of a process to the roster if the process belongs to a program beside; otherwise returns false.
   `descriptor` is the pidfd of the process, kept to end it; -1: none. */
bool fm_programs_beside_take(struct fm_programs_beside *neighbours, const char *name, uint32_t process, uint32_t parent,
                             int descriptor);

/* Reaps programs that have ended. With `again`, restarts them. */
void fm_programs_beside_look_after(struct fm_programs_beside *neighbours, bool again);

/* True if all living programs have written entries. */
bool fm_programs_beside_exist(const struct fm_programs_beside *neighbours);

/* Asks the programs to end, then kills them. */
void fm_programs_beside_end(struct fm_programs_beside *neighbours);

const struct fm_beside_roster *fm_programs_beside_roster(const struct fm_programs_beside *neighbours);
void fm_programs_beside_report(const struct fm_programs_beside *neighbours,
                               struct fm_engine_program_beside *ret_neighbours);

#endif
