/* Adaptation of a profile to the state of the machine: the clock of the moment, and the life of lines in the last
   cache. */
#ifndef FATHOM_PROFILE_FOLLOW_H
#define FATHOM_PROFILE_FOLLOW_H

#include "profile/profile.h"

/* Is this a profile of this machine? */
bool fm_machine_is_here(const struct fm_machine *machine);

/* Sets the clock of the profile and rescales the figures that depend on it: times within the caches of one core, and
   their bandwidth for one thread. */
void fm_machine_settle(struct fm_machine *machine, const struct fm_figure *clock);

/* Adapts a profile of this machine from another time to a changed clock. Latencies beyond the core keep their time and
   change in cycles. Atomic operations of a single thread follow the clock, too. True: the profile was changed. */
bool fm_machine_follow(struct fm_machine *machine, const struct fm_figure *clock);

/* Sets the life of lines in the last cache. */
void fm_machine_follow_life(struct fm_machine *machine, const struct fm_figure *life);

#endif
