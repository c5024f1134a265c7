/* How long a line stays in the last cache that nobody uses. Where others use the same cache, guests of the same host
   among them, it is gone after some milliseconds: a program that walks a set quickly finds it there, one that comes
   back later does not. Neighbours change from minute to minute, so a profile only knows what it was then. */
#ifndef FATHOM_MACHINE_LIFE_H
#define FATHOM_MACHINE_LIFE_H

#include "base/figure.h"
#include "machine/machine.h"

enum { FM_LIFE_POINTS = 7 };

/* How long lines were left alone, in ns. */
extern const double fm_life_waits[FM_LIFE_POINTS];

/* The mean life, in ns, from rounds in each of which these shares of the lines were still there; a share that is not
   known is not a number. Lines are taken to be lost at random, which is between what was seen and what is simple. Not
   available where too few are lost to tell. Pure arithmetic. */
struct fm_figure fm_life_find(const double (*shares)[FM_LIFE_POINTS], unsigned rounds);

/* Now, on the CPU of the calling thread, in about `seconds`; by the sizes of the caches that the machine has. */
struct fm_figure fm_life_measure(const struct fm_machine *machine, double seconds);

/* The last cache of the profile has this life from now on. */
void fm_machine_follow_life(struct fm_machine *machine, const struct fm_figure *life);

#endif
