/* Counted events of a task, of a process with its children, or of CPUs. */
#ifndef FATHOM_COUNTERS_COUNTING_H
#define FATHOM_COUNTERS_COUNTING_H

#include <stdint.h>
#include <sys/types.h>

#include "base/figure.h"
#include "counters/event.h"

struct fm_target {
	pid_t task; /* -1: all tasks of the CPUs */
	bool every_cpu;
	bool inherit;        /* future threads and children, too */
	bool enable_on_exec; /* starts at exec */
};

struct fm_count {
	uint64_t value;            /* raw count over all tasks and CPUs */
	uint64_t enabled, running; /* ns; running below enabled: multiplexed */
	bool user_only;            /* without the kernel */
	struct fm_figure figure;   /* scaled to the enabled time, with its error; or the reason */
};

struct fm_counting;

/* Opens all events or none. The message names the first refused event, with reason and remedy; -ENOTSUP if the machine
   or the user cannot count it. */
int fm_counting_open(const struct fm_event *events, unsigned count, const struct fm_target *target,
                     struct fm_counting **ret_counting, struct fm_error *error);

/* Adds tasks to the same events, for the threads of a process. */
int fm_counting_add(struct fm_counting *counting, const struct fm_target *target, struct fm_error *error);
void fm_counting_close(struct fm_counting *counting);

int fm_counting_start(struct fm_counting *counting);
int fm_counting_stop(struct fm_counting *counting);

/* Reads one count per event, since the start. */
void fm_counting_read(struct fm_counting *counting, struct fm_count *ret_counts);

/* Sets the figure from value, enabled and running. */
void fm_count_conclude(const struct fm_event *event, struct fm_count *count);

/* The counts between two readings. */
void fm_count_difference(const struct fm_event *event, const struct fm_count *after, const struct fm_count *before,
                         struct fm_count *ret_difference);

#endif
