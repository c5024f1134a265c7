/* Bandwidth of the streaming kernels per level, kernel and instruction set, on one core and on several, and between
   NUMA nodes. */
#ifndef FATHOM_MEASURE_BANDWIDTH_H
#define FATHOM_MEASURE_BANDWIDTH_H

#include "base/figure.h"
#include "kernels/kernel.h"
#include "measure/session.h"
#include "profile/curves.h"

int fm_bandwidth_measure(struct fm_machine_session *session, struct fm_bandwidth *list, unsigned count, double seconds,
                         struct fm_error *error);

/* One trial of one kernel on the calling thread, for benchmarks: streams of `bytes` together, `seconds` of work. */
int fm_bandwidth_once(enum fm_stream_kernel_index kernel, enum fm_isa isa, size_t bytes, double seconds,
                      double *ret_gbs, struct fm_error *error);

/* Measures from each node with allowed CPUs to each node with memory. pairs has room for FM_NODES_MAX². */
int fm_numa_measure(struct fm_machine_session *session, size_t bytes, double seconds, struct fm_numa_pair *pairs,
                    unsigned *ret_count, struct fm_error *error);

#endif
