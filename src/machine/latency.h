/* Latency against data-set size, and the latency of each level found in that curve. */
#ifndef FATHOM_MACHINE_LATENCY_H
#define FATHOM_MACHINE_LATENCY_H

#include "base/figure.h"
#include "machine/buffer.h"
#include "machine/levels.h"
#include "machine/session.h"

struct fm_latency_point {
	size_t bytes;
	struct fm_figure ns;
};

struct fm_latency_curve {
	enum fm_pages pages;
	struct fm_latency_point *points; /* sorted by size */
	unsigned count;
	struct fm_figure why; /* not available: why there is no curve */
};

/* From half the first cache to ten times the last one, or as far as memory allows. Points are added where the curve
   bends. */
int fm_latency_measure_curve(struct fm_machine_session *session, enum fm_pages pages, double seconds,
                             struct fm_latency_curve *ret_curve, struct fm_error *error);

void fm_latency_curve_free(struct fm_latency_curve *curve);

/* Measure the sizes of `visits` once more, interleaved, and widen its figures to hold both results. */
int fm_latency_visit(struct fm_machine_session *session, enum fm_pages pages, double seconds,
                     struct fm_latency_visits *visits, struct fm_error *error);

#endif
