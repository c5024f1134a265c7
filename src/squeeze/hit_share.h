/* The time with less cache, from the times with all and with half of it.

   With the miss-ratio curve of the program, the slowdown with half of the cache gives the cost of a miss; the curve
   gives the additional misses. If half of the cache adds no misses, the latencies give the cost.

   Without a curve, a model of hit shares. A working set of W bytes with random accesses has the hit share h = C / W in
   a cache of C bytes. An access takes h · near + (1 - h) · beyond, the latencies of the cache and beyond it.
 */
#ifndef FATHOM_SQUEEZE_HIT_SHARE_H
#define FATHOM_SQUEEZE_HIT_SHARE_H

#include "base/figure.h"
#include "reuse/curve.h"

struct fm_hit_share {
	double full_bytes;
	struct fm_figure near_ns, beyond_ns;
	struct fm_figure half;             /* slowdown with half of the cache */
	const struct fm_miss_curve *curve; /* NULL: none */
	double references_per_ns;          /* references of the curve, per ns of the time with all of the cache */
};

/* The slowdown with less than half of the cache; with a curve, for any amount. The interval includes hidden latency and
   the uncertainty of the curve. Without a curve it covers working sets from the size of the cache to just above half of
   it. Not available without a curve if half of the cache makes no difference, or without latencies. */
struct fm_figure fm_hit_share_predict(const struct fm_hit_share *model, double bytes);

#endif
