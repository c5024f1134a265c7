/* The time with less cache, from that with everything and with half of it.

   With the program's miss-ratio curve: what each of its misses costs follows from how much slower half of the cache
   made it, and how many more it misses with less is known. Where half of the cache makes no difference to the misses, a
   miss is taken to cost what the latencies say.

   Without it, by a model of hit shares: a program that uses a working set of W bytes at random finds the share C / W of
   it in a cache of C bytes, and each access takes h · near + (1 - h) · beyond, with the latencies of this cache and of
   what is behind it. */
#ifndef FATHOM_SQUEEZE_HIT_SHARE_H
#define FATHOM_SQUEEZE_HIT_SHARE_H

#include "base/figure.h"
#include "reuse/curve.h"

struct fm_hit_share {
	double full_bytes;
	struct fm_figure near_ns, beyond_ns;
	struct fm_figure half;             /* times as long with half of the cache */
	const struct fm_miss_curve *curve; /* NULL: there is none */
	double references_per_ns;          /* that the curve has shares of, with everything; of the time */
};

/* Times as long as with everything, for less than half; with a curve for any less. The interval holds what the latency
   of each miss may be hidden by, and how uncertain the curve is; without a curve it reaches from the working set that
   fits the whole cache just so, to one that hardly exceeds half of it. Not available: without a curve, half of it makes
   no difference, so that nothing can be told; or latencies are not known. */
struct fm_figure fm_hit_share_predict(const struct fm_hit_share *model, double bytes);

#endif
