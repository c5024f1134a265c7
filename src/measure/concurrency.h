/* Parallel requests and cores: outstanding misses, latency beside traffic, and cache line transfers. */
#ifndef FATHOM_MEASURE_CONCURRENCY_H
#define FATHOM_MEASURE_CONCURRENCY_H

#include "base/figure.h"
#include "measure/bandwidth_curve.h"
#include "measure/session.h"
#include "profile/curves.h"

/* k parallel chains through a data set of `bytes`. The misses in flight follow from Little's law: loads per ns times
   the latency of one. ret_outstanding is their maximum. */
int fm_parallel_measure(struct fm_machine_session *session, size_t bytes, double seconds,
                        struct fm_parallel_point *points, unsigned *ret_count, struct fm_figure *ret_outstanding,
                        struct fm_error *error);

/* Measures transfers between each pair of CPUs, or, if these are too many for the effort, from the first CPU to each
   other one. The list is allocated. */
int fm_transfer_measure(struct fm_machine_session *session, double seconds, struct fm_transfer **ret_list,
                        unsigned *ret_count, struct fm_error *error);

#endif
