/* Phases: sequences of clusters with similar reuse times that differ from their neighbours'. */
#ifndef FATHOM_REUSE_PHASES_H
#define FATHOM_REUSE_PHASES_H

#include "reuse/times.h"

/* Finds the phase of each cluster, numbered from 0; similar sequences form one phase. `times` must be merged. Returns
   the number of phases, at most `most`; -ENOMEM. */
int fm_phases_find(const struct fm_times *times, unsigned most, uint8_t *ret_phases);

#endif
