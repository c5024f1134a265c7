/* Waiting of threads in simulated time: of the whole program, and of regions, which native runs do not separate. */
#ifndef FATHOM_MODEL_SIMULATED_WAITING_H
#define FATHOM_MODEL_SIMULATED_WAITING_H

#include "model/picture.h"

/* Sets signs.blocked, handing_over and spinning. False without simulated waiting time, which needs core timing and
   exact counting; windows omit waiting. */
bool fm_simulated_waiting(const struct fm_recording *recording, struct fm_picture *picture);

/* Unused share of the time of the threads' cores, by the clocks of the simulated machine. */
struct fm_figure fm_simulated_blocked(const struct fm_recording *recording, const struct fm_part *part);

/* Share of false transfers of the most contended line; for a region as bounds. */
struct fm_figure fm_simulated_false_sharing(const struct fm_recording *recording, const struct fm_picture *picture,
                                            double false_transfers, double turns);

#endif
