/* Threads pinned to CPUs that do one piece of work at the same time. Between pieces they sleep, so that measurements on
   one core are not disturbed by them. */
#ifndef FATHOM_MACHINE_TEAM_H
#define FATHOM_MACHINE_TEAM_H

#include <stdint.h>

#include "base/error.h"
#include "machine/topology.h"

struct fm_team;

/* Called on every chosen member. Begin and end are taken around it. */
typedef void (*fm_team_function)(void *context, unsigned index);

struct fm_team_time {
	uint64_t begin_ns;
	uint64_t end_ns;
	uint64_t lost_ns; /* of these, not on the CPU */
};

int fm_team_create(const struct fm_cpu_list *cpus, struct fm_team **ret_team, struct fm_error *error);
void fm_team_destroy(struct fm_team *team);

/* More than this off the CPU and a trial counts as disturbed. */
enum { FM_TEAM_TOLERATED_NS = 20000 };

/* Run on `members` CPUs of the list, starting together: those whose positions in the list `who` names, or the first
   ones when it is NULL. The functions' index counts the chosen ones from 0. `prepare` (may be NULL) runs on every
   member before the common start, untimed. times has room for every member. */
void fm_team_run(struct fm_team *team, const unsigned *who, unsigned members, fm_team_function prepare,
                 fm_team_function work, void *context, struct fm_team_time *times);

#endif
