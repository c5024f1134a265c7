/* The time with less cache, from that with everything and with half of it, by a model of hit shares: a program that
   uses a working set of W bytes at random finds the share C / W of it in a cache of C bytes, and each access takes h ·
   near + (1 - h) · beyond, with the latencies of this cache and of what is behind it. */
#ifndef FATHOM_SQUEEZE_HIT_SHARE_H
#define FATHOM_SQUEEZE_HIT_SHARE_H

#include "base/figure.h"

struct fm_hit_share {
	double full_bytes;
	struct fm_figure near_ns, beyond_ns;
	struct fm_figure half; /* times as long with half of the cache */
};

/* Times as long as with everything, for less than half. Its value takes the program for one that does nothing but wait
   for this cache. The interval reaches from the working set that fits the whole cache just so, to one that hardly
   exceeds half of it. Not available: half of it makes no difference, so that nothing can be told, or latencies are not
   known. */
struct fm_figure fm_hit_share_predict(const struct fm_hit_share *model, double bytes);

#endif
