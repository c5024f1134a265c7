/* The benchmark matrix on a simulated machine: one simulation of each run gives all events. */
#ifndef FATHOM_TRUST_SIMULATE_H
#define FATHOM_TRUST_SIMULATE_H

#include "base/watcher.h"
#include "simulator/simulated.h"
#include "trust/floors.h"
#include "trust/plan.h"

struct fm_simulate_options {
	unsigned repeats; /* used with floors and for events declared noisy; other repetitions are equal */
	const struct fm_floors *floors; /* counts that are not the program's; NULL: none */
	uint64_t seed;                  /* of the noise */
	unsigned jobs;                  /* simultaneous runs; 0: one per processor */
	struct fm_watcher watcher;
};

/* The truth of one run. */
struct fm_simulated_run {
	struct fm_core_counts own, socket;
	struct fm_timing_counts own_timing, socket_timing;
	struct fm_work own_work, socket_work;
	double own_atoms[FM_ATOMS_MAX],
	    socket_atoms[FM_ATOMS_MAX]; /* atoms of the plan, with cycles and instructions */
	double seconds;
};

int fm_simulate_run(const struct fm_machine_description *machine, const struct fm_plan *plan,
                    const struct fm_plan_entry *entry, struct fm_simulated_run *ret_run, struct fm_error *error);

/* Simulates all runs of the plan. -EINTR when interrupted. */
int fm_simulate_matrix(const struct fm_machine_description *machine, const struct fm_plan *plan,
                       const struct fm_simulated_events *events, const struct fm_simulate_options *options,
                       struct fm_matrix **ret_matrix, struct fm_error *error);

#endif
