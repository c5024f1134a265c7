/* What a level of the hierarchy can give to so many threads that move such a mixture of reads and writes, and how long
   a load from memory takes beside such traffic: between the points that were measured. Pure functions of a profile. */
#ifndef FATHOM_MACHINE_PEAK_H
#define FATHOM_MACHINE_PEAK_H

#include <stdbool.h>

#include "base/figure.h"
#include "kernels/kernel.h"

struct fm_machine;

/* Share of writes in what a kernel moves at a level, 0 … 1. Below the first cache, what is read before it is written
   (write-allocate) is moved too. */
double fm_kernel_write_share(enum fm_stream_kernel_index kernel, bool first_cache);

/* Bytes moved there for each that the kernel loads or stores itself. */
double fm_kernel_traffic_factor(enum fm_stream_kernel_index kernel, bool first_cache);

struct fm_peak {
	struct fm_figure gbs; /* everything that is moved; measured, or modelled between two measurements */
	/* What it is the peak for; when gbs is available. */
	unsigned threads;             /* as asked for, or the most that were measured */
	struct fm_figure write_share; /* as asked for, or the nearest measured */
};

/* Between numbers of threads the peak is on the straight line, or bent as that of reads where these were measured on
   more of them; it is at most what each thread of the smaller number has.
   Between mixtures the time per byte is on the straight line, which is what doing first the one and then the other
   takes. Where the share of writes is not available the peak is the highest of all mixtures, its interval goes down to
   the lowest, and so it says. */
struct fm_peak fm_peak_find(const struct fm_machine *machine, const char *level, unsigned threads,
                            const struct fm_figure *write_share);

struct fm_loaded_latency {
	struct fm_figure ns;
	/* More traffic than was measured: ns is not available, and at least this. */
	bool beyond;
	double at_least_ns;
};

/* Latency of memory while so much is moved: on the curve of that many threads, or of more where it does not reach as
   far. */
struct fm_loaded_latency fm_peak_latency(const struct fm_machine *machine, unsigned threads,
                                         const struct fm_figure *write_share, const struct fm_figure *gbs);

#endif
