/* Latency against data-set size, and the latency of each level in that curve. */
#ifndef FATHOM_MEASURE_LATENCY_H
#define FATHOM_MEASURE_LATENCY_H

#include "base/figure.h"
#include "measure/buffer.h"
#include "profile/levels.h"
#include "measure/session.h"
#include "profile/curves.h"

/* Measures sizes from half of the first cache to ten times the last cache, or to the limit of memory, with more points
   at bends. */
int fm_latency_measure_curve(struct fm_machine_session *session, enum fm_pages pages, double seconds,
                             struct fm_latency_curve *ret_curve, struct fm_error *error);

/* Measures the sizes of `visits` again, interleaved, and widens their figures to contain both results. */
int fm_latency_visit(struct fm_machine_session *session, enum fm_pages pages, double seconds,
                     struct fm_latency_visits *visits, struct fm_error *error);

#endif
