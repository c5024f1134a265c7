/* fathom stat -e: named events of a program, of running processes, or of the whole machine. */
#ifndef FATHOM_CLI_STAT_EVENTS_H
#define FATHOM_CLI_STAT_EVENTS_H

#include <stdint.h>

#include "cli/command.h"
#include "counters/group.h"
#include "report/stat_text.h"

struct fm_stat_request {
	const struct fm_common *common;
	const char *events;           /* -e */
	const char *process;          /* -p, several separated by commas */
	bool system_wide;             /* -a */
	bool per_thread;              /* with -p: each thread by itself */
	uint64_t interval_ms;         /* -I */
	uint64_t repeats;             /* -r */
	char **program;               /* with -p and -a: how long, may be NULL */
	const struct fm_group *group; /* -g: metrics over the events, which are its own; NULL: none */
};

/* With the counters of this machine. Returns the exit code. */
int fm_stat_count(const struct fm_stat_request *request);

/* With a simulated machine, after the run. */
int fm_stat_count_simulated(const struct fm_stat_request *request, const char *machine, const struct fm_stat *stat);

/* The events of the group that the simulated machine does not have, named; 0 when it has all. */
int fm_stat_check_group(const struct fm_group *group, const char *machine, struct fm_error *error);

#endif
