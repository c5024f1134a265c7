/* A probabilistic program, live: it reads integers of a buffer, each chosen by a distribution, and adds so often in
   between (distributions.h). The share of its accesses that miss tells the capacity it had (expected.h). Where nobody
   counts misses, time tells: an access takes as long as the cache that answers it, and the next one waits for it, so
   that the mean lies between the time of a hit and of a miss as the share does. Both are measured by the same code. */
#ifndef FATHOM_INTERFERENCE_PROBE_H
#define FATHOM_INTERFERENCE_PROBE_H

#include <stdint.h>

#include "interference/expected.h"
#include "machine/buffer.h"

enum { FM_PROBE_PARTS = 1024 };

struct fm_probe {
	const uint32_t *integers;
	uint64_t state;
	unsigned additions;
	/* places below which equal shares of the accesses fall; between them they are spread evenly */
	uint32_t places[FM_PROBE_PARTS + 1];
};

/* Of the first `bytes` of a buffer, which fm_buffer_allocate() has filled. */
void fm_probe_prepare(struct fm_probe *probe, const struct fm_buffer *buffer,
                      const struct fm_distribution *distribution, uint64_t bytes, unsigned additions, uint64_t seed);

/* So many accesses, each waiting for the one before; ns for each. */
double fm_probe_time(struct fm_probe *probe, unsigned accesses);

/* The same accesses without waiting, to fill caches quickly. */
void fm_probe_warm(struct fm_probe *probe, uint64_t accesses);

/* Throw the lines of the next accesses out of all caches: then these miss. */
void fm_probe_flush_next(const struct fm_probe *probe, unsigned accesses);

/* How long accesses take, by who answers them: in ns, of this moment. */
struct fm_probe_times {
	double private_ns; /* the caches of the core itself */
	double near_ns;    /* the cache that takers share */
	double far_ns;     /* what is behind it */
};

/* The share of accesses that the core's own caches answer. */
double fm_probe_own(const struct fm_expected *expected, double private_bytes);

/* The capacity in bytes that a probe had which took so long; NAN when times cannot tell. It is never less than what the
   core has for itself. */
double fm_probe_capacity(const struct fm_expected *expected, const struct fm_probe_times *times, double own, double ns);

/* The reverse: how long it takes with so much. */
double fm_probe_expected(const struct fm_expected *expected, const struct fm_probe_times *times, double own,
                         double bytes);

#endif
