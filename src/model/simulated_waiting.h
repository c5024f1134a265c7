/* What threads lose by waiting for each other on a simulated machine, in simulated time: of the whole program, and of
   regions, which a run by itself does not tell apart. */
#ifndef FATHOM_MODEL_SIMULATED_WAITING_H
#define FATHOM_MODEL_SIMULATED_WAITING_H

#include "model/picture.h"

/* picture->signs: blocked, handing over, spinning. False, and nothing written: there is no simulated time in which
   threads wait. That needs core timing and the exact engine; windows leave waiting out. */
bool fm_simulated_waiting(const struct fm_recording *recording, struct fm_picture *picture);

/* Of the time of the cores that the threads used, what they did not: the simulated machine's clocks tell, to counters
   too. */
struct fm_figure fm_simulated_blocked(const struct fm_recording *recording, const struct fm_part *part);

/* Of the transfers of the line that is fought for most, those for nothing: of a region, bounds. */
struct fm_figure fm_simulated_false_sharing(const struct fm_recording *recording, const struct fm_picture *picture,
                                            double false_transfers, double turns);

#endif
