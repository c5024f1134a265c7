/* What others leave of the machine at the moment. Guests of the same host, or programs of the same machine, use the
   last cache and the other hardware thread of the core, and no guest is told. Two things show it. A line that nobody
   uses is gone from the last cache after some milliseconds: a program that walks a set quickly finds it there, one that
   comes back later does not. And a thread gets fewer instructions done in a cycle than it could. Both change from
   second to second, so a profile cannot know them: the former is measured before a program is looked at, the latter
   meanwhile. */
#ifndef FATHOM_MACHINE_NEIGHBOURS_H
#define FATHOM_MACHINE_NEIGHBOURS_H

#include "base/figure.h"
#include "machine/machine.h"

enum { FM_LIFE_POINTS = 7 };

/* How long lines were left alone, in ns. */
extern const double fm_life_waits[FM_LIFE_POINTS];

/* The mean life, in ns, from rounds in each of which these shares of the lines were still there; a share that is not
   known is not a number. Lines are taken to be lost at random, which is simple and not far from what was seen. Not
   available where too few are lost to tell. Pure arithmetic. */
struct fm_figure fm_life_find(const double (*shares)[FM_LIFE_POINTS], unsigned rounds);

/* Now, on the CPU of the calling thread, in about `seconds`; by the caches that the machine has. */
struct fm_figure fm_life_measure(const struct fm_topology *topology, double seconds);

/* The last cache of the profile has this life from now on. */
void fm_machine_follow_life(struct fm_machine *machine, const struct fm_figure *life);

/* A thread that looks at each CPU of the caller some times per second, for some microseconds. */
struct fm_core_watch;

/* NULL: there is none. `best` are the instructions per ns that kernels reached on the core by itself. */
struct fm_core_watch *fm_core_watch_begin(double best);

/* The share of `best` that was reached meanwhile: 1 is all. */
struct fm_figure fm_core_watch_end(struct fm_core_watch *watch);

#endif
