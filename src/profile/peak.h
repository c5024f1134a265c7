/* Peak bandwidth of a level for a number of threads and a mixture of reads and writes. Latency of memory beside such
   traffic. Both are interpolated between measured points: pure functions of a profile. */
#ifndef FATHOM_PROFILE_PEAK_H
#define FATHOM_PROFILE_PEAK_H

#include <stdbool.h>

#include "base/figure.h"
#include "streams/streams.h"

struct fm_machine;

/* Share of writes in the traffic of a kernel at a level, 0 … 1. Below the first cache, write-allocate reads are
   included. */
double fm_kernel_write_share(enum fm_stream_kernel_index kernel, bool first_cache);

/* Traffic at a level in bytes per byte that the kernel loads or stores. */
double fm_kernel_traffic_factor(enum fm_stream_kernel_index kernel, bool first_cache);

struct fm_peak {
	struct fm_figure gbs; /* all traffic; measured, or modelled between two measurements */
	/* The conditions of the peak, if gbs is available. */
	unsigned threads;             /* as requested, or the most measured */
	struct fm_figure write_share; /* as requested, or the nearest measured */
};

/* Finds the peak of a level. Between numbers of threads it is linear, or follows that of reads if these have more
   points. It never exceeds the bandwidth per thread of the smaller number.

   Between mixtures the time per byte is linear, as if one mixture ran after the other. Without a share of writes, the
   peak is the highest of all mixtures, and its interval reaches down to the lowest. */
struct fm_peak fm_peak_find(const struct fm_machine *machine, const char *level, unsigned threads,
                            const struct fm_figure *write_share);

struct fm_loaded_latency {
	struct fm_figure ns;
	/* Beyond the measured traffic: ns is not available, and this is its lower bound. */
	bool beyond;
	double at_least_ns;
};

/* Latency of memory at a traffic: on the curve of that number of threads, or of more if it ends earlier. */
struct fm_loaded_latency fm_peak_latency(const struct fm_machine *machine, unsigned threads,
                                         const struct fm_figure *write_share, const struct fm_figure *gbs);

#endif
