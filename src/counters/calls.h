/* The system calls below the counters, in one place, so that tests can make them fail. FATHOM_FAULTS=CODE[@hardware] in
   the environment makes perf_event_open fail with that errno name, for all events or for those that need a PMU.
   "never": the event is never scheduled; "zero": its count stays 0. */
#ifndef FATHOM_COUNTERS_CALLS_H
#define FATHOM_COUNTERS_CALLS_H

#include <linux/perf_event.h>
#include <stdint.h>
#include <sys/types.h>

/* The result of read() with PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING. */
struct fm_reading {
	uint64_t value, enabled, running;
};

/* A file descriptor, or -1 with errno. */
int fm_call_open(struct perf_event_attr *attributes, pid_t task, int cpu, int group);

/* 0, or -1 with errno. */
int fm_call_read(int counter, struct fm_reading *ret_reading);
int fm_call_control(int counter, unsigned long request, int whole_group);

#endif
