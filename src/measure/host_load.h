/* Present load by neighbours. Other guests or programs use the last cache and the core's other hardware thread,
   invisible to a guest. Two effects are measurable: unused lines are evicted from the last cache after some
   milliseconds, and a thread executes fewer instructions per cycle. Both change within seconds and are no part of a
   profile: the first is measured before a program runs, the second during the run. */
#ifndef FATHOM_MEASURE_HOST_LOAD_H
#define FATHOM_MEASURE_HOST_LOAD_H

#include "base/figure.h"
#include "profile/topology.h"

enum { FM_LIFE_POINTS = 7 };

/* Waits between two uses of lines, in ns. */
extern const double fm_life_waits[FM_LIFE_POINTS];

/* The mean life of a line in ns, from the shares of lines that were left after each wait, round by round; NaN: unknown.
   Model: lines are lost at random. Not available if too few were lost. Pure arithmetic. */
struct fm_figure fm_life_find(const double (*shares)[FM_LIFE_POINTS], unsigned rounds);

/* Measures the mean life of a line on the CPU of the calling thread for about `seconds`. */
struct fm_figure fm_life_measure(const struct fm_topology *topology, double seconds);

/* A thread that samples each CPU of the caller some times per second, for microseconds. */
struct fm_core_watch;

/* NULL on failure. `best`: instructions per ns of the kernels on the core alone. */
struct fm_core_watch *fm_core_watch_begin(double best);

/* The share of `best` that was reached, at most 1. */
struct fm_figure fm_core_watch_end(struct fm_core_watch *watch);

#endif
