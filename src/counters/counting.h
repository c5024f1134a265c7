/* Counting events of a task, of a process with what it makes, or of CPUs. */
#ifndef FATHOM_COUNTERS_COUNTING_H
#define FATHOM_COUNTERS_COUNTING_H

#include <stdint.h>
#include <sys/types.h>

#include "base/figure.h"
#include "counters/event.h"

struct fm_target {
	pid_t task; /* -1: any task, on the CPUs */
	bool every_cpu;
	bool inherit;        /* threads and processes it makes from now on, too */
	bool enable_on_exec; /* from the moment it executes its program */
};

struct fm_count {
	uint64_t value;            /* as the hardware counted, over all tasks and CPUs */
	uint64_t enabled, running; /* ns; less running than enabled: the counter was shared */
	bool user_only;            /* the kernel's part may not be seen */
	struct fm_figure figure;   /* scaled to all the time, with what that may be wrong by; or why there is none */
};

struct fm_counting;

/* All or nothing: the first event that is refused is named, with reason and remedy; -ENOTSUP for what this machine or
   this user cannot count. */
int fm_counting_open(const struct fm_event *events, unsigned count, const struct fm_target *target,
                     struct fm_counting **ret_counting, struct fm_error *error);

/* More tasks under the same events, for the threads of a process. */
int fm_counting_add(struct fm_counting *counting, const struct fm_target *target, struct fm_error *error);
void fm_counting_close(struct fm_counting *counting);

int fm_counting_start(struct fm_counting *counting);
int fm_counting_stop(struct fm_counting *counting);

/* One for each event, since the beginning. */
void fm_counting_read(struct fm_counting *counting, struct fm_count *ret_counts);

/* The figure from value, enabled and running. */
void fm_count_conclude(const struct fm_event *event, struct fm_count *count);

/* What was counted between two readings. */
void fm_count_difference(const struct fm_event *event, const struct fm_count *after, const struct fm_count *before,
                         struct fm_count *ret_difference);

#endif
