/* Pinned threads for simultaneous work. In between they sleep and do not disturb measurements on one core. */
#ifndef FATHOM_MEASURE_TEAM_H
#define FATHOM_MEASURE_TEAM_H

#include <stdint.h>

#include "base/error.h"
#include "profile/topology.h"

struct fm_team;

/* Called on each chosen member. */
typedef void (*fm_team_function)(void *context, unsigned index);

struct fm_team_time {
	uint64_t begin_ns;
	uint64_t end_ns;
	uint64_t lost_ns; /* without a CPU */
};

int fm_team_create(const struct fm_cpu_list *cpus, struct fm_team **ret_team, struct fm_error *error);
void fm_team_destroy(struct fm_team *team);

/* A longer time without a CPU is a disturbance. */
enum { FM_TEAM_TOLERATED_NS = 20000 };

/* Runs on `members` CPUs of the list with a common start: at the positions in `who`, or the first CPUs (NULL). The
   index of the functions counts these from 0. `prepare` (may be NULL) runs before the start, untimed. times has room
   for each member. */
void fm_team_run(struct fm_team *team, const unsigned *who, unsigned members, fm_team_function prepare,
                 fm_team_function work, void *context, struct fm_team_time *times);

#endif
