/* Contention of several cores for a line: time of an operation per thread, by the number of threads. A transfer between
   two cores (concurrency.h) is an ordered exchange; here all compete. */
#ifndef FATHOM_MEASURE_CONTENTION_H
#define FATHOM_MEASURE_CONTENTION_H

#include "base/figure.h"
#include "measure/session.h"
#include "profile/curves.h"

/* 1, 2, 4 … and all of `cpus`, ascending, at most `most` numbers. Returns their count. */
unsigned fm_contention_threads(unsigned cpus, unsigned *ret_threads, unsigned most);

/* Measures all numbers of threads. -ENOTSUP with one CPU. `points` has room for FM_CONTENTION_POINTS_MAX. */
int fm_contention_measure(struct fm_machine_session *session, double seconds, struct fm_contention_point *points,
                          unsigned *ret_count, struct fm_error *error);

#endif
