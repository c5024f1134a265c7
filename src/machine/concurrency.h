/* What several requests and several cores do to each other: outstanding misses, latency beside traffic, and lines that
   wander from core to core. */
#ifndef FATHOM_MACHINE_CONCURRENCY_H
#define FATHOM_MACHINE_CONCURRENCY_H

#include "base/figure.h"
#include "machine/bandwidth_curve.h"
#include "machine/session.h"

struct fm_parallel_point {
	unsigned chains;
	struct fm_figure ns_per_load;
};

enum { FM_PARALLEL_POINTS_MAX = 32, FM_LOAD_POINTS_MAX = 8 };

/* k chains through a data set of `bytes` at once. The number of misses in flight follows from Little's law: loads per
   ns times the latency of one. ret_outstanding is where it ends to grow. */
int fm_parallel_measure(struct fm_machine_session *session, size_t bytes, double seconds,
                        struct fm_parallel_point *points, unsigned *ret_count, struct fm_figure *ret_outstanding,
                        struct fm_error *error);

struct fm_loaded_point {
	struct fm_figure traffic_gbs; /* of the other CPUs */
	struct fm_figure latency_ns;  /* beside it */
};

/* A chase on the first CPU while all others read with rising rate: that part of the bandwidth–latency curve. Returns
   how many points. */
unsigned fm_loaded_points(const struct fm_bandwidth_curve *curve, unsigned cpus, struct fm_loaded_point *points);

struct fm_transfer {
	unsigned from_cpu;
	unsigned to_cpu;
	struct fm_figure ns; /* one way */
};

/* Every pair of CPUs, or, when there are too many for the effort, the first with every other. The list is allocated. */
int fm_transfer_measure(struct fm_machine_session *session, double seconds, struct fm_transfer **ret_list,
                        unsigned *ret_count, struct fm_error *error);

#endif
