/* A live probabilistic program: it reads integers of a buffer by a distribution, with additions in between
   (distributions.h). Its miss share gives its capacity (expected.h). Without counters of misses, the time gives the
   miss share: accesses are dependent, so their mean lies between the times of a hit and of a miss. The same code
   measures these two times. */
#ifndef FATHOM_INTERFERENCE_PROBE_H
#define FATHOM_INTERFERENCE_PROBE_H

#include <stdint.h>

#include "interference/expected.h"
#include "measure/buffer.h"

enum { FM_PROBE_PARTS = 1024 };

struct fm_probe {
	const uint32_t *integers;
	uint64_t state;
	unsigned additions;
	/* bounds of parts with equal shares of the accesses; accesses within a part are uniform */
	uint32_t places[FM_PROBE_PARTS + 1];
};

/* Uses the first `bytes` of a buffer from fm_buffer_allocate(). */
void fm_probe_prepare(struct fm_probe *probe, const struct fm_buffer *buffer,
                      const struct fm_distribution *distribution, uint64_t bytes, unsigned additions, uint64_t seed);

/* Dependent accesses; returns ns per access. */
double fm_probe_time(struct fm_probe *probe, unsigned accesses);

/* Accesses of the same distribution, but independent, to fill caches quickly. */
void fm_probe_warm(struct fm_probe *probe, uint64_t accesses);

/* Evicts the lines of the next accesses from all caches. */
void fm_probe_flush_next(const struct fm_probe *probe, unsigned accesses);

/* Access times in ns by serving level, at the moment. */
struct fm_probe_times {
	double private_ns; /* private caches */
	double near_ns;    /* the cache shared with takers */
	double far_ns;     /* beyond it */
};

/* The share of accesses that private caches serve. */
double fm_probe_own(const struct fm_expected *expected, double private_bytes);

/* The capacity in bytes from the time per access, at least that of the private caches; NAN if the times do not
   differ. */
double fm_probe_capacity(const struct fm_expected *expected, const struct fm_probe_times *times, double own, double ns);

/* The time per access with a given capacity. */
double fm_probe_expected(const struct fm_expected *expected, const struct fm_probe_times *times, double own,
                         double bytes);

#endif
