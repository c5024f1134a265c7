/* The core's clock of the moment, and a profile told for it. A processor is slower while its other cores work, on a
   rented machine for reasons nobody tells, and what was measured in cycles of the core then takes longer. */
#ifndef FATHOM_MACHINE_CLOCK_H
#define FATHOM_MACHINE_CLOCK_H

#include "machine/machine.h"

/* In GHz, on the CPU of the calling thread: the mean of some hundredths of a second, after some in which it may rise.
   Not available where nothing ran undisturbed. */
struct fm_figure fm_clock_measure(void);

/* Is it a profile of this machine? */
bool fm_machine_is_here(const struct fm_machine *machine);

/* The profile's clock becomes this one. What goes by it is told for it: times within the caches of one core, and their
   bandwidth for one thread. */
void fm_machine_settle(struct fm_machine *machine, const struct fm_figure *clock);

/* The same for a profile of another moment, if it is of this machine and the clock is another now: latencies beyond the
   core are as long as they were and so take more or fewer cycles, and what one thread has to wait for its own atomic
   operations goes by the clock, too. true when it was changed. */
bool fm_machine_follow(struct fm_machine *machine, const struct fm_figure *clock);

#endif
