/* The benchmark matrix on the machine Fathom runs on: as many passes as the counters need, never sharing them, taken in
   turns over kernels and repetitions. */
#ifndef FATHOM_TRUST_MEASURE_H
#define FATHOM_TRUST_MEASURE_H

#include "base/watcher.h"
#include "counters/event.h"
#include "machine/topology.h"
#include "trust/plan.h"

struct fm_measure_options {
	const struct fm_event *events;
	unsigned event_count;
	unsigned repeats;
	struct fm_cpu_list cpus; /* the first is the one whose counters are read */
	double frequency_ghz;    /* for cycles; 0: not known */
	uint64_t seed;
	const char *state; /* file in which an interrupted measurement is kept and found again; NULL: nowhere */
	struct fm_watcher watcher;
};

/* What the plan can be here: sockets and cores from the CPUs there are. */
void fm_measure_adapt(const struct fm_cpu_list *cpus, struct fm_machine_description *machine);

/* -EINTR when interrupted: what was measured is in the state file. -ENOTSUP when no event can be counted. */
int fm_measure_matrix(const struct fm_machine_description *machine, const struct fm_plan *plan,
                      const struct fm_measure_options *options, struct fm_matrix **ret_matrix, struct fm_error *error);

#endif
