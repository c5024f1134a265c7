/* The benchmark matrix of this machine: all passes of the counters, without multiplexing, interleaved over kernels and
   repetitions. */
#ifndef FATHOM_TRUST_MEASURE_H
#define FATHOM_TRUST_MEASURE_H

#include "base/watcher.h"
#include "counters/event.h"
#include "profile/topology.h"
#include "trust/plan.h"

struct fm_measure_options {
	const struct fm_event *events;
	unsigned event_count;
	unsigned repeats;
	struct fm_cpu_list cpus; /* the first is the CPU whose counters are read */
	double frequency_ghz;    /* for cycles; 0: not known */
	uint64_t seed;
	const char *state; /* file that keeps an interrupted measurement; NULL: none */
	struct fm_watcher watcher;
};

/* Adapts the plan to this machine: sockets and cores from its CPUs. */
void fm_measure_adapt(const struct fm_cpu_list *cpus, struct fm_machine_description *machine);

/* Measures the matrix. -EINTR if interrupted: partial results are in the state file. -ENOTSUP if no event can be
   counted. */
int fm_measure_matrix(const struct fm_machine_description *machine, const struct fm_plan *plan,
                      const struct fm_measure_options *options, struct fm_matrix **ret_matrix, struct fm_error *error);

#endif
