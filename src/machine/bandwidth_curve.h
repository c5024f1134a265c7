/* The bandwidth–latency curve of memory: the latency of a load while other CPUs move data, for several numbers of
   threads, mixtures of reads and writes, and rates. The bandwidth that threads reach when none of them waits for a load
   is among the bandwidths of the kernels; machine/peak.h reads both. */
#ifndef FATHOM_MACHINE_BANDWIDTH_CURVE_H
#define FATHOM_MACHINE_BANDWIDTH_CURVE_H

#include "base/figure.h"
#include "kernels/kernel.h"
#include "machine/session.h"

struct fm_mix {
	enum fm_stream_kernel_index kernel;
	char sign;
};

enum fm_mix_index {
#define MIX(kernel, sign) FM_MIX_##kernel,
#include "machine/mixes.def"
	FM_MIXES
};

extern const struct fm_mix fm_mixes[FM_MIXES]; /* by rising share of writes */

bool fm_mix_is(enum fm_stream_kernel_index kernel);

struct fm_bandwidth_curve_point {
	unsigned threads; /* one of them follows a chain, the others move data */
	enum fm_stream_kernel_index kernel;
	double rate;                  /* share of the time in which the others move data, 0 … 1 */
	struct fm_figure traffic_gbs; /* of all threads, write-allocate included */
	struct fm_figure latency_ns;
};

enum { FM_BANDWIDTH_CURVE_MAX = 512 };

struct fm_bandwidth_curve {
	struct fm_bandwidth_curve_point *points; /* its own */
	unsigned count;
	struct fm_figure why; /* there are none */
};

void fm_bandwidth_curve_free(struct fm_bandwidth_curve *curve);

/* The points to measure on so many CPUs: nothing beside the chain, then every mixture with 2, 4, 8 … threads at two
   rates, and with all of them at more. Returns how many. */
unsigned fm_bandwidth_curve_plan(unsigned cpus, enum fm_effort effort, struct fm_bandwidth_curve_point *points);

/* A chain of `bytes` on the first CPU while the others move data. -ENOTSUP with one CPU. */
int fm_bandwidth_curve_measure(struct fm_machine_session *session, size_t bytes, double seconds,
                               struct fm_bandwidth_curve *curve, struct fm_error *error);

#endif
