/* Counting with this machine's counters: a program from its first instruction, running processes, or everything. */
#ifndef FATHOM_CLI_COUNT_SESSION_H
#define FATHOM_CLI_COUNT_SESSION_H

#include "cli/stat_events.h"
#include "counters/counting.h"
#include "counters/markers.h"

/* One thing that is counted on its own: everything together, or one thread. */
struct fm_counted_part {
	pid_t thread; /* 0: all together */
	struct fm_counting *counting;
	struct fm_count *counts; /* the last reading */
	struct fm_count *before; /* the one at the last interval */
};

struct fm_count_session {
	const struct fm_stat_request *request;
	struct fm_event events[FM_EVENTS_MAX];
	unsigned event_count;
	struct fm_counted_part *parts;
	unsigned part_count;
	struct fm_figure *figures; /* [part][event], final */
	struct fm_figure elapsed;  /* seconds; of several runs the median */
	int exit_status;
	struct fm_marked *marked; /* regions, of the last run */
	unsigned marked_count;
	uint64_t marked_lost;
	/* every interval_ms of the request, `at` seconds after the begin; the counts have been read */
	void (*on_interval)(struct fm_count_session *session, double at);
	void *context;
};

/* All runs that the request wants. However the program ends is no error. */
int fm_count_session_run(struct fm_count_session *session, struct fm_error *error);

/* What was counted since the last interval, which then begins anew. */
struct fm_figure fm_count_session_spent(struct fm_count_session *session, unsigned part, unsigned event);

/* Say why something cannot be counted, and what there is instead. Returns the exit code. */
int fm_count_session_refuse(const struct fm_count_session *session, const struct fm_error *error);

void fm_count_session_free(struct fm_count_session *session);

#endif
