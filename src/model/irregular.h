/* Waiting for bandwidth at irregular addresses, far below the peak of the level. A core has only as many such lines
   under way as its fill buffers allow, and no prefetcher brings them early: they wait for their own latency. */
#ifndef FATHOM_MODEL_IRREGULAR_H
#define FATHOM_MODEL_IRREGULAR_H

#include "model/picture.h"

/* Moves this part of the waiting from bandwidth to latency, of each level and of the sums. */
void fm_irregular_waiting(struct fm_picture *picture);

#endif
