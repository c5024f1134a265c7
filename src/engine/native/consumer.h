/* Reads the trace of one process of the program (native/trace.h), simulates, and writes the process's results. It uses
   what this process has only once (engine/account): whoever wants a second one forks.

   Nothing of the trace is trusted. A program that scribbles over it gets wrong counts, or none. */
#ifndef FATHOM_ENGINE_NATIVE_CONSUMER_H
#define FATHOM_ENGINE_NATIVE_CONSUMER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "native/trace.h"
#include "engine/engine.h"

struct fm_consumer;
struct fm_beside_roster;

struct fm_consumer_task {
	const struct fm_engine_options *options;
	struct fm_trace_session *session;
	struct fm_trace_file *trace;
	const struct fm_trace_large *large; /* NULL: none */
	const char *results;                /* the file of the first process; others make their own beside it */
	bool first;
	/* programs beside it: their traces, and the folder they are in. NULL: none */
	const struct fm_beside_roster *roster;
	const char *folder;
	bool unknown_process; /* a test: no process of that number is asked for its mappings, or whether it lives */
};

int fm_consumer_create(const struct fm_consumer_task *task, struct fm_consumer **ret_consumer, struct fm_error *error);

/* Reads what there is now, up to so many entries; 0: nothing. */
uint64_t fm_consumer_read(struct fm_consumer *consumer, uint64_t most);

/* Nothing more will come: everything is in the results. */
void fm_consumer_finish(struct fm_consumer *consumer);
void fm_consumer_destroy(struct fm_consumer *consumer);

/* All of it, until the process has ended, or the session stops. */
int fm_consumer_run(const struct fm_consumer_task *task, struct fm_error *error);

#endif
