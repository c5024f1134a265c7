/* The bandwidth–latency curve of memory: the latency of a load beside traffic of other CPUs, for several numbers of
   threads, mixtures of reads and writes, and rates. The highest bandwidth, without a waiting load, is among the
   bandwidths of the kernels; profile/peak.h reads both. */
#ifndef FATHOM_MEASURE_BANDWIDTH_CURVE_H
#define FATHOM_MEASURE_BANDWIDTH_CURVE_H

#include "base/figure.h"
#include "kernels/kernel.h"
#include "measure/session.h"
#include "profile/curves.h"

/* The points for a number of CPUs: the chain alone, then each mixture with 2, 4, 8 … threads at two rates, and with all
   threads at more. Returns their number. */
unsigned fm_bandwidth_curve_plan(unsigned cpus, enum fm_effort effort, struct fm_bandwidth_curve_point *points);

/* Measures a chain of `bytes` on the first CPU beside the traffic of the others. -ENOTSUP with one CPU. */
int fm_bandwidth_curve_measure(struct fm_machine_session *session, size_t bytes, double seconds,
                               struct fm_bandwidth_curve *curve, struct fm_error *error);

#endif
