/* Reads the trace of one process of the program (trace/shared.h), simulates it, and writes the results of the process.
   The trace is not trusted: a program that overwrites it gets wrong counts, or none. */
#ifndef FATHOM_ENGINE_TRACE_CONSUMER_H
#define FATHOM_ENGINE_TRACE_CONSUMER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "trace/shared.h"
#include "engine/engine.h"

struct fm_consumer;
struct fm_beside_roster;

struct fm_consumer_task {
	const struct fm_engine_options *options;
	struct fm_trace_session *session;
	struct fm_trace_file *trace;
	const struct fm_trace_large *large; /* NULL: none */
	const char *results;                /* results file of the first process; other processes create theirs beside
	                                       it */
	bool first;
	/* traces of programs beside, and their folder; NULL: none */
	const struct fm_beside_roster *roster;
	const char *folder;
	bool unknown_process; /* for tests: the process is not queried for mappings or liveness */
};

int fm_consumer_create(const struct fm_consumer_task *task, struct fm_consumer **ret_consumer, struct fm_error *error);

/* Reads and simulates up to `most` entries. Returns their number. */
uint64_t fm_consumer_read(struct fm_consumer *consumer, uint64_t most);

/* After the last entry: completes the results. */
void fm_consumer_finish(struct fm_consumer *consumer);
const struct fm_results *fm_consumer_results(const struct fm_consumer *consumer);
void fm_consumer_destroy(struct fm_consumer *consumer);

/* Creates a consumer and runs it until the process has ended or the session stops. */
int fm_consumer_run(const struct fm_consumer_task *task, struct fm_error *error);

#endif
